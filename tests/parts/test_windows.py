"""Windows against brute force in NumPy: which positions are seen, and by how much their weights are scaled."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from seqline.parts.attention import Attention, SourceAttention
from seqline.parts.coverage import CoverageAttention
from seqline.parts.head_attention import HeadAttention
from seqline.parts.scores import DotScore, GeneralScore
from seqline.parts.windows import Everywhere, MonotonicWindow, PredictiveWindow, Window
from seqline.state import select

from ..small_models import assert_equal, gradients, jacobian_support, random_weights, right_padded

WIDTH, LENGTH, SOURCE_LENGTH = 4, 9, 8
LENGTHS = [7, 1, 4, 0]
WINDOWS = {
    "everywhere": Everywhere,
    "local-m": lambda: MonotonicWindow(2),
    "local-p": lambda: random_weights(PredictiveWindow(WIDTH, 2)),
}
ATTENTIONS = {
    "dot": lambda window: Attention(DotScore(), window),
    "coverage": lambda window: CoverageAttention(WIDTH, WIDTH, 5, window),
    "heads": lambda window: HeadAttention(WIDTH, WIDTH, 2, window),
}

every_window = pytest.mark.parametrize("kind", WINDOWS)
every_attention = pytest.mark.parametrize("attention", ATTENTIONS)


def make_inputs() -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, outputs with poison in the padding, and which outputs are real."""
    is_real = right_padded(LENGTHS, SOURCE_LENGTH)
    query = 2 * torch.randn(len(LENGTHS), LENGTH, WIDTH, dtype=torch.float64)
    outputs = torch.randn(len(LENGTHS), SOURCE_LENGTH, WIDTH, dtype=torch.float64)
    return query, outputs.masked_fill(~is_real[..., None], 1e4), is_real


def make_attention(attention: str, kind: str) -> SourceAttention:
    return random_weights(ATTENTIONS[attention](WINDOWS[kind]()))


def centers_by_hand(window: Window, query: Tensor) -> np.ndarray:
    """Return p_t [B T], counted from 1."""
    found = np.zeros(query.shape[:2])
    for b, length in enumerate(LENGTHS):
        for t in range(query.shape[1]):
            if isinstance(window, MonotonicWindow):
                found[b, t] = min(t + 1, length)
            elif isinstance(window, PredictiveWindow):
                hidden = np.tanh(window.hidden.weight.detach().numpy() @ query[b, t].numpy())
                found[b, t] = length / (1 + np.exp(-window.place.detach().numpy() @ hidden))
    return found


@every_window
def test_a_window_is_its_formula(kind: str) -> None:
    window, (query, _, is_real) = WINDOWS[kind](), make_inputs()
    view = window(query, is_real, window.initial_state(is_real))
    centers = centers_by_hand(window, query)
    for b, length in enumerate(LENGTHS):
        for t in range(LENGTH):
            for s in range(1, SOURCE_LENGTH + 1):
                is_near = kind == "everywhere" or abs(s - centers[b, t]) <= 2
                allowed = view.is_allowed.expand(-1, LENGTH, -1)[b, t, s - 1]
                assert bool(allowed) == (s <= length and is_near)
                if kind == "local-p":  # D = 2, so sigma = 1
                    assert view.factor is not None
                    expected = np.exp(-((s - centers[b, t]) ** 2) / 2)
                    assert view.factor[b, t, s - 1].item() == pytest.approx(expected, abs=1e-12)
    assert (view.factor is None) == (kind != "local-p")


def test_the_monotonic_window_stays_at_the_sources_end() -> None:
    window, (query, _, is_real) = MonotonicWindow(1), make_inputs()
    allowed = window(query, is_real, window.initial_state(is_real)).is_allowed
    seen = [[(s + 1) for s in range(SOURCE_LENGTH) if allowed[2, t, s]] for t in range(LENGTH)]
    assert seen == [[1, 2], [1, 2, 3], [2, 3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4]]
    assert allowed[1].sum(-1).tolist() == [1] * LENGTH
    assert not allowed[3].any()


def test_a_window_that_covers_the_source_is_everywhere() -> None:
    query, outputs, is_real = make_inputs()
    plain, wide = Attention(DotScore()), Attention(DotScore(), MonotonicWindow(SOURCE_LENGTH))
    assert_equal([wide(query, wide.prepare(outputs, is_real))], [plain(query, plain.prepare(outputs, is_real))])


@pytest.mark.parametrize("kind", ["local-m", "local-p"])
def test_the_context_is_the_scaled_softmax_inside_the_window(kind: str) -> None:
    query, outputs, is_real = make_inputs()
    attention = random_weights(Attention(GeneralScore(WIDTH, WIDTH), WINDOWS[kind]()))
    context = attention(query, attention.prepare(outputs, is_real)).detach()
    centers = centers_by_hand(attention.window, query)
    matrix = attention.get_parameter("score.project.weight").detach().numpy()
    for b, length in enumerate(LENGTHS):
        values = outputs[b, :length].numpy()
        for t in range(LENGTH):
            distance = np.arange(1, length + 1) - centers[b, t]
            e = np.exp(values @ matrix.T @ query[b, t].numpy()) * (abs(distance) <= 2)
            shares = e / e.sum() if length else e
            if kind == "local-p":
                shares = shares * np.exp(-(distance**2) / 2)
            assert context[b, t].tolist() == pytest.approx((shares @ values).tolist(), abs=1e-10)


@every_attention
def test_nothing_outside_the_window_is_read(attention: str) -> None:
    part, (query, outputs, _) = make_attention(attention, "local-m"), make_inputs()
    query, outputs, is_real = query[:1], outputs[:1, :7], torch.ones(1, 7, dtype=torch.bool)

    def contexts(values: Tensor) -> Tensor:
        return part(query, part.prepare(values, is_real))

    reads = jacobian_support(contexts, outputs)
    centers = torch.arange(1, LENGTH + 1).clamp(max=7)[:, None]
    expected = (torch.arange(1, 8) - centers).abs() <= 2
    if attention == "coverage":  # what was covered, and so what was seen, still counts where it is in sight
        assert (reads[expected]).all()
        assert not reads[0, 3:].any()
    else:
        assert torch.equal(reads, expected)


@every_attention
@every_window
def test_a_source_without_a_real_entry_gives_zero(attention: str, kind: str) -> None:
    part, (query, outputs, is_real) = make_attention(attention, kind), make_inputs()
    query.requires_grad_()
    outputs.requires_grad_()
    context = part(query, part.prepare(outputs, is_real))
    assert (context[3] == 0).all()
    assert (context[:3] != 0).any(-1).all()
    found = gradients([query, outputs, *part.parameters()], context, context.exp())
    assert all(torch.isfinite(gradient).all() for gradient in found)
    assert (found[0][3] == 0).all()
    assert (found[1][~is_real] == 0).all()


@every_attention
@every_window
def test_pieces_with_holes_are_the_whole(attention: str, kind: str) -> None:
    part, (query, outputs, is_real) = make_attention(attention, kind), make_inputs()
    memory = part.prepare(outputs, is_real)
    whole, end = part.read(query, memory, part.initial_state(memory))
    is_read = torch.rand(len(LENGTHS), 2 * LENGTH) < 0.5
    holes = torch.full((len(LENGTHS), 2 * LENGTH, WIDTH), 9.0, dtype=torch.float64)
    counts = is_read.sum(1).clamp(max=LENGTH)
    for b, count in enumerate(counts.tolist()):
        places = is_read[b].nonzero()[:, 0]
        is_read[b, places[count:]] = False
        holes[b, places[:count]] = query[b, :count]
    state, pieces = part.initial_state(memory), []
    for begin, stop in ((0, 1), (1, 8), (8, 2 * LENGTH)):
        context, state = part.read(holes[:, begin:stop], memory, state, is_read[:, begin:stop])
        pieces.append(context)
    found = torch.cat(pieces, dim=1)
    for b, count in enumerate(counts.tolist()):
        assert_equal([found[b, is_read[b]]], [whole[b, :count]])
    rest = torch.tensor([int(c) for c in counts])
    for b in range(len(LENGTHS)):  # the state after the holes is that after as many queries
        one = torch.tensor([b])
        _, expected = part.read(query[one, : rest[b]], select(memory, one), part.initial_state(select(memory, one)))
        for got, wanted in zip(tensors(select(state, one)), tensors(expected), strict=True):
            assert_equal([got.double()], [wanted.double()])
    assert len(tensors(end)) == (kind == "local-m") + (attention == "coverage")


def tensors(tree: object) -> list[Tensor]:
    if tree is None:
        return []
    return [tree] if isinstance(tree, Tensor) else [x for part in tree for x in tensors(part)]  # pyright: ignore[reportGeneralTypeIssues]
