"""The adding problem: an LSTM carries two numbers over a hundred steps, the simple cell does not.

Of a hundred random numbers in [0, 1) two are marked, one in each half; the target is their sum. Whoever always answers 1 has a
mean squared error of 2 / 12 = 0.167.

Source: Hochreiter & Schmidhuber 1997, section 5.4; in this form Le et al. 2015 (1504.00941), section 4.1.
Differs: the gates' biases start as Tallec & Ollivier 2018 (1804.11188) have them, for memories of 1 to 100 steps; with a forget
bias of 1 the same cell needs many times the steps before it leaves chance.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seqline.parts.cells import Cell, LSTMCell, SimpleCell
from seqline.parts.recurrent import Recurrent

LENGTH, HIDDEN_SIZE, ROWS, STEPS = 100, 64, 50, 700
CHANCE = 2 / 12


def sums(rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return numbers with their marks [B T 2], and the sum of the two that are marked [B]."""
    numbers, marks = torch.rand(rows, LENGTH, generator=generator), torch.zeros(rows, LENGTH)
    for begin in (0, LENGTH // 2):
        place = torch.randint(begin, begin + LENGTH // 2, (rows,), generator=generator)
        marks[torch.arange(rows), place] = 1.0
    return torch.stack([numbers, marks], dim=-1), (numbers * marks).sum(1)


class Adder(nn.Module):
    """A linear map of the last output."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.layer, self.head = Recurrent(cell), nn.Linear(cell.hidden_size, 1)

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.layer(x, self.layer.initial_state(len(x)))
        return self.head(outputs[:, -1])[:, 0]


def lstm_cell() -> LSTMCell:
    cell = LSTMCell(2, HIDDEN_SIZE)
    forget = torch.empty(HIDDEN_SIZE).uniform_(1, LENGTH - 1).log()
    cell.bias_ih.data[: 2 * HIDDEN_SIZE] = torch.cat([-forget, forget])
    return cell


def error_after_training(model: nn.Module) -> float:
    """Return the mean squared error on 1,000 fresh sums."""
    generator = torch.Generator().manual_seed(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        x, target = sums(ROWS, generator)
        optimizer.zero_grad()
        (model(x) - target).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        x, target = sums(1000, generator)
        return (model(x) - target).square().mean().item()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_lstm_solves_the_adding_problem() -> None:
    torch.manual_seed(1)
    assert error_after_training(Adder(lstm_cell())) <= 0.02


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_simple_cell_stays_near_chance() -> None:
    torch.manual_seed(1)
    assert error_after_training(Adder(SimpleCell(2, HIDDEN_SIZE))) >= 0.8 * CHANCE
