"""Plain forecasts under a network, by hand."""

from __future__ import annotations

import torch

from seqline.models.skips import LastSkip, LinearSkip, NoSkip, SeasonSkip

RECENT = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 8.0, 9.0]])[..., None]
NUM_RECENT = torch.tensor([4, 2])


def test_the_last_value_is_repeated() -> None:
    assert LastSkip()(RECENT, NUM_RECENT, torch.zeros(2, 2, 0))[..., 0].tolist() == [[4.0, 4.0], [9.0, 9.0]]


def test_the_last_season_is_repeated_where_there_is_one() -> None:
    assert SeasonSkip(3)(RECENT, NUM_RECENT, torch.zeros(2, 5, 0))[..., 0].tolist() == [
        [2.0, 3.0, 4.0, 2.0, 3.0],
        [9.0] * 5,
    ]


def test_none_is_the_centre() -> None:
    assert not NoSkip()(RECENT, NUM_RECENT, torch.zeros(2, 3, 0)).any()


def test_the_linear_one_sees_real_values_and_what_is_known() -> None:
    skip = LinearSkip(1, 4, 1, 2, has_level=True)
    with torch.no_grad():
        skip.weight.copy_(torch.tensor([[[1.0, 10.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0, 2.0]]]))
        skip.known.copy_(torch.tensor([[[3.0], [0.0]]]))
        skip.bias.copy_(torch.tensor([[0.25, 0.0]]))
    padded = RECENT.clone()
    padded[1, :2] = 99.0  # what stands in front of a history
    known = torch.tensor([[[0.0], [7.0]], [[2.0], [7.0]]])
    assert skip(padded, NUM_RECENT, known)[..., 0].tolist() == [[-18.75, 11.5], [15.25, 26.5]]
    assert skip(padded, NUM_RECENT, known[:, :1])[..., 0].tolist() == [[-18.75], [15.25]]


def test_the_linear_one_is_fitted_by_weighted_least_squares_and_then_stays() -> None:
    torch.manual_seed(1)
    recent, known = torch.randn(400, 3, 2), torch.randn(400, 2, 1)
    wanted, of_known = torch.randn(2, 2, 3), torch.randn(2, 2, 1)
    target = torch.einsum("bkf,fhk->bhf", recent, wanted) + torch.einsum("bhc,fhc->bhf", known, of_known)
    target = target + torch.tensor([0.5, -1.0])
    target[:100] += 100.0  # of no weight
    weight = torch.ones(400, 2, 2)
    weight[:100] = 0.0
    skip = LinearSkip(2, 3, 1, 2, has_level=True)
    skip.fit(recent, torch.full((400,), 3), known, target, weight)
    found = skip(recent[100:], torch.full((300,), 3), known[100:])
    torch.testing.assert_close(found, target[100:], atol=0.02, rtol=0.02)
    assert not any(parameter.requires_grad for parameter in skip.parameters())


def test_a_step_is_fitted_where_it_was_observed() -> None:
    torch.manual_seed(1)
    recent, known = torch.randn(300, 3, 1), torch.randn(300, 3, 1)
    truth = recent[:, -1:] + 2 * known + 5.0
    weight = torch.ones(300, 3, 1)
    weight[::2, 1] = 0.0
    weight[:, 2] = 0.0  # never observed
    skip = LinearSkip(1, 3, 1, 3, has_level=False)
    skip.fit(recent, torch.full((300,), 3), known, truth * weight, weight)
    found = skip(recent, torch.full((300,), 3), known)
    torch.testing.assert_close(found[:, :2], truth[:, :2], atol=0.02, rtol=0.02)
    torch.testing.assert_close(found[:, 2], recent[:, -1])
