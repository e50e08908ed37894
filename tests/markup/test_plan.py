"""Marks survive translation: by models that copy, reverse, drop, repeat, and make marks up."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqline.markup import Kind, find_marks, plan

Link = tuple[int, int]
Model = Callable[[str], str]


def translated(text: str, model: Model, links: Callable[[str, str], Sequence[Link]] = lambda *_: ()) -> str:
    """What a translator does: placeholders in, then the lines that lost one again without."""
    lines: list[str] = []
    whole = plan(text)
    for line in whole.lines:
        if not line.needs_model:
            lines.append(line.restore(""))
            continue
        source, output = line.with_placeholders, model(line.with_placeholders)
        is_kept = line.is_kept(output)
        if not is_kept:
            source, output = line.without_placeholders, model(line.without_placeholders)
        lines.append(line.restore(output, links(source, output), has_placeholders=is_kept))
    return whole.join(lines)


def same_order(source: str, output: str) -> list[Link]:
    return [(n, n) for n in range(min(len(source.split()), len(output.split())))]


def reversed_order(source: str, output: str) -> list[Link]:
    size = len(source.split())
    return [(size - 1 - n, n) for n in range(min(size, len(output.split())))]


def reverse(text: str) -> str:
    return " ".join(reversed(text.split()))


def without_braces(text: str) -> str:
    """A model that spells everything in capitals and knows no signs of placeholders."""
    return " ".join(word.upper() for word in text.split() if not set(word) & set("{}%$@"))


MODELS: dict[str, Model] = {
    "identity": lambda text: text,
    "reverse": reverse,
    "upper": str.upper,
    "nothing": lambda _: "",
    "blank": lambda _: " \t",
    "one word": lambda _: "x",
    "signs": lambda _: "... (!) ",
    "repeat": lambda text: f"{text} {text} {text}",
    "tags": lambda text: f"<b>{text}</b> <i> </p> <<b>b> {{0}} %s</b",
    "half marks": lambda text: f"< {{ {text} % }} > <a href='",
    "lines": lambda text: text.replace(" ", "\n") + "\r\n\n",
    "fixed": lambda _: "{0} %1$s www.x.org <br/>\n{{0}} %",
    "unsegmented": lambda text: "你好，世界。" * (1 + len(text) // 9),
    "characters apart": " ".join,
    "capitals": without_braces,
}
models = st.sampled_from(sorted(MODELS))
links = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20)

WORDS = [
    "Dear",
    "press",
    "OK.",
    "don't",
    "你好",
    "世界。",
    "(a)",
    "!",
    "100",
    "%",
    "<",
    "{",
    "&amp;",
    "e\u0301",
    "“x”,",
]
OPENING = ["<b>", "<i>", "<a href='x y'>", "<p>"]
CLOSING = ["</b>", "</i>", "</a>", "</p>"]
POINTS = ["<br>", "<x id='1'/>", "<!-- c\n -->"]
PLACEHOLDERS = ["{0}", "{name}", "%s", "%1$s", "{{ x }}", "https://x.org/a", "a@x.org", "%%"]
pieces = st.lists(
    st.sampled_from([*WORDS, *OPENING, *CLOSING, *POINTS, *PLACEHOLDERS, *([" "] * 8), "\n", "\n\n", "\r\n", "  "]),
    max_size=16,
)


def count(text: str) -> Counter[str]:
    return Counter(mark.text for mark in find_marks(text))


@settings(max_examples=120, deadline=None)
@given(pieces.map("".join), models, links)
def test_every_mark_stands_there_as_often_and_every_line_stays(text: str, model: str, found: list[Link]):
    marks = find_marks(text)
    result = translated(text, MODELS[model], lambda *_: found)
    if not marks and "\n" not in text and "\r" not in text:
        assert result == (MODELS[model](text) if text.strip() else text)
        return
    assert not marks or count(result) == count(text)
    source_lines, result_lines = text.replace("\r\n", "\n").split("\n"), result.replace("\r\n", "\n").split("\n")
    assert len(result_lines) == len(source_lines)
    for source, line in zip(source_lines, result_lines, strict=True):
        if not source.strip():
            assert line == source


def nested(depth: int) -> st.SearchStrategy[str]:
    word = st.sampled_from([*WORDS[:5], "OK.", *PLACEHOLDERS[:3], "<br>"])
    if depth == 0:
        return word
    inside = st.lists(nested(depth - 1), max_size=4)
    gap = st.sampled_from([" ", " ", "", "\n"])
    body = st.tuples(inside, gap).map(lambda pair: pair[1].join(pair[0]))
    return st.one_of(word, st.tuples(st.sampled_from("biup"), body).map(lambda p: f"<{p[0]}>{p[1]}</{p[0]}>"))


def numbered(text: str) -> str:
    """Give every element a name of its own, so that a test can tell which is which."""
    result, opened, position = "", [], 0
    for number, mark in enumerate(find_marks(text)):
        result += text[position : mark.start]
        position = mark.end
        if mark.kind is Kind.OPEN:
            opened.append(f"t{number}")
            result += f"<t{number}>"
        else:
            result += f"</{opened.pop()}>" if mark.kind is Kind.CLOSE else mark.text
    return result + text[position:]


def parents(text: str) -> dict[str, str]:
    """Return element -> the element it stands in; fails where nesting is not valid."""
    opened, found = [""], {}
    for mark in find_marks(text):
        if mark.kind is Kind.OPEN:
            found[mark.name] = opened[-1]
            opened.append(mark.name)
        elif mark.kind is Kind.CLOSE:
            assert opened.pop() == mark.name
    assert opened == [""]
    return found


valid = st.lists(nested(3), max_size=5).map(" ".join).map(numbered).filter(find_marks)


@settings(max_examples=60, deadline=None)
@given(valid, models, links)
def test_valid_nesting_stays_and_each_element_in_its_parent(text: str, model: str, found: list[Link]):
    result = translated(text, MODELS[model], lambda *_: found)
    assert count(result) == count(text)
    assert parents(result) == parents(text)


def contents(text: str) -> dict[str, str]:
    """Return element -> what it encloses without tags."""
    marks = find_marks(text)
    found: dict[str, str] = {}
    for n, mark in enumerate(marks):
        if mark.kind is Kind.OPEN:
            end = next(k for k in range(n, len(marks)) if marks[k].kind is Kind.CLOSE and marks[k].name == mark.name)
            inner = text[mark.end : marks[end].start]
            tags = [m for m in find_marks(inner) if m.kind is not Kind.PLACEHOLDER]
            for tag in reversed(tags):
                inner = inner[: tag.start] + inner[tag.end :]
            found[mark.name] = inner
    return found


@settings(max_examples=60, deadline=None)
@given(
    valid.filter(lambda text: "\n" not in text),
    st.sampled_from(["identity", "reverse", "upper", "repeat", "capitals"]),
    links,
)
def test_an_element_with_text_encloses_text(text: str, model: str, found: list[Link]):
    result = contents(translated(text, MODELS[model], lambda *_: found))
    for name, inner in contents(text).items():
        assert not inner.strip() or result[name].strip()


simple = st.recursive(
    st.sampled_from(["Dear", "Bob", "press", "OK", "{0}", "%s", "don't"]),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"<b>{' '.join(parts)}</b>"),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(simple, min_size=1, max_size=5).map(" ".join))
def test_a_model_that_copies_gives_the_source_back(text: str):
    assert translated(text, lambda source: source, same_order) == text
    assert translated(text, lambda source: source) == text


@given(st.text(max_size=40).filter(lambda text: not find_marks(text) and text.strip()), st.text(max_size=20))
def test_text_without_marks_is_translated_as_it_is(text: str, output: str):
    if "\n" in text or "\r" in text:
        return
    assert plan(text).lines[0].with_placeholders == text
    assert translated(text, lambda _: output) == output


LETTER = "Dear %1$s, press <b>OK</b>.\n\nYour seat: {0}"


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_letter_keeps_its_marks_and_its_blank_line(model: str):
    result = translated(LETTER, MODELS[model])
    assert count(result) == Counter(["%1$s", "{0}", "<b>", "</b>"])
    assert result.split("\n")[1] == ""
    assert len(result.split("\n")) == 3
    assert result.index("<b>") < result.index("</b>")
    if MODELS[model](LETTER).strip():
        assert result[result.index("<b>") + 3 : result.index("</b>")].strip()


@pytest.mark.parametrize(
    ("source", "output", "links", "result"),
    [
        # Words cross.
        ("the <b>red</b> car", "la voiture rouge", [(0, 0), (2, 1), (1, 2)], "la voiture <b>rouge</b>"),
        ("<i>big</i> <b>dog</b>!", "chien gros!", [(1, 0), (0, 1)], "<b>chien</b> <i>gros</i>!"),
        # One word becomes two, apart: the nearer ones, not what lies between.
        ("he <b>calls</b> her", "er ruft sie an", [(0, 0), (1, 1), (2, 2), (1, 3)], "er <b>ruft</b> sie an"),
        # The signs at the edge belong to the element where they did.
        ("Press <b>OK</b>.", "Drücken Sie OK.", [(0, 0), (0, 1), (1, 2)], "Drücken Sie <b>OK</b>."),
        ("<b>Stop.</b> Now.", "Halt. Jetzt.", [(0, 0), (1, 1)], "<b>Halt.</b> Jetzt."),
        ("<b>Hello</b> world", "Hallo, Welt", [(0, 0), (1, 1)], "<b>Hallo</b>, Welt"),
        ("(<b>one</b>) two", "(eins) zwei", [], "(<b>eins</b>) zwei"),
        ("Hello<b>!</b>", "Hallo!", [(0, 0)], "Hallo<b>!</b>"),
        # What encloses everything does so.
        ("<p>Good <b>morning</b></p>", "Ja guten Morgen", [(0, 1), (1, 2)], "<p>Ja guten <b>Morgen</b></p>"),
        # White space inside and outside.
        ("press<b> OK </b>now", "drücke OK jetzt", [], "drücke<b> OK </b>jetzt"),
        ("<p> Hello </p>", "Hallo", [], "<p> Hallo </p>"),
        ("<td>A</td><td>B</td>", "C D", [], "<td>C</td><td>D</td>"),
        ("one<br/>two", "eins zwei", [], "eins<br/>zwei"),
        ("one <br/> two", "eins, zwei", [(0, 0), (1, 1)], "eins, <br/> zwei"),
        # Several words of one element, by position.
        ("one two <b>three four</b>", "eins zwei drei vier", [], "eins zwei <b>drei vier</b>"),
        # Without word spaces.
        ("Press <b>OK</b>", "请按确定", [(0, 0), (1, 0)], "请按确<b>定</b>"),
        ("<b>你好</b>，世界", "hello, world", [], "<b>hello</b>, world"),
        # Too few words: characters.
        ("<b>house</b> <i>door</i>", "Tür", [], "<b>Tü</b><i>r</i>"),
        # Inside a word that was copied, or half of it.
        ("It is H<sub>2</sub>O.", "Das ist H2O.", [(0, 0), (1, 1), (2, 2)], "Das ist H<sub>2</sub>O."),
        ("See note<sup>1</sup> now", "Anmerkung1 nun", [(0, 0), (1, 0), (2, 1)], "Anmerkung<sup>1</sup> nun"),
        ("<k>Ctrl</k>+<k>C</k> now", "nun Strg+C", [(0, 1), (1, 0)], "nun <k>Strg</k>+<k>C</k>"),
        ("un<b>told</b> tales", "ungesagte Sagen", [(0, 0), (1, 1)], "<b>ungesagte</b> Sagen"),
        # A point does not get into an element that it was not in.
        ("w <x/> <b>a b c d</b>", "A B W C D", [(1, 0), (2, 1), (0, 2), (3, 3), (4, 4)], "<b>A B W C D</b> <x/>"),
        # A comment parts no words.
        ("un<!-- c -->til then", "bis dann", [(0, 0), (1, 1)], "bis<!-- c --> dann"),
        # Marks that the model makes up go.
        ("<b>Hi</b> you", "<i>Hallo</i> du %s", [(0, 0), (1, 1)], "<b>Hallo</b> du"),
    ],
)
def test_tags_go_where_their_words_went(source: str, output: str, links: list[Link], result: str):
    assert plan(source).lines[0].restore(output, links) == result


@pytest.mark.parametrize(
    ("source", "plain", "output", "links", "result"),
    [
        ("Dear %1$s, go.", "Dear, go.", "Liebe, geh.", [(0, 0), (1, 1)], "Liebe %1$s, geh."),
        ("Your seat: {0}", "Your seat:", "Ihr Platz:", [], "Ihr Platz: {0}"),
        ("{0} files left", "files left", "noch Dateien", [(1, 0), (0, 1)], "noch {0} Dateien"),
        ("from {0} to {1}", "from to", "von bis", [(0, 0), (1, 1)], "von {0} bis {1}"),
        ("it is <b>{0}</b> now", "it is now", "jetzt ist es", [(2, 0), (1, 1), (0, 2)], "jetzt ist <b>{0}</b> es"),
        ("file (%s) gone", "file () gone", "Datei () weg", [], "Datei (%s) weg"),
    ],
)
def test_placeholders_are_put_back(source: str, plain: str, output: str, links: list[Link], result: str):
    line = plan(source).lines[0]
    assert line.without_placeholders == plain
    assert not line.is_kept(output)
    assert line.restore(output, links, has_placeholders=False) == result


@pytest.mark.parametrize(
    ("output", "is_kept"),
    [
        ("{0} a {1}", True),
        ("{1}{0}", True),
        ("<b>{1}</b> {0}", True),
        ("{0}", False),
        ("{0} {1} {1}", False),
        ("{0} {1} %s", False),
    ],
)
def test_kept_is_each_exactly_as_often(output: str, is_kept: bool):
    assert plan("{0} and {1}").lines[0].is_kept(output) == is_kept


def test_an_output_that_lacks_a_placeholder_is_refused():
    with pytest.raises(ValueError, match="placeholder"):
        plan("a {0}").lines[0].restore("b")


def test_a_placeholder_pulls_its_element_along():
    line = plan("see <a>{0}</a> and {1}").lines[0]
    assert line.restore("{1} und {0} sehen", [(0, 0), (1, 3), (2, 1), (3, 2)]) == "{1} und <a>{0}</a> sehen"


@pytest.mark.parametrize("text", ["", "  ", "{0}", "<b>{0}</b>: %s", "<br/>", "</b> <i> - ", "https://x.org"])
def test_nothing_but_marks_needs_no_model(text: str):
    line = plan(text).lines[0]
    assert not line.needs_model
    assert line.restore("") == text


def test_an_element_may_span_lines():
    result = translated("<p>Hello <b>big\nwide</b> world</p> x <i>y</i>\n{0}", reverse, reversed_order)
    assert parents("".join(result.split("\n"))) == {"p": "", "b": "p", "i": ""}
    assert result.split("\n")[0] == "<p><b>big Hello"


def test_an_element_may_end_where_a_line_begins_and_begin_where_it_ends():
    text = "<p>a\n</p> b <p>\nc</p> <i>d</i>"
    assert translated(text, str.upper) == "<p>A\n</p> B <p>\nC</p> <i>D</i>"
    # What an earlier line began comes first, even where the model puts its words last.
    assert translated(text, reverse, reversed_order).split("\n")[2] == "d</p> <i>c</i>"


def test_lines_keep_their_indent():
    assert translated("  - one\n\t<b>two</b> \n", str.upper) == "  - ONE\n\t<b>TWO</b> \n"


def test_deep_nesting_is_no_trouble():
    text = "<b>" * 1500 + "word" + "</b>" * 1500
    assert translated(text, str.upper) == text.replace("word", "WORD")


@pytest.mark.parametrize(
    ("source", "output"),
    [
        # What is no address becomes one where a tag is put in front of it.
        ("a %s</b>https://", "b%shttps://www."),
        ("x {0}a:aa <b>y%shttps://-.</b>", "x {0}a:aa y%shttps://-."),
        ("<b>one</b> {0} two", "{{ {0} }} {a}"),
        ("{<b>0}</b> one", "{0} one"),
        ("one <i>two</i>", "<<<i>i>i> two"),
    ],
)
def test_marks_that_would_run_together_with_text_do_not(source: str, output: str):
    assert count(translated(source, lambda _: output)) == count(source)


def test_other_counts_of_lines_are_refused():
    with pytest.raises(ValueError, match="1 translated lines for 2 lines"):
        plan("a\nb").join(["c"])
