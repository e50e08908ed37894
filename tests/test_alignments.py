"""Alignments by attention: each row belongs to the token it produced, pieces become words, and only attention can align."""

from __future__ import annotations

import math

import pytest
import torch

from seqline.decoding.rerank import coverage
from seqline.errors import UserError
from seqline.evaluation.alignment import Aligner, Forced, Reading, attention_size, cross_weights, links_of, word_weights
from seqline.evaluation.alignment_metrics import parse_gold, score_alignments
from seqline.report import Wanted, evaluate
from seqline.translator import EMPTY, Translator
from seqline.watch import is_watched, watch

from .small_models import LENGTHS, TOLERANCE, VARIANTS, make_batch, make_model
from .small_run import ReversingRun, pair_set

WITHOUT = ("encoder-decoder", "contextual", "sutskever", "cho")
ATTENDING = [variant for variant, (name, _) in VARIANTS.items() if name not in WITHOUT]


@pytest.fixture
def translator(reversing_run: ReversingRun) -> Translator:
    return Translator.load(reversing_run.folder)


@pytest.mark.parametrize("variant", ATTENDING)
def test_row_n_is_the_attention_that_produced_token_n(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    weights = cross_weights(model, batch)
    num_layers, num_heads = attention_size(model)
    assert weights.shape == (4, num_layers, num_heads, batch.target_in.shape[1], batch.source.shape[1])
    with torch.no_grad():
        memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
        state = model.decoder.initial_state(memory, 4)
        for n in range(batch.target_in.shape[1]):  # fed y_(n-1), the decoder produces y_n
            with watch(model.decoder, only=("attention", "multi-head attention")) as frames:  # pyright: ignore[reportArgumentType]
                _, state = model.decoder(batch.target_in[:, n : n + 1], state, memory)
            seen = [f.values["weights"] for f in frames if "mixer" not in f.path.split(".")]
            rows = torch.stack([w if w.dim() == 4 else w[:, None] for w in seen], dim=1)
            torch.testing.assert_close(weights[..., n : n + 1, :], rows, atol=TOLERANCE, rtol=0)
    assert not is_watched()


@pytest.mark.parametrize("variant", ATTENDING)
def test_no_weight_lies_on_padding(variant: str) -> None:
    weights = cross_weights(make_model(variant), make_batch())
    for row, (source, target) in zip(weights, LENGTHS, strict=True):
        assert bool((row[..., source + 1 :] == 0).all())
        sums = row[..., : target + 1, : source + 1].sum(-1)
        assert bool((sums < 1 + 1e-9).all())
        if "local-p" not in VARIANTS[variant][1].values():
            torch.testing.assert_close(sums, torch.ones_like(sums))


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v not in ATTENDING])
def test_a_model_without_attention_is_refused(variant: str) -> None:
    with pytest.raises(
        UserError, match=r"^alignments: the decoder does not attend to its source.*; use a run with attention"
    ):
        attention_size(make_model(variant))


def test_word_weights_by_hand() -> None:
    # Source: word 0 = pieces 0, 1; word 1 = piece 2; the end mark is piece 3. Target: word 0 = piece 0; word 1 = pieces 1, 2.
    weights = torch.tensor([[0.3, 0.3, 0.4, 0.0], [0.1, 0.1, 0.6, 0.2], [0.5, 0.2, 0.1, 0.2], [0.0, 0.0, 0.0, 1.0]])
    words = word_weights(weights, [0, 1, 1, None], [0, 0, 1, None], (2, 2))
    torch.testing.assert_close(words, torch.tensor([[0.6, 0.4, 0.0], [0.45, 0.35, 0.2]]))
    assert links_of(words) == ((0, 0), (0, 1))  # a maximum over pieces would link (1, 0)


@pytest.mark.parametrize(
    ("rows", "links"),
    [
        ([[0.2, 0.3, 0.5]], ()),  # most of it on the end mark
        ([[0.2, 0.4, 0.4]], ((1, 0),)),
        ([[0.4, 0.4, 0.2]], ((0, 0),)),
        ([[0.0, 0.0, 0.0]], ()),  # a window that saw nothing
        ([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0]], ((0, 1), (1, 0))),
        ([], ()),
    ],
)
def test_links_of_words(rows: list[list[float]], links: tuple[tuple[int, int], ...]) -> None:
    assert links_of(torch.tensor(rows).reshape(-1, 3)) == links


def test_a_model_that_writes_backwards_links_backwards(translator: Translator, reversing_run: ReversingRun) -> None:
    lengths = [len(source.split()) for source in reversing_run.sources]
    gold = parse_gold([" ".join(f"{n - 1 - j}-{j}" for j in range(n)) for n in lengths], "gold")
    found = translator.align(reversing_run.test)
    right = score_alignments(found, gold)
    assert right.error_rate < 0.6  # it has learnt for two seconds
    for by in (-1, 1):  # one target word early or late
        assert score_alignments([[(i, j + by) for i, j in links] for links in found], gold).error_rate > 0.75
    report = evaluate(translator, pair_set(*reversing_run.test), beam_size=1, wanted=Wanted(gold=gold))
    assert report.alignment == right
    assert report.as_json()["alignment"]["error_rate"] == right.error_rate


@pytest.mark.parametrize("batch_rows", [1, 3, None])
def test_outputs_carry_the_alignment_of_their_own_text(
    translator: Translator, reversing_run: ReversingRun, batch_rows: int | None
) -> None:
    sources = [*reversing_run.sources[:8], "", "a b zebra"]
    plain = translator.translate(sources, n_best=2, batch_rows=batch_rows)
    made = translator.translate(sources, n_best=2, batch_rows=batch_rows, alignments=True)
    assert [[o.text for o in t.outputs] for t in made] == [[o.text for o in t.outputs] for t in plain]
    assert all(o.alignment is None for t in plain for o in t.outputs)
    for translation in made:
        for output in translation.outputs:
            assert output.alignment == translator.align([(translation.source, output.text)])[0]
            size = len(translation.source.split()), len(output.text.split())
            assert all(i < size[0] and j < size[1] for i, j in output.alignment or ())
    assert made[-2].outputs[0].alignment == ()
    assert EMPTY.alignment is None


@pytest.mark.parametrize(("reading", "head"), [(None, slice(None)), (Reading(layer=0, head=1), slice(1, 2))])
@pytest.mark.parametrize("batch_tokens", [1, 1024])
def test_weights_of_pieces_are_those_that_links_are_made_from(
    translator: Translator, reading: Reading | None, head: slice, batch_tokens: int
) -> None:
    model, batch = make_model("transformer"), make_batch()
    aligner = Aligner(model, translator.tokenizers.source, translator.tokenizers.target, reading)
    forced = [
        Forced("", "", batch.source[row, : source + 1].tolist(), batch.target_out[row, :target].tolist())
        for row, (source, target) in enumerate(LENGTHS)
    ]
    found = aligner.weights(forced, batch_tokens)
    layer = cross_weights(model, batch)[:, -1 if reading is None else 0]
    for row, (weights, (source, target)) in enumerate(zip(found, LENGTHS, strict=True)):
        right = layer[row, head].mean(0)[: target + 1, : source + 1]
        torch.testing.assert_close(weights, right, atol=TOLERANCE, rtol=0)
        torch.testing.assert_close(weights.sum(1), torch.ones_like(weights[:, 0]))
    assert aligner.weights([]) == []


def test_coverage_of_a_forced_output_is_that_of_its_weights(translator: Translator) -> None:
    source, target = translator.encode("a b c"), translator.tokenizers.target.encode("c b a")
    (weights,) = translator.aligner().weights([Forced("", "", source, target)])
    assert weights.shape == (len(target) + 1, len(source))
    right = sum(math.log(min(1.0, sum(row[i] for row in weights.tolist()))) for i in range(len(source)))
    assert coverage(weights, 0.2) == pytest.approx(0.2 * right, abs=1e-6)
    assert coverage(weights[:1], 0.2) < coverage(weights, 0.2) < 0  # an output that was cut off has read less
    (empty,) = translator.aligner().weights([Forced("", "", source, [])])
    assert empty.shape == (1, len(source))


def test_a_layer_or_head_that_is_not_there_is_refused(translator: Translator) -> None:
    assert translator.align([("a b", "b a")], Reading(0, 0)) == translator.align([("a b", "b a")])
    with pytest.raises(UserError, match=r"align layer: the attention to the source has 1 layer, got layer 1; give 0"):
        translator.translate(["a"], alignments=Reading(layer=1))
    with pytest.raises(UserError, match=r"align head: the attention to the source has 1 head, got head 2; give 0"):
        translator.aligner(Reading(head=2))
