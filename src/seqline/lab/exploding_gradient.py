"""exploding-gradient: what one step too large does, and what clipping does about it.

A simple RNN whose recurrent matrix is scaled to a spectral radius over 1 learns to name the first symbol of a sequence at its
end, by plain gradient descent. The same seeds are trained as they are, and with the norm of the gradient clipped:

    g <- g min(1, c / |g|)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import nn

from seqline.comparing.plots import Axis, Series, lines
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, decide
from seqline.lab.laboratory import Lab
from seqline.parts.cells import SimpleCell
from seqline.parts.recurrent import Recurrent
from seqline.shapes import Tensor
from seqline.training.optimizer import clip_gradients

WIDTH, SYMBOLS, LENGTH, ROWS = 32, 4, 30, 32
RADIUS, RATE, CLIP = 1.8, 0.3, 1.0
RUNS, QUICK_RUNS = 16, 8
STEPS, QUICK_STEPS = 300, 100
PEAK, RARE, FIRST = 100.0, 0.05, 10
"""A peak is a norm so many times the median; rare are fewer than such a share of the updates; the first ones are left out."""
CLAIMS = (
    Claim(
        "explodes",
        "Where the recurrent matrix has a spectral radius over 1 the norm of the gradient has rare, very high peaks.",
        "Pascanu et al. 2013 (1211.5063), sections 2.1 and 2.3; Bengio et al. 1994",
        is_seen=True,
    ),
    Claim(
        "clipping",
        "Clipping the norm of the gradient keeps a training from being thrown back.",
        "Pascanu et al. 2013 (1211.5063), section 3.2, algorithm 1",
    ),
)


class Course(NamedTuple):
    """One training. losses: nats, of each step. norms: of the gradient before clipping."""

    losses: list[float]
    norms: list[float]

    @property
    def is_thrown_back(self) -> bool:
        """Whether it ended without a number, or above where it began, by the mean of its last tenth."""
        last = self.losses[-max(1, len(self.losses) // 10) :]
        return not all(map(math.isfinite, (*self.losses, *self.norms))) or float(np.mean(last)) > self.losses[0]

    @property
    def ratios(self) -> list[float]:
        """The norms of all but the first updates over their median; what is no number counts as infinite."""
        norms = [norm if math.isfinite(norm) else math.inf for norm in self.norms[FIRST:]]
        middle = float(np.median(norms)) if norms else math.inf
        return [norm / max(middle, 1e-12) if math.isfinite(norm) else math.inf for norm in norms]

    @property
    def peak(self) -> float:
        """The largest ratio; infinite where the training ended before there was any."""
        return max(self.ratios, default=math.inf)

    @property
    def share_high(self) -> float:
        """The share of the updates whose norm is a peak."""
        return float(np.mean([ratio > PEAK for ratio in self.ratios])) if self.ratios else 0.0


class Recall(nn.Module):
    """A simple RNN that is asked for the first symbol at the end."""

    def __init__(self, radius: float) -> None:
        super().__init__()
        self.layer, self.head = Recurrent(SimpleCell(SYMBOLS, WIDTH)), nn.Linear(WIDTH, SYMBOLS)
        weight = cast("SimpleCell", self.layer.cell).weight_hh
        with torch.no_grad():
            weight.normal_()
            weight.mul_(radius / torch.linalg.eigvals(weight).abs().max())

    def forward(self, x: Tensor) -> Tensor:
        """Return logits [B SYMBOLS] of sequences [B T SYMBOLS]."""
        y, _ = self.layer(x, self.layer.initial_state(len(x)))
        return self.head(y[:, -1])


def train(seed: int, steps: int, clip: float, radius: float = RADIUS) -> Course:
    """Train one model by gradient descent; clip: 0 = none."""
    draws = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Recall(radius)
    descent = torch.optim.SGD(model.parameters(), lr=RATE)
    course = Course([], [])
    for _ in range(steps):
        ids = torch.randint(SYMBOLS, (ROWS, LENGTH), generator=draws)
        loss = nn.functional.cross_entropy(model(nn.functional.one_hot(ids, SYMBOLS).float()), ids[:, 0])
        course.losses.append(float(loss.detach()))
        descent.zero_grad()
        loss.backward()
        norm = clip_gradients(model.parameters(), clip or math.inf)
        course.norms.append(float(norm))
        if not math.isfinite(course.losses[-1]) or not math.isfinite(norm):
            break
        descent.step()
    return course


def verdicts(free: Sequence[Course], clipped: Sequence[Course]) -> tuple[Verdict, ...]:
    """Decide from trainings of the same seeds."""
    peaks = [course.peak for course in free]
    high = sum(course.peak > PEAK and course.share_high < RARE for course in free)
    lost, kept = (sum(course.is_thrown_back for course in each) for each in (free, clipped))
    n = len(free)
    is_open = lost == kept == 0 or lost - kept in range(1, max(2, n // 4))
    is_held = None if is_open else lost > kept
    return (
        Verdict(
            "explodes",
            decide(True if high > n / 2 else False if high == 0 else None),
            f"a peak is a norm above {PEAK:g} times the median norm of a training without clipping, its first {FIRST} updates "
            f"left out; held where over half of the trainings have peaks in fewer than {100 * RARE:g} % of the updates, not held "
            "where none has, undecided between",
            {
                "with rare peaks": high,
                "trainings": n,
                "median of the largest ratios": float(np.median(peaks)) if all(map(math.isfinite, peaks)) else None,
                "greatest share of peaks": max(course.share_high for course in free),
            },
            f"{high} of {n} trainings have rare peaks above {PEAK:g} times their median norm.",
        ),
        Verdict(
            "clipping",
            decide(is_held),
            "thrown back is a training whose loss ends (mean of the last tenth) above where it began, or not finite; held where "
            "clipping has fewer of them by a quarter of the trainings, not held where it has as many or more, undecided between "
            "and where there is none at all",
            {"without": lost, "with": kept, "trainings": n},
            f"Thrown back: {lost} of {n} without clipping, {kept} with the norm clipped at {CLIP:g}.",
        ),
    )


def measure(lab: Lab) -> Finding:
    """Train the same seeds with and without clipping."""
    seeds, steps = range(1, 1 + lab.pick(RUNS, QUICK_RUNS)), lab.pick(STEPS, QUICK_STEPS)
    courses: dict[str, list[Course]] = {}
    for name, clip in (("no clipping", 0.0), (f"norm clipped at {CLIP:g}", CLIP)):
        courses[name] = []
        for seed in seeds:
            courses[name].append(train(seed, steps, clip))
            lab.check_stop()
    free, clipped = courses.values()
    rows = [
        (name, float(np.mean([c.losses[0] for c in each])), float(np.mean([_end(c) for c in each])), max(c.peak for c in each),
         sum(c.is_thrown_back for c in each), len(each)) for name, each in courses.items()
    ]  # fmt: skip
    return Finding(
        (
            Table(
                "Trainings",
                ("", "first loss, nats", "last loss, nats", "highest peak", "thrown back", "of"),
                tuple(rows),
            ),
        ),
        _pictures(courses),
        verdicts(free, clipped),
        (
            f"Spectral radius {RADIUS:g}, {LENGTH} steps of time, width {WIDTH}, gradient descent with rate {RATE:g}, "
            f"{steps} updates.",
        ),
        {name: [course._asdict() for course in each] for name, each in courses.items()},
    )


def _end(course: Course) -> float:
    return float(np.mean(course.losses[-max(1, len(course.losses) // 10) :]))


def _pictures(courses: Mapping[str, Sequence[Course]]) -> tuple[Picture, ...]:
    norms, losses = [], []
    for style, (name, each) in enumerate(courses.items()):
        first = each[0]
        norms.append(
            Series(name, style, [(float(n), math.log10(max(v, 1e-12))) for n, v in enumerate(first.norms, 1)][::3])
        )
        shortest = min(len(course.losses) for course in each)
        mean = np.mean([course.losses[:shortest] for course in each], axis=0)
        losses.append(Series(name, style, [(float(n), float(v)) for n, v in enumerate(mean, 1)][::3]))
    return (
        Picture("norms", lines("Norm of the gradient", Axis("update"), Axis("log10 of the norm"), norms),
                "The norm of the gradient before clipping, of the first seed."),
        Picture("losses", lines("Loss", Axis("update"), Axis("nats"), losses), "The loss, mean over the seeds."),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="exploding-gradient",
    title="The exploding gradient",
    question="What does a gradient without bounds do to a training, and does clipping its norm help?",
    claims=CLAIMS,
    has_seeds=False,
    measure=measure,
)
