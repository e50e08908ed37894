"""The words of the toy languages that are not verbs: nouns, names, adjectives, adverbs and prepositions.

Each table has one concept a row and one language a column, so that a reader can check a row as a dictionary entry.
"""

from __future__ import annotations

from dataclasses import dataclass

NOUNS = """
# concept | kinds | English | French | Spanish | Chinese
man | person free | man men | m homme | m hombre | 个 男人
woman | person free | woman women | f femme | f mujer mujeres | 个 女人
boy | person free | boy | m garçon | m chico | 个 男孩
girl | person free | girl | f fille | f chica | 个 女孩
child | person free | child children | m enfant | m niño | 个 孩子
teacher | person job | teacher | m professeur | m profesor profesores | 位 老师
doctor | person job | doctor | m médecin | m médico | 位 医生
baker | person job | baker | m boulanger | m panadero | 位 面包师
farmer | person job | farmer | m fermier | m granjero | 个 农民
student | person job | student | m étudiant | m estudiante | 个 学生
singer | person job | singer | f chanteuse | f cantante | 位 歌手
friend | person | friend | m ami | m amigo | 个 朋友
king | person | king | m roi | m rey reyes | 位 国王
queen | person | queen | f reine | f reina | 位 王后
nurse | person | nurse | f infirmière | f enfermera | 位 护士
sister | person | sister | f sœur | f hermana | 个 姐姐
dog          | animal                    | dog                 | m chien            | m perro                  | 只 狗
cat          | animal                    | cat                 | m chat             | m gato                   | 只 猫
horse        | animal                    | horse               | m cheval chevaux   | m caballo                | 匹 马
bird         | animal                    | bird                | m oiseau oiseaux   | m pájaro                 | 只 鸟
cow          | animal                    | cow                 | f vache            | f vaca                   | 头 牛
rabbit | animal | rabbit | m lapin | m conejo | 只 兔子
turtle | animal | turtle | f tortue | f tortuga | 只 乌龟
elephant | animal | elephant | m éléphant | m elefante | 头 大象
apple | snack fruit | apple | f pomme | f manzana | 个 苹果
orange | snack fruit | orange | f orange | f naranja | 个 橙子
lemon | snack fruit | lemon | m citron | m limón limones | 个 柠檬
egg | snack | egg | m œuf | m huevo | 个 鸡蛋
pizza | dish edible | pizza | f pizza | f pizza | 个 披萨
bread | dish edible | bread | m pain | m pan panes | 个 面包
cheese | dish edible | cheese | m fromage | m queso | 块 奶酪
salad | dish edible | salad | f salade | f ensalada | 份 沙拉
meat         | dish edible               | meat                | f viande           | f carne                  | 块 肉
rice | dish edible | rice | m riz | m arroz arroces | 份 米饭
chicken | dish edible | chicken | m poulet | m pollo | 份 鸡肉
cake | edible | cake | m gâteau gâteaux | m pastel pasteles | 个 蛋糕
pie | edible | pie | f tarte | f tarta | 个 馅饼
soup         | edible                    | soup                | f soupe            | f sopa                   | 份 汤
omelette | edible | omelette | f omelette | f tortilla | 份 煎蛋
water        | drink                     | water               | f eau eaux         | f agua                   | 杯 水
milk | drink | milk | m lait | f leche | 杯 牛奶
tea          | drink                     | tea                 | m thé              | m té                     | 杯 茶
coffee | drink | coffee | m café | m café | 杯 咖啡
book         | text thing                | book                | m livre            | m libro                  | 本 书
letter       | text thing                | letter              | f lettre           | f carta                  | 封 信
poem         | text                      | poem                | m poème            | m poema                  | 首 诗
story | text | story stories | f histoire | f historia | 个 故事
hat | cloth thing | hat | m chapeau chapeaux | m sombrero | 顶 帽子
shirt | cloth thing | shirt | f chemise | f camisa | 件 衬衫
dress | cloth thing | dress dresses | f robe | m vestido | 条 裙子
key | thing | key | f clé | f llave | 把 钥匙
flower       | thing                     | flower              | f fleur            | f flor flores            | 朵 花
glass | thing | glass glasses | m verre | m vaso | 个 杯子
lamp         | thing device              | lamp                | f lampe            | f lámpara                | 盏 灯
telephone | thing device | telephone | m téléphone | m teléfono | 部 电话
car | device vehicle | car | f voiture | m coche | 辆 汽车
bicycle | device vehicle | bicycle | m vélo | f bicicleta | 辆 自行车
chair | furniture | chair | f chaise | f silla | 把 椅子
table | furniture holder | table | f table | f mesa | 张 桌子
door         | opening                   | door                | f porte            | f puerta                 | 扇 门
window | opening | window | f fenêtre | f ventana | 扇 窗户
box | opening holder case | box boxes | f boîte | f caja | 个 盒子
oven | holder case | oven | m four | m horno | 个 烤箱
refrigerator | holder case | refrigerator | m réfrigérateur | m refrigerador refrigeradores | 台 冰箱
machine | holder case | machine | f machine | f máquina | 台 机器
cart | holder case | cart | m chariot | m carro | 辆 推车
shelf | holder | shelf shelves | f étagère | m estante | 个 架子
tray | holder | tray | m plateau plateaux | f bandeja | 个 托盘
basket | holder case | basket | m panier | f cesta | 个 篮子
house | building place | house | f maison | f casa | 座 房子
school | building place goal | school | f école | f escuela | 所 学校
museum | building place goal | museum | m musée | m museo | 座 博物馆
church | building place goal | church churches | f église | f iglesia | 座 教堂
station | building place goal | station | f gare | f estación estaciones | 个 车站
castle | building place goal | castle | m château châteaux | m castillo | 座 城堡
park | place goal | park | m parc | m parque | 个 公园
market       | goal                | market              | m marché           | m mercado                | 个 市场
garden | place | garden | m jardin | m jardín jardines | 个 花园
kitchen | place | kitchen | f cuisine | f cocina | 个 厨房
forest | place | forest | f forêt | m bosque | 片 森林
tree         | mark                      | tree                | m arbre            | m árbol árboles          | 棵 树
river        | mark                      | river               | f rivière          | m río                    | 条 河
"""

NAMES = """
# concept | gender | English | French  | Spanish | Chinese
squatch   | m | squatch | squatch | squatch | squatch
paul      | m | paul | paul | paul | 保罗
tom       | m | tom | tom | tom | 汤姆
marie     | f | marie | marie | marie | 玛丽
anna      | f | anna | anna | anna | 安娜
nina      | f | nina | nina | nina | 妮娜
"""

# French: masculine feminine (masculine before a vowel); "<" marks an adjective before its noun.
# Spanish: masculine feminine masculine-plural feminine-plural; "~" marks a state, said with `estar`.
# Chinese: the form before a noun / the predicate.
ADJECTIVES = """
# concept | goes with | English | French | Spanish | Chinese
big       | animal thing building furniture device | big | < grand grande | grande grande grandes grandes | 大 / 很 大
small | person animal thing building | small | < petit petite | pequeño pequeña pequeños pequeñas | 小 / 很 小
old       | person animal | old | < vieux vieille vieil | viejo vieja viejos viejas | 老 / 很 老
young     | person animal | young | < jeune jeune | joven joven jóvenes jóvenes | 年轻 的 / 很 年轻
new       | thing building furniture device | new | < nouveau nouvelle nouvel | nuevo nueva nuevos nuevas | 新 / 很 新
beautiful | animal thing building | beautiful | < beau belle bel | hermoso hermosa hermosos hermosas | 漂亮 的 / 很 漂亮
tired     | person animal | tired | fatigué fatiguée | ~ cansado cansada cansados cansadas | 疲惫 的 / 很 疲惫
sad       | person animal | sad | triste triste | ~ triste triste tristes tristes | 悲伤 的 / 很 悲伤
happy     | person animal | happy | content contente | ~ contento contenta contentos contentas | 快乐 的 / 很 快乐
kind      | person | kind | gentil gentille | amable amable amables amables | 善良 的 / 很 善良
strong    | person animal | strong | fort forte | fuerte fuerte fuertes fuertes | 强壮 的 / 很 强壮
famous    | person building | famous | célèbre célèbre | famoso famosa famosos famosas | 有名 的 / 很 有名
red       | thing furniture device fruit | red | rouge rouge | rojo roja rojos rojas | 红色 的 / 是 红色 的
blue      | thing furniture device | blue | bleu bleue | azul azul azules azules | 蓝色 的 / 是 蓝色 的
green     | thing furniture device fruit | green | vert verte | verde verde verdes verdes | 绿色 的 / 是 绿色 的
black     | animal thing furniture device | black | noir noire | negro negra negros negras | 黑色 的 / 是 黑色 的
expensive | thing furniture device fruit | expensive | cher chère | caro cara caros caras | 昂贵 的 / 很 昂贵
clean     | cloth furniture building | clean | propre propre | ~ limpio limpia limpios limpias | 干净 的 / 很 干净
strange | person animal thing | strange | étrange étrange | extraño extraña extraños extrañas | 奇怪 的 / 很 奇怪
"""

# Where a word of place or time has several words, all of them link to the one meaning.
PLACES = """
# concept   | English     | French   | Spanish    | Chinese (after 在 and the noun)
in          | in          | dans     | en         | 里
on          | on          | sur      | sobre      | 上
behind      | behind      | derrière | detrás de  | 后面
in_front_of | in front of | devant   | delante de | 前面
near        | near        | près de  | cerca de   | 附近
next_to     | next to     | à côté de | al lado de | 旁边
"""

ADVERBS = """
# concept    | sort   | English      | French      | Spanish     | Chinese
always    | often | always | toujours | siempre | 总是
often     | often | often | souvent | a menudo | 经常
sometimes | often | sometimes | parfois | a veces | 有时
yesterday | past | yesterday | hier | ayer | 昨天
this_morning | past | this morning | ce matin | esta mañana | 今天 早上
every_day | now | every day | chaque jour | cada día | 每天
"""

# Nouns of work that change with the gender of the subject: "elle est étudiante".
JOBS_FRENCH = {"baker": ("boulanger", "boulangère"), "farmer": ("fermier", "fermière"),
               "student": ("étudiant", "étudiante"), "singer": ("chanteur", "chanteuse")}  # fmt: skip
JOBS_SPANISH = {"baker": ("panadero", "panadera"), "farmer": ("granjero", "granjera"),
                "doctor": ("médico", "médica"), "teacher": ("profesor", "profesora")}  # fmt: skip


@dataclass(frozen=True)
class Noun:
    """A noun in all languages: (singular, plural), the genders, the Chinese (classifier, noun)."""

    concept: str
    kinds: frozenset[str]
    english: tuple[str, str]
    french: tuple[str, str]
    french_gender: str
    spanish: tuple[str, str]
    spanish_gender: str
    chinese: tuple[str, str]


def rows(table: str) -> list[list[str]]:
    """Return the cells of a table, without its comment lines."""
    lines = (line.strip() for line in table.strip().splitlines())
    return [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]


def _two_forms(words: list[str]) -> tuple[str, str]:
    return (words[0], words[1] if len(words) > 1 else words[0] + "s")


def _noun(cells: list[str]) -> Noun:
    concept, kinds, english, french, spanish, chinese = cells
    french_gender, *french_forms = french.split()
    spanish_gender, *spanish_forms = spanish.split()
    classifier, word = chinese.split()
    return Noun(concept, frozenset(kinds.split()), _two_forms(english.split()), _two_forms(french_forms),
                french_gender, _two_forms(spanish_forms), spanish_gender, (classifier, word))  # fmt: skip


@dataclass(frozen=True)
class Adjective:
    """An adjective in all languages; see the comment of the table for the order of the forms."""

    concept: str
    kinds: frozenset[str]
    english: str
    french: tuple[str, ...]
    is_before: bool
    spanish: tuple[str, ...]
    is_state: bool
    chinese: str
    chinese_predicate: str


def _adjective(cells: list[str]) -> Adjective:
    concept, kinds, english, french, spanish, chinese = cells
    attribute, predicate = (part.strip() for part in chinese.split("/"))
    french_forms = tuple(word for word in french.split() if word != "<")
    spanish_forms = tuple(word for word in spanish.split() if word != "~")
    return Adjective(concept, frozenset(kinds.split()), english, french_forms, french.startswith("<"),
                     spanish_forms, spanish.startswith("~"), attribute, predicate)  # fmt: skip


NOUN: dict[str, Noun] = {cells[0]: _noun(cells) for cells in rows(NOUNS)}
ADJECTIVE: dict[str, Adjective] = {cells[0]: _adjective(cells) for cells in rows(ADJECTIVES)}
NAME: dict[str, dict[str, str]] = {
    cells[0]: dict(zip(("gender", "en", "fr", "es", "zh"), cells[1:], strict=True)) for cells in rows(NAMES)
}
PLACE: dict[str, dict[str, str]] = {
    cells[0]: dict(zip(("en", "fr", "es", "zh"), cells[1:], strict=True)) for cells in rows(PLACES)
}
ADVERB: dict[str, dict[str, str]] = {
    cells[0]: dict(zip(("sort", "en", "fr", "es", "zh"), cells[1:], strict=True)) for cells in rows(ADVERBS)
}
