"""What holds for the recording of every recipe and task: nothing changes, and the numbers agree with one another."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from seqline.generator import Generator
from seqline.labeller import Labeller
from seqline.recording.facts import Origin, model_of
from seqline.translator import Translator
from seqline.visualize.trace import Trace
from seqline.watch import watch

from .recorded import CASES, chosen, make_model, record, recorded, tokenizer, user_of

EACH = pytest.mark.parametrize(("variant", "task"), chosen())


@EACH
def test_every_check_holds_and_the_document_is_a_trace(variant: str, task: str) -> None:
    document = recorded(variant, task)
    assert [check for check in document["checks"] if not check["ok"]] == []
    assert {"rows_sum_1", "output_equal", "shapes_named", "attention_path", "packing_error"} <= {
        check["id"] for check in document["checks"]
    }
    has_gates = any(
        (document.get(side) or {}).get(name) for side in ("encoder", "decoder") for name in ("gates", "terms")
    )
    assert ("gates_parity" in {check["id"] for check in document["checks"]}) == has_gates
    again = Trace.from_json(Trace(document).to_json())
    assert isinstance(again, Trace)
    assert again.document["target"]["text"] == document["target"]["text"]


@EACH
def test_weights_times_values_are_the_recorded_context(variant: str, task: str) -> None:
    document = recorded(variant, task)
    blocks = {block["kind"]: block for block in document.get("attention") or []}
    for entry in document.get("qkv") or []:
        block = blocks[entry["kind"]]
        weights = block["weights"][entry["layer"], entry["head"]]
        assert np.abs(weights @ entry["v"] - entry["out"]).max() <= 1e-10
        scores = block["scores"][entry["layer"], entry["head"]]
        seen = block["mask"].astype(bool)
        assert np.abs(entry["q"] @ entry["k"].T * entry["scale"] - scores)[seen].max() <= 1e-10
        assert (weights[~seen] == 0).all()


@EACH
def test_states_obey_the_cells_equations(variant: str, task: str) -> None:
    document = recorded(variant, task)
    for side, lead in (("encoder", 2), ("decoder", 1)):
        block = document.get(side) or {}
        gates = block.get("gates") or {}
        if side == "encoder" and (variant == "sutskever" or document["model"]["num_directions"] == 2):
            continue  # positions are in the source's order there, not in that of reading
        before = {
            n: np.concatenate([block[f"{n}0"][..., None, :], block[n][..., :-1, :]], lead)
            for n in "hc"
            if n in block and f"{n}0" in block
        }
        if "i" in gates:
            assert np.abs(block["c"] - (gates["f"] * before["c"] + gates["i"] * gates["g"])).max() <= 1e-12
            assert np.abs(block["h"] - gates["o"] * np.tanh(block["c"])).max() <= 1e-12
        if "r" in gates:
            assert np.abs(block["h"] - ((1 - gates["z"]) * gates["n"] + gates["z"] * before["h"])).max() <= 1e-12
        if block.get("terms") and document["model"]["layer"] == "SimpleCell":
            assert np.abs(block["h"] - np.tanh(block["terms"]["wx"] + block["terms"]["uh"])).max() <= 1e-12


@EACH
def test_a_schedule_writes_every_output_once(variant: str, task: str) -> None:
    document = recorded(variant, task)
    written = [w for step in document["schedule"] for event in step["events"] for w in event["writes"]]
    assert len(written) == len(set(written))
    num_target = len(document["target"]["tokens"])
    assert [w for w in written if w.startswith("y:")] == [f"y:{n}" for n in range(num_target)]
    known = {*written, *(f"x:{s}" for s in range(len(document["source"]["tokens"])))}
    reads = {r for step in document["schedule"] for event in step["events"] for r in event["reads"]}
    assert {r for r in reads if not r.endswith(":init")} <= known


@pytest.mark.parametrize(("variant", "task"), chosen(alike=lambda arch, task: task, special=()))
def test_two_recordings_are_equal(variant: str, task: str) -> None:
    first, second = (Trace(record(variant, task)).packed() for _ in range(2))
    for packed in (first, second):
        del packed["meta"]["created"]
    assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("luong-unfed-concat", "concat"),
        ("luong-coverage", "concat"),
        ("bahdanau", "additive"),
        ("transformer", "scaled_dot"),
        ("sutskever", "none"),
    ],
)
def test_a_score_says_its_own_name(variant: str, name: str) -> None:
    model = make_model(variant, "translation")
    assert model_of(model, Origin(variant), (1, 1), 1)["score"] == name


def plain_output(user: Translator | Generator | Labeller, text: str) -> object:
    """Return what a user of a model says of a text without a recording."""
    if isinstance(user, Translator):
        return user.translate([text])
    if isinstance(user, Generator):
        return user.generate(text, max_tokens=3)
    return user.tag([text]) if user.data.task == "tagging" else user.classify([text])


@pytest.mark.parametrize(("variant", "task"), chosen(alike=lambda arch, task: task, special=()))
def test_recording_changes_nothing(variant: str, task: str) -> None:
    model = make_model(variant, task)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    text = "the old cat sees"
    user = user_of(model, task)
    output = plain_output(user, text)
    modes = {name: module.training for name, module in model.named_modules()}
    state = torch.get_rng_state()
    user.explain(text, **({"max_tokens": 2} if task == "language_model" else {}))  # type: ignore[arg-type]
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert {name: module.training for name, module in model.named_modules()} == modes
    assert plain_output(user, text) == output


@pytest.mark.parametrize(("variant", "task"), chosen([case for case in CASES if case[1] == "translation"]))
def test_gradients_with_and_without_watching_are_equal(variant: str, task: str) -> None:
    model = make_model(variant, task)
    source = torch.tensor([[*tokenizer().encode("the old cat"), 3]])
    fed = torch.tensor([[2, 5, 6]])

    def slopes() -> list[torch.Tensor]:
        loss = model(source, torch.ones_like(source, dtype=torch.bool), fed).square().sum()
        return list(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True))

    plain = slopes()
    with watch(model):
        watched = slopes()
    for a, b in zip(watched, plain, strict=True):
        assert float((a - b).abs().max()) <= 1e-9 * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize(("variant", "task"), chosen(alike=lambda arch, task: task, special=()))
def test_a_notebook_shows_it(variant: str, task: str) -> None:
    document = recorded(variant, task)
    shown = Trace(document)._repr_html_()
    assert shown.lstrip().startswith("<")
    assert document["source"]["text"] in shown
