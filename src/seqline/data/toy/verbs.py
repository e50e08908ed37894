"""The verbs of the toy languages: who does what to whom, and every form that a sentence needs.

Forms go first person singular, third singular, first plural, third plural. A French verb in -er and a Spanish verb
without listed forms are regular.
"""

from __future__ import annotations

from dataclasses import dataclass

from seqline.data.toy.lexicon import rows

PERSONS = ("1s", "3s", "1p", "3p")

VERBS = """
# concept | subject objects | flags | English | Chinese
sleep     | animate                           |           | sleep sleeps slept      | 睡觉 / 睡 了
sing      | person                            |           | sing sings sang         | 唱歌 / 唱 了 歌
dance     | person                            |           | dance dances danced     | 跳舞 / 跳 了 舞
laugh     | person                            |           | laugh laughs laughed    | 笑 / 笑 了
work      | person                            |           | work works worked       | 工作 / 工作 了
swim      | animate                           |           | swim swims swam         | 游泳 / 游 了 泳
play      | animate                           |           | play plays played       | 玩 / 玩 了
leave     | animate                           | être bare | leave leaves left       | 离开 / 离开 了
arrive    | animate                           | être bare | arrive arrives arrived  | 到达 / 到达 了
go        | person goal                       | être      | go goes went            | 去 / 去 了
see       | animate person,animal,thing,building | see       | see sees saw            | 看见 / 看见 了
look_for  | animate person,animal,thing,device |           | look looks looked +for  | 找 / 找 了
find      | animate person,animal,thing,device |           | find finds found        | 找到 / 找到 了
help      | person person                     | him       | help helps helped       | 帮助 / 帮助 了
know      | person person                     | him state | know knows knew         | 认识
invite    | person person                     | him       | invite invites invited  | 邀请 / 邀请 了
wait_for  | person person                     | him       | wait waits waited +for  | 等 / 等 了
like      | person person,animal,thing,building | state     | like likes liked        | 喜欢
buy       | person thing,snack,device,dish    | get       | buy buys bought         | 买 / 买 了
take      | person thing,snack                | get       | take takes took         | 拿 / 拿 了
sell      | person thing,device,snack         | it        | sell sells sold         | 卖 / 卖 了
lose      | person thing                      | it        | lose loses lost         | 丢 / 丢 了
read      | person text                       | it        | read reads read         | 读 / 读 了
write     | person text                       |           | write writes wrote      | 写 / 写 了
open      | person opening                    |           | open opens opened       | 打开 / 打开 了
repair    | person device,furniture           | it        | repair repairs repaired | 修理 / 修理 了
wash      | person cloth,vehicle,animal       | it        | wash washes washed      | 洗 / 洗 了
eat       | animate snack,dish                | it        | eat eats ate            | 吃 / 吃 了
drink     | person drink                      |           | drink drinks drank      | 喝 / 喝 了
give      | person thing,snack                | to        | give gives gave         | 给 / 给 了
send      | person text                       | to        | send sends sent         | 寄给 / 寄给 了
say       | person                            | that      | say says said           | 说
think     | person                            | that      | think thinks thought    | 认为
know_that | person                            | that      | know knows knew         | 知道
want      | person                            | modal     | want wants wanted       | 想
can       | person                            | modal     | can can could           | 能
must      | person                            | modal     | must must must          | 必须
come_out  | edible                            | twin être | come comes came         | 出来 / 出来 了
fall      | edible                            | twin être | fall falls fell         | 掉 到 / 掉 到 了
stay      | edible                            | twin être | stay stays stayed       | 留 在 / 留 在 了
"""

FRENCH = """
# concept | infinitive, present / participle
sleep     | dormir dors dort dormons dorment / dormi
sing      | chanter
dance     | danser
laugh     | rire ris rit rions rient / ri
work      | travailler
swim      | nager
play      | jouer
leave     | partir pars part partons partent / parti
arrive    | arriver
go        | aller vais va allons vont / allé
see       | voir vois voit voyons voient / vu
look_for  | chercher
find      | trouver
help      | aider
know      | connaître connais connaît connaissons connaissent / connu
invite    | inviter
wait_for  | attendre attends attend attendons attendent / attendu
like      | aimer
buy       | acheter achète achète achetons achètent / acheté
take      | prendre prends prend prenons prennent / pris
sell      | vendre vends vend vendons vendent / vendu
lose      | perdre perds perd perdons perdent / perdu
read      | lire lis lit lisons lisent / lu
write     | écrire écris écrit écrivons écrivent / écrit
open      | ouvrir ouvre ouvre ouvrons ouvrent / ouvert
repair    | réparer
wash      | laver
eat       | manger
drink     | boire bois boit buvons boivent / bu
give      | donner
send      | envoyer envoie envoie envoyons envoient / envoyé
say       | dire dis dit disons disent / dit
think     | penser
know_that | savoir sais sait savons savent / su
want      | vouloir veux veut voulons veulent / voulu
can       | pouvoir peux peut pouvons peuvent / pu
must      | devoir dois doit devons doivent / dû
come_out  | sortir sors sort sortons sortent / sorti
fall      | tomber
stay      | rester
"""

SPANISH = """
# concept | infinitive, present / preterite
sleep     | dormir duermo duerme dormimos duermen / dormí durmió dormimos durmieron
sing      | cantar
dance     | bailar
laugh     | reír río ríe reímos ríen / reí rio reímos rieron
work      | trabajar
swim      | nadar
play      | jugar juego juega jugamos juegan / jugué jugó jugamos jugaron
leave     | partir
arrive    | llegar llego llega llegamos llegan / llegué llegó llegamos llegaron
go        | ir voy va vamos van / fui fue fuimos fueron
see       | ver veo ve vemos ven / vi vio vimos vieron
look_for  | buscar busco busca buscamos buscan / busqué buscó buscamos buscaron
find      | encontrar encuentro encuentra encontramos encuentran / encontré encontró encontramos encontraron
help      | ayudar
know      | conocer conozco conoce conocemos conocen / conocí conoció conocimos conocieron
invite    | invitar
wait_for  | esperar
buy       | comprar
take      | tomar
sell      | vender
lose      | perder pierdo pierde perdemos pierden / perdí perdió perdimos perdieron
read      | leer leo lee leemos leen / leí leyó leímos leyeron
write     | escribir
open      | abrir
repair    | reparar
wash      | lavar
eat       | comer
drink     | beber
give      | dar doy da damos dan / di dio dimos dieron
send      | enviar envío envía enviamos envían / envié envió enviamos enviaron
say       | decir digo dice decimos dicen / dije dijo dijimos dijeron
think     | pensar pienso piensa pensamos piensan / pensé pensó pensamos pensaron
know_that | saber sé sabe sabemos saben / supe supo supimos supieron
want      | querer quiero quiere queremos quieren / quise quiso quisimos quisieron
can       | poder puedo puede podemos pueden / pude pudo pudimos pudieron
must      | deber
come_out  | salir salgo sale salimos salen / salí salió salimos salieron
fall      | caer caigo cae caemos caen / caí cayó caímos cayeron
stay      | quedar quedo queda quedamos quedan / quedé quedó quedamos quedaron
"""

SPANISH_ENDINGS = {
    "ar": (("o", "a", "amos", "an"), ("é", "ó", "amos", "aron")),
    "er": (("o", "e", "emos", "en"), ("í", "ió", "imos", "ieron")),
    "ir": (("o", "e", "imos", "en"), ("í", "ió", "imos", "ieron")),
}


@dataclass(frozen=True)
class French:
    """A French verb: infinitive, the four present forms, the masculine singular participle, its auxiliary."""

    infinitive: str
    present: tuple[str, ...]
    participle: str
    is_etre: bool


@dataclass(frozen=True)
class Spanish:
    """A Spanish verb: infinitive and the four present and preterite forms."""

    infinitive: str
    present: tuple[str, ...]
    past: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb in all languages; `spanish` or `chinese` is absent where the language says it in another way."""

    concept: str
    subject: str
    objects: tuple[str, ...]
    flags: frozenset[str]
    english: tuple[str, str, str]
    particle: str
    french: French
    spanish: Spanish | None
    chinese: str
    chinese_past: str


def _french(cell: str, is_etre: bool) -> French:
    forms, _, participle = cell.partition("/")
    infinitive, *present = forms.split()
    if present:
        return French(infinitive, tuple(present), participle.strip(), is_etre)
    stem = infinitive.removesuffix("er")
    soft = stem + "e" if stem.endswith("g") else stem
    return French(infinitive, (stem + "e", stem + "e", soft + "ons", stem + "ent"), stem + "é", is_etre)


def _spanish(cell: str) -> Spanish | None:
    if not cell:
        return None
    forms, _, past = cell.partition("/")
    infinitive, *present = forms.split()
    if present:
        return Spanish(infinitive, tuple(present), tuple(past.split()))
    stem, (now, then) = infinitive[:-2], SPANISH_ENDINGS[infinitive[-2:]]
    return Spanish(infinitive, tuple(stem + end for end in now), tuple(stem + end for end in then))


_FRENCH = dict(rows(FRENCH))
_SPANISH = dict(rows(SPANISH))


def _verb(cells: list[str]) -> Verb:
    concept, roles, flags, english, chinese = cells
    subject, _, objects = roles.partition(" ")
    base, third, past, *particle = english.split()
    now, _, then = chinese.partition("/")
    return Verb(concept, subject, tuple(objects.split(",")) if objects else (), frozenset(flags.split()),
                (base, third, past), particle[0].removeprefix("+") if particle else "",
                _french(_FRENCH[concept], "être" in flags.split()), _spanish(_SPANISH.get(concept, "")),
                now.strip(), then.strip())  # fmt: skip


VERB: dict[str, Verb] = {cells[0]: _verb(cells) for cells in rows(VERBS)}
