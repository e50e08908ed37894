"""Every token of a trace stands at its place in the text as typed, whatever the script and whatever the tokenizer."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.plain import encode_stream, stream_lines
from seqline.data.tokenizer import BOS, Tokenizer, train_tokenizer
from seqline.errors import UserError
from seqline.generator import Generator
from seqline.run_folder import Tokenizers
from seqline.tasks import TASKS
from seqline.translator import Translator
from seqline.visualize.trace import Trace

from ..small_models import random_weights

CORPUS = ["The cat sees the pizza.", "比萨从烤箱里出来", "البيتزا في الفرن", "n° 12: one oven"] * 3
CELLS: dict[str, Any] = {"embed_size": 8, "hidden_size": 8, "num_layers": 1, "dropout": 0.0}
BLOCKS: dict[str, Any] = {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 1, "dropout": 0.0}
KINDS = ["word", "char", "unigram", "bpe"]
TEXTS = {
    "chinese": "比萨出来",
    "arabic": "البيتزا في الفرن",
    "mixed": "The pizza البيتزا 比萨 12.",
    "unseen": "Übergröße 😀 語 e\u0301 x",
    "spaces": "  the   cat\tsees ",
    "marks": "a </s> <unk> \u2581 \uee91 \uee81 b",
}


@cache
def tokenizer(kind: str) -> Tokenizer:
    lines = [line for text in ["\n".join(CORPUS)] for line in stream_lines(text, kind)]
    return train_tokenizer(lines, kind, 420 if kind in ("unigram", "bpe") else None)


def translator(kind: str, arch: str = "luong", normalizes: bool = False, **settings: Any) -> Translator:
    """Return one with random weights whose outputs have four tokens."""
    both = Tokenizers(tokenizer(kind), tokenizer(kind))
    recipe = ARCHITECTURES[arch]
    own = TASKS["translation"].settings_of(recipe)(**(settings or CELLS))
    model = random_weights(TASKS["translation"].build_model(recipe, own, both.vocabulary))
    config = Config()
    data = config.data.model_copy(update={"normalize_whitespace": normalizes})
    decoding = config.decoding.model_copy(update={"max_length_factor": 0.0, "max_length_extra": 4})
    return Translator(model, both, data, decoding)  # type: ignore[arg-type]


def generator(kind: str, unit: str) -> Generator:
    recipe, task = ARCHITECTURES["transformer"], TASKS["language_model"]
    one = tokenizer(kind)
    model = random_weights(
        task.build_model(recipe, task.settings_of(recipe)(**BLOCKS), Tokenizers(one, one).vocabulary)
    )
    return Generator(model, one, Config().data.model_copy(update={"task": "language_model", "unit": unit}))  # type: ignore[arg-type]


def check_places(block: dict[str, Any]) -> None:
    """Check that ranges are in order and leave out nothing but white space, that parts count, and that all can be read."""
    data, end = block["text"].encode("utf-8"), 0
    for token in block["tokens"]:
        assert "\ufffd" not in token["text"] + token["piece"]
        if token["bytes"] is None:
            assert token["special"] is not None
            continue
        start, stop = token["bytes"]
        assert end <= start <= stop
        assert data[end:start].strip() == b"" or data[end:start].decode("utf-8").strip() == ""
        end = stop
    assert data[end:].decode("utf-8").strip() == ""
    for token in block["tokens"]:
        if "part" in token and token["part"] is not None:
            number, count = token["part"]
            assert 1 <= number <= count
    members = [i for word in block["words"] for i in word["tok"]]
    assert members == [i for i, token in enumerate(block["tokens"]) if token["special"] is None or token["bytes"]]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param(kind, text, id=f"{kind}-{name}", marks=() if kind in often else pytest.mark.slow)
        for kind in KINDS
        for name, text in TEXTS.items()
        for often in [KINDS if name == "mixed" else ("word", "unigram")]
    ],
)
def test_tokens_stand_where_they_were_typed(kind: str, text: str) -> None:
    trace = translator(kind).explain(text, beam_size=1, timing=False)
    document = trace.document
    assert document["source"]["text"] == text
    assert [token["id"] for token in document["source"]["tokens"]] == [*tokenizer(kind).encode(text), 3]
    check_places(document["source"])
    check_places(document["target"])
    assert [check for check in document["checks"] if not check["ok"]] == []
    assert isinstance(Trace.from_json(trace.to_json()), Trace)


def test_the_bytes_of_a_character_share_it() -> None:
    tokens = translator("unigram").explain("the 😀", beam_size=1, timing=False).document["source"]["tokens"]
    parts = [token for token in tokens if token.get("part")]
    assert [token["part"] for token in parts] == [[k, 4] for k in range(1, 5)]
    assert {token["text"] for token in parts} == {"😀"}
    assert [token["piece"] for token in parts] == [f"<0x{byte:02X}>" for byte in "😀".encode()]
    assert [token["bytes"] for token in parts] == [[4 + k, 5 + k] for k in range(4)]


def test_an_unknown_word_keeps_its_text() -> None:
    token = translator("word").explain("the zebra sees", beam_size=1, timing=False).document["source"]["tokens"][1]
    assert (token["piece"], token["special"], token["text"], token["bytes"]) == ("<unk>", "unk", "zebra", [4, 9])


def test_white_space_that_is_read_as_one_blank_keeps_its_places() -> None:
    text = "  The \t  cat\u3000sees  "
    document = translator("word", normalizes=True).explain(text, beam_size=1, timing=False).document
    assert document["source"]["text"] == text
    found = [token["bytes"] for token in document["source"]["tokens"] if token["bytes"]]
    assert [text.encode()[a:b].decode() for a, b in found] == ["The", "cat", "sees"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prompt", ["The cat\nsees the\n\npizza", "\n", "比萨\nالبيتزا \n ", "x\uee91\n\uee90y"])
def test_a_prompt_of_a_stream_keeps_its_line_ends(kind: str, prompt: str) -> None:
    user = generator(kind, "stream")
    document = user.explain(prompt, max_tokens=3, timing=False).document
    assert document["source"]["text"] == prompt
    assert [token["id"] for token in document["source"]["tokens"]] == encode_stream(tokenizer(kind), prompt)
    check_places(document["source"])
    ends = [token for token in document["source"]["tokens"] if "\u23ce" in token["piece"]]
    assert len(ends) == prompt.count("\n")
    data = prompt.encode()
    for token in ends:
        assert "\n" in data[slice(*token["bytes"])].decode()
    assert [check for check in document["checks"] if not check["ok"]] == []


@pytest.mark.parametrize("unit", ["stream", "lines"])
def test_an_empty_prompt_is_the_mark_before_a_text(unit: str) -> None:
    document = generator("word", unit).explain("", max_tokens=3, timing=False).document
    [mark] = document["source"]["tokens"]
    assert (document["source"]["text"], document["source"]["words"], mark["bytes"]) == ("", [], None)
    assert (mark["id"] == BOS) == (unit == "lines")
    assert mark["special"] == ("bos" if unit == "lines" else "sep")
    assert len(document["target"]["tokens"]) == len(document["decoder"]["steps"]) >= 1


def test_a_line_end_is_refused_by_a_model_of_lines() -> None:
    with pytest.raises(UserError, match="holds a line end"):
        generator("word", "lines").explain("a\nb")


def test_a_text_beyond_the_learned_positions_is_refused() -> None:
    user = translator("word", "transformer-pre", **BLOCKS, positions="learned", max_length=6)
    assert user.explain("the cat sees", beam_size=1).document["source"]["text"] == "the cat sees"
    with pytest.raises(UserError, match="only 6 positions were learned") as refused:
        user.explain("the " * 9, beam_size=1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("variant", [pytest.param("luong", marks=pytest.mark.slow), "transformer"])
def test_a_text_of_300_tokens(variant: str) -> None:
    text = "the cat sees " * 100
    trace = translator("word", variant, **(CELLS if variant == "luong" else BLOCKS)).explain(text, timing=False)
    assert len(trace.document["source"]["tokens"]) == 301
    again = Trace.from_json(trace.to_json())
    assert isinstance(again, Trace)
    assert len(again.document["source"]["words"]) == 300


@pytest.mark.parametrize(
    ("force", "said"),
    [
        ({1: "zebra"}, "is no piece of the vocabulary"),
        ({1: 9999}, "expected an id from 3 to"),
        ({1: 0}, "expected an id from 3 to"),
        ({0: "cat"}, "expected a step from 1 up, got 0"),
        ({-2: "cat"}, "expected a step from 1 up, got -2"),
        ({5: "cat"}, "expected a step up to 4, where the output ends at the latest, got 5"),
    ],
)
def test_a_token_that_cannot_be_forced_is_refused(force: dict[int, int | str], said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        translator("word").explain("the cat", force=force)
    assert "\n" not in str(refused.value)
