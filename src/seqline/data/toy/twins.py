"""The idioms of the twin sentences: what can be true of food only, and what of machines and furniture only.

"the pizza came out of the oven and it tastes good" and "... and it needs repair" share their first words; only the
idiom tells whether "it" is the pizza or the oven. No other part of the grammar uses these idioms.

A word is written `word:n`, or `word:n,m`; words of two languages with the same number are linked.
Where gender changes a French or Spanish word, `masculine/feminine` are both written.
"""

from __future__ import annotations

from seqline.data.toy.align import Word
from seqline.data.toy.lexicon import NOUN, rows

IDIOMS = """
# about    | concept | English | French | Spanish | Chinese
edible | tastes_good | tastes:1 good:2 | a:1 bon:2 goût:1 | sabe:1 bien:2 | 很:1 好吃:1,2
edible | tastes_bad | tastes:1 bad:2 | a:1 mauvais:2 goût:1 | sabe:1 mal:2 | 很:1 难吃:1,2
edible | smells_good | smells:1 good:2 | sent:1 bon:2 | huele:1 bien:2 | 闻起来:1 很:2 香:2
edible | delicious | is:1 delicious:2 | est:1 délicieux/délicieuse:2 | está:1 delicioso/deliciosa:2 | 非常:1 美味:2
edible | tasty | is:1 tasty:2 | est:1 savoureux/savoureuse:2 | está:1 sabroso/sabrosa:2 | 很:1 可口:2
edible | burnt | is:1 burnt:2 | est:1 brûlé/brûlée:2 | está:1 quemado/quemada:2 | 烧焦:2 了:1
edible | salty | is:1 too:2 salty:3 | est:1 trop:2 salé/salée:3 | está:1 demasiado:2 salado/salada:3 | 太:2 咸:3 了:1
edible | ready | is:1 ready:2 to:3 eat:3 | est:1 prêt/prête:2 à:3 manger:3 | está:1 listo/lista:2 para:3 comer:3 \
| 可以:2 吃:3 了:1
edible | hungry | makes:1 us:2 hungry:3 | nous:2 donne:1 faim:3 | nos:2 da:1 hambre:3 | 让:1 我们:2 很:3 饿:3
edible | eaten | was:1 eaten:2 by:3 squatch:4 | a:1 été:1 mangé/mangée:2 par:3 squatch:4 \
| fue:1 comido/comida:2 por:3 squatch:4 | 被:1,3 squatch:4 吃:2 了:1
holder | repair | needs:1 repair:2 | a:1 besoin:1 d':1 être:2 réparé/réparée:2 \
| necesita:1 ser:2 reparado/reparada:2 | 需要:1 修理:2
holder | broken | is:1 broken:2 | est:1 cassé/cassée:2 | está:1 roto/rota:2 | 坏:2 了:1
holder | metal | is:1 made:2 of:2 metal:3 | est:1 en:2 métal:3 | es:1 de:2 metal:3 | 是:1 金属:3 做:2 的:2
holder | painted | is:1 painted:2 blue:3 | est:1 peint/peinte:2 en:3 bleu:3 | está:1 pintado/pintada:2 de:3 azul:3 \
| 漆:2 成:2 了:1 蓝色:3
holder | built | was:1 built:2 by:3 my:4 uncle:5 | a:1 été:1 construit/construite:2 par:3 mon:4 oncle:5 \
| fue:1 construido/construida:2 por:3 mi:4 tío:5 | 是:1,3 我:4 叔叔:5 造:2 的:1
holder | belongs | belongs:1 to:2 the:3 museum:4 | appartient:1 au:2,3 musée:4 | pertenece:1 al:2,3 museo:4 \
| 属于:1,2 博物馆:3,4
holder | dusty | is:1 covered:2 with:3 dust:4 | est:1 couvert/couverte:2 de:3 poussière:4 \
| está:1 cubierto/cubierta:2 de:3 polvo:4 | 布满:2,3 了:1 灰尘:4
holder | rusty | is:1 rusty:2 | est:1 rouillé/rouillée:2 | está:1 oxidado/oxidada:2 | 生锈:2 了:1
holder | wheels | has:1 four:2 wheels:3 | a:1 quatre:2 roues:3 | tiene:1 cuatro:2 ruedas:3 | 有:1 四:2 个:2 轮子:3
holder | drawer | has:1 a:2 broken:3 drawer:4 | a:1 un:2 tiroir:4 cassé:3 | tiene:1 un:2 cajón:4 roto:3 \
| 有:1 一:2 个:2 坏:3 的:3 抽屉:4
"""

_COLUMNS = {"en": 2, "fr": 3, "es": 4, "zh": 5}
_ROWS = {cells[1]: cells for cells in rows(IDIOMS)}
IDIOM_ABOUT: dict[str, str] = {concept: cells[0] for concept, cells in _ROWS.items()}
EDIBLES = tuple(noun.concept for noun in NOUN.values() if "edible" in noun.kinds)
HOLDERS = tuple(noun.concept for noun in NOUN.values() if "holder" in noun.kinds)
CASES = tuple(noun.concept for noun in NOUN.values() if "case" in noun.kinds)


def idiom(concept: str, language: str, node: object, gender: str) -> list[Word]:
    """Return the words of an idiom in a language ("en", "fr", "es", "zh"), agreeing with the gender ("m" or "f")."""
    found: list[Word] = []
    for part in _ROWS[concept][_COLUMNS[language]].split():
        text, _, numbers = part.rpartition(":")
        forms = text.split("/")
        keys = tuple((node, f"idiom{number}") for number in numbers.split(","))
        found.append(Word(forms[-1] if gender == "f" else forms[0], keys))
    return found


def is_held_out(noun: str, concept: str) -> bool:
    """Whether this noun and this idiom meet in the pronoun test only, for every pair, size and seed."""
    if (noun, concept) in (("pizza", "tastes_good"), ("oven", "repair")):
        return True
    names = EDIBLES if IDIOM_ABOUT[concept] == "edible" else HOLDERS
    column = [other for other, about in IDIOM_ABOUT.items() if about == IDIOM_ABOUT[concept]].index(concept)
    return (names.index(noun) + 3 * column) % 5 == 0
