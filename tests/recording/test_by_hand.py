"""What if a row of attention were another one: the trace holds the row, and the output follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.errors import UserError
from seqline.recording.by_hand import AttentionRow
from seqline.translator import Translator

from ..small_run import ReversingRun


@pytest.fixture(scope="module")
def translator(reversing_run: ReversingRun) -> Translator:
    return Translator.load(reversing_run.folder)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_trace_holds_the_row_and_the_output_follows(translator: Translator, beam_size: int) -> None:
    free = translator.explain("a b c d", beam_size=beam_size, timing=False)
    assert free.document["target"]["text"] == "d c b a"
    row = [1.0, 0.0, 0.0, 0.0, 0.0]  # the first word, where the model would read the last
    held = translator.explain("a b c d", beam_size=beam_size, attention_rows={1: row}, timing=False)
    weights = held.document["attention"][0]["weights"][0, 0]
    assert weights[0].tolist() == row
    assert held.document["target"]["text"].split()[0] == "a"
    values = held.document["encoder"]["h"][-1, 0]
    np.testing.assert_allclose(held.document["decoder"]["context"][0], np.array(row) @ values, atol=1e-6)
    checks = {check["id"]: check for check in held.document["checks"]}
    assert checks["rows_by_hand"]["ok"]
    assert checks["output_equal"]["ok"]
    assert checks["attention_path"]["ok"]
    assert "rows_by_hand" not in {check["id"] for check in free.document["checks"]}
    again = translator.explain("a b c d", beam_size=beam_size, timing=False).document
    assert again["decoder"]["steps"] == free.document["decoder"]["steps"]


def test_a_row_and_a_token_may_be_set_together(translator: Translator) -> None:
    row = [0.0, 1.0, 0.0, 0.0]
    trace = translator.explain("a b c", force={1: "h"}, attention_rows=[AttentionRow(2, row, layer=0, head=0)])
    assert trace.document["target"]["text"].startswith("h ")
    assert trace.document["attention"][0]["weights"][0, 0, 1].tolist() == row
    assert trace.document["decode"]["mode"] == "forced"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({0: [1, 0, 0]}, "a step from 1"),
        ({1: [1, 0]}, "each of 3 source tokens, got 2"),
        ({1: [0.5, 0.2, 0]}, "sum of 0.7"),
        ({1: [2, -1, 0]}, "from 0 to 1"),
        ({1: [float("nan"), 0, 0]}, "from 0 to 1"),
        ([AttentionRow(1, [1, 0, 0], layer=1)], "a layer from 0 to 0, got 1"),
        ([AttentionRow(1, [1, 0, 0], head=2)], "a head from 0 to 0, got 2"),
    ],
)
def test_a_row_that_is_none_is_refused(translator: Translator, rows: object, said: str) -> None:
    with pytest.raises(UserError, match=said):
        translator.explain("a b", attention_rows=rows)  # pyright: ignore[reportArgumentType]
