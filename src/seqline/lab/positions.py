"""positions: what does attention know of order, and of places that it never saw in training?

Self-attention alone maps a bag of words: for every permutation P of the source, and an encoder f without positions,

    f(P x) = P f(x)

which is checked on encoders with random weights. A causal decoder is another matter: what a token may see depends on where it
stands. Language models that differ in nothing but positions learn an echo,

    x_t = x_(t - D) in 9 of 10 places, else any letter

in lines of N letters, and are then read on lines of 4 N: is the echo still heard beyond N, where no training line went?
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from seqline import files
from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.comparing.plots import Axis, Series, lines
from seqline.data.batch import collate_lines
from seqline.data.lines import read_lines
from seqline.data.tokenizer import EOS
from seqline.evaluation.significance import Array
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, all_of, decide
from seqline.lab.laboratory import Lab
from seqline.models.language_model import LanguageModel
from seqline.run_folder import Run, load_run
from seqline.shapes import Tensor

CORPUS = "echo"
LETTERS, DISTANCE, ECHO = "abcdefgh", 3, 0.9
LENGTH = 32
COUNTS = {"train": (4_000, LENGTH), "valid": (100, LENGTH), "test": (200, 4 * LENGTH)}
PARTS = ((DISTANCE, LENGTH), (LENGTH, 2 * LENGTH), (2 * LENGTH, 4 * LENGTH))
"""Places from, to: as in training, up to twice, up to four times as far."""
NONE, SINUSOIDAL, ALIBI = "none", "sinusoidal", "alibi"
SCHEMES = (NONE, SINUSOIDAL, "learned", "rotary", ALIBI, "relative")
LEARNED = 0.5
"""A model that is right less often than this in lines as in training has not learned, and decides nothing."""
LOSS = 0.05
_SETTINGS = {
    "data.unit": "lines",
    "tokenizer.kind": "char",
    "model.embed_size": 48,
    "model.inner_size": 96,
    "model.num_heads": 4,
    "model.num_layers": 2,
    "model.dropout": 0.0,
    "training.batch_tokens": 500,
    "training.learning_rate": 0.005,
}

CLAIMS = (
    Claim(
        "bag",
        "Without positions the encoder of a Transformer sees no order: permuting the source permutes its outputs",
        "Vaswani et al. 2017 (1706.03762), section 3.5",
    ),
    Claim(
        "alibi",
        "A model with ALiBi reads on beyond the length of its training, one with sinusoidal positions does not",
        "Press, Smith & Lewis 2022 (2108.12409), sections 2.2 and 3, figure 1",
        is_seen=True,
    ),
    Claim(
        "knows",
        "A causal decoder without positions learns order all the same",
        "Kazemnejad et al. 2023 (2305.19466), sections 1 and 5; Haviv et al. 2022 (2203.16634), section 4",
        is_seen=True,
    ),
    Claim(
        "longer",
        "Without positions a causal decoder reads on beyond the length of its training better than with any of them",
        "Kazemnejad et al. 2023 (2305.19466), section 4",
        is_seen=True,
    ),
)


def line(draws: random.Random, length: int) -> str:
    """Return one line: letters, most of them those that stand `DISTANCE` places before."""
    letters: list[str] = []
    for place in range(length):
        is_echo = place >= DISTANCE and draws.random() < ECHO
        letters.append(letters[place - DISTANCE] if is_echo else draws.choice(LETTERS))
    return "".join(letters)


def make(folder: Path, _lab: Lab) -> None:
    """Write the corpus; no line stands twice in it, and no test line begins as a training line."""
    draws, seen = random.Random(1), set()
    for name, (count, length) in COUNTS.items():
        found: list[str] = []
        while len(found) < count:
            text = line(draws, length)
            if text[:LENGTH] not in seen:
                seen.add(text[:LENGTH])
                found.append(text)
        files.write_text(folder / f"{name}.txt", "".join(f"{text}\n" for text in found))


CORPORA = {CORPUS: make}


def wanted(scheme: str, seed: int) -> Wanted:
    """Return the model of one scheme."""
    settings = tuple({**_SETTINGS, "model.positions": scheme}.items())
    return Wanted(CORPUS, "transformer-pre", "language_model", settings, steps=1000, quick_steps=300, seed=seed)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(wanted(scheme, seed) for seed in lab.seed_numbers() for scheme in SCHEMES)


def make_encoder(scheme: str) -> nn.Module:
    """Return an encoder with random weights, its biases of distance random too (they begin at 0)."""
    recipe = ARCHITECTURES["transformer-pre"]
    sizes: dict[str, Any] = {"embed_size": 48, "inner_size": 96, "num_heads": 4, "num_layers": 2, "dropout": 0.0}
    settings = recipe.settings(**{**sizes, "positions": scheme})
    assert recipe.features is not None
    encoder = recipe.features(settings, Vocabulary(20, 20, True)).encoder.eval()
    for name, parameter in encoder.named_parameters():
        if "positions" in name.split("."):
            nn.init.normal_(parameter)
    return encoder


@torch.no_grad()
def change_when_permuted(encoder: nn.Module, seed: int = 1) -> float:
    """Return the largest |f(P x) - P f(x)| over some sources and permutations, as a share of the largest |f(x)|."""
    draws = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, 20, (8, 12), generator=draws)
    is_real = torch.ones_like(ids, dtype=torch.bool)
    order = torch.randperm(12, generator=draws)
    plain, permuted = encoder(ids, is_real).outputs, encoder(ids[:, order], is_real).outputs
    return float((permuted - plain[:, order]).abs().max() / plain.abs().max())


@torch.no_grad()
def statistics(run: Run, texts: Sequence[str]) -> Array:
    """Return of each line, [N parts 2]: echoes that were the most probable letter, and all echoes, by place."""
    tokenizer, model = run.tokenizers.source, cast("LanguageModel", run.model)
    encoded = tokenizer.encode_batch(list(texts))
    counts = np.zeros((len(texts), len(PARTS), 2))
    for rows in np.array_split(np.arange(len(texts)), max(1, len(texts) // 50)):
        batch = collate_lines(encoded, rows.tolist())
        logits, _ = model(batch.inputs, model.initial_state(None, len(rows)))
        logits[..., : EOS + 1] = -torch.inf  # lines of training end at N: only which letter is asked here
        counts[rows] = count_echoes(logits.argmax(-1), batch.targets)
    return counts


def count_echoes(said: Tensor, ids: Tensor) -> Array:
    """Return of each row, [B parts 2], the echoes that were said and all, of lines [B T] of ids (what follows is not read)."""
    is_echo = torch.zeros_like(ids, dtype=torch.bool)
    is_echo[:, DISTANCE:] = ids[:, DISTANCE:] == ids[:, :-DISTANCE]
    right = is_echo & (said == ids)
    parts = [[each[:, low:high].sum(1) for each in (right, is_echo)] for low, high in PARTS]
    return torch.stack([torch.stack(part, -1) for part in parts], 1).numpy().astype(np.float64)


def verdicts(hits: Mapping[str, Sequence[Array]], changes: Mapping[str, float]) -> tuple[Verdict, ...]:
    """Decide the claims.

    Args:
        hits: what `statistics` gives, of each scheme and seed.
        changes: what `change_when_permuted` gives, of each scheme.
    """
    return (_bag(changes), _alibi(hits), _knows(hits), _longer(hits))


def _bag(changes: Mapping[str, float]) -> Verdict:
    rule = (
        "held where permuting the source changes no output of the encoder without positions by more than 0.00001 of the largest, "
        "and some output of every other by more than 0.01; not held else"
    )
    others = min(change for scheme, change in changes.items() if scheme != NONE)
    said = f"without positions {changes[NONE]:.1e} of the largest output, with them at least {others:.2f}"
    return Verdict("bag", decide(changes[NONE] <= 1e-5 and others > 0.01), rule, dict(changes), said)


def _of(hits: Mapping[str, Sequence[Array]], scheme: str, part: int) -> list[Array]:
    return [seed[:, part] for seed in hits[scheme]]


def _has_learned(hits: Mapping[str, Sequence[Array]], scheme: str) -> bool:
    return share(_of(hits, scheme, 0)).is_above(LEARNED) is True


def lost(hits: Mapping[str, Sequence[Array]], scheme: str) -> Estimate:
    """Return the right echoes as far as in training less those from twice to four times as far."""
    return difference(_of(hits, scheme, 0), _of(hits, scheme, -1))


def _alibi(hits: Mapping[str, Sequence[Array]]) -> Verdict:
    rule = (
        f"lost is the share of right echoes at places {PARTS[0][0] + 1} to {LENGTH}, as in training, minus that at places "
        f"{PARTS[-1][0] + 1} to {PARTS[-1][1]}; held where it is below {100 * LOSS:g} % with ALiBi and above with sinusoidal "
        f"positions, not held where one is otherwise, undecided where one of the two is right in less than {100 * LEARNED:g} % "
        f"in lines as in training; by {SURE}"
    )
    alibi, sinusoidal = lost(hits, ALIBI), lost(hits, SINUSOIDAL)
    is_held = all_of((alibi.is_below(LOSS), sinusoidal.is_above(LOSS)))
    if not all(_has_learned(hits, scheme) for scheme in (ALIBI, SINUSOIDAL)):
        is_held = None
    numbers = {**alibi.numbers("lost_alibi"), **sinusoidal.numbers("lost_sinusoidal")}
    said = f"lost with ALiBi: {alibi.said()}, with sinusoidal positions: {sinusoidal.said()}"
    return Verdict("alibi", decide(is_held), rule, numbers, said)


def _knows(hits: Mapping[str, Sequence[Array]]) -> Verdict:
    rule = (
        "held where the share of right echoes without positions, in lines as in training, is above "
        f"{100 * LEARNED:g} % (chance: {100 / len(LETTERS):g} %), not held where it is below; by {SURE}"
    )
    right = share(_of(hits, NONE, 0))
    said = f"right without positions: {right.said()}"
    return Verdict("knows", decide(right.is_above(LEARNED)), rule, right.numbers("right"), said)


def _longer(hits: Mapping[str, Sequence[Array]]) -> Verdict:
    rule = (
        f"gain is the share of right echoes at places {PARTS[-1][0] + 1} to {PARTS[-1][1]} without positions minus that with a "
        f"scheme; held where it is above 0 for all of them, not held where it is below for one; by {SURE}"
    )
    found = {s: difference(_of(hits, NONE, -1), _of(hits, s, -1)) for s in SCHEMES if s != NONE}
    numbers = {key: value for scheme, each in found.items() for key, value in each.numbers(f"gain_{scheme}").items()}
    said = "gain over " + ", ".join(f"{scheme}: {each.said()}" for scheme, each in found.items())
    return Verdict("longer", decide(all_of([each.is_above(0.0) for each in found.values()])), rule, numbers, said)


def measure(lab: Lab) -> Finding:
    """Permute sources, read long lines, decide."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        changes = {scheme: change_when_permuted(make_encoder(scheme)) for scheme in SCHEMES}
    texts = read_lines(str(lab.corpus(CORPUS) / "test.txt"))
    hits: dict[str, list[Array]] = {scheme: [] for scheme in SCHEMES}
    for seed in lab.seed_numbers():
        for scheme in SCHEMES:
            lab.check_stop()
            hits[scheme].append(statistics(load_run(lab.run(wanted(scheme, seed))), texts))
    shares = {scheme: [share(_of(hits, scheme, part)) for part in range(len(PARTS))] for scheme in SCHEMES}
    return Finding(
        (_changes_table(changes), _table(shares)),
        (_plot(shares),),
        verdicts(hits, changes),
        (
            f"{len(texts)} test lines of {4 * LENGTH} letters, training lines of {LENGTH}; an echo comes "
            f"{DISTANCE} places later. Chance is {100 / len(LETTERS):g} %. The end mark is no answer.",
        ),
        {
            "change_when_permuted": changes,
            "right": {scheme: [each._asdict() for each in of] for scheme, of in shares.items()},
        },
    )


def _changes_table(changes: Mapping[str, float]) -> Table:
    rows = tuple((scheme, 0.0 if change == 0 else float(f"{change:.2g}")) for scheme, change in changes.items())
    return Table("Encoder with random weights: largest change of an output when the source is permuted, as a share of the "
                 "largest output", ("positions", "change"), rows)  # fmt: skip


def _labels() -> list[str]:
    return [f"{low + 1}-{high}" for low, high in PARTS]


def _table(shares: Mapping[str, Sequence[Estimate]]) -> Table:
    rows = tuple((scheme, *(_percent(each.value) for each in of)) for scheme, of in shares.items())
    return Table("Causal decoder: right echoes by place in the line (%)", ("positions", *_labels()), rows)


def _percent(value: float) -> float | None:
    return round(100 * value, 1) if math.isfinite(value) else None


def _plot(shares: Mapping[str, Sequence[Estimate]]) -> Picture:
    series = [
        Series(scheme, style, [(float(n), 100 * each.value) for n, each in enumerate(of)])
        for style, (scheme, of) in enumerate(shares.items())
    ]
    title = f"Right echoes by place; training lines end at {LENGTH}"
    return Picture("by-place", lines(title, Axis("place in the line", _labels()), Axis("right (%)"), series), title)


EXPERIMENT = Experiment(
    name="positions",
    title="Positions",
    question="what does attention know of order, and does it read on where no training text went?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
