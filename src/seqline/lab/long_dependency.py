"""long-dependency: how far back may a word stand that decides the next one?

"The clouds are in the" -> "sky" needs what stands 4 words before. "I grew up in Italy. ... I speak fluent" -> "Italian" needs a
word that stands as far back as the text is long. All models learn the same texts (gap_texts.py), in which that distance is drawn
from 5 to the longest of the training, and are asked at distances up to 500: right is the answer where it is the most probable of
all words. The texts of the test join openings and countries, colours and things that no text of the training joins.

The language models learn every word of a text. An attention RNN needs a source: it is given the text so far and writes the word
that is asked for, of as many far questions as near ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from seqline import files
from seqline.comparing.plots import Axis, Series, lines
from seqline.data.batch import collate_lines, source_batch
from seqline.data.tokenizer import BOS, EOS, Tokenizer
from seqline.evaluation.significance import Array
from seqline.lab import gap_texts
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.gap_texts import Question
from seqline.lab.laboratory import Lab
from seqline.run_folder import Run, load_run
from seqline.shapes import Float, Tensor

DISTANCES = (5, 10, 20, 50, 100, 200, 500)
TRAINED = 50
"""The longest distance of the training."""
TEXTS, QUICK_TEXTS, VALIDATION_TEXTS = 12_000, 6_000, 200
QUESTIONS, QUICK_QUESTIONS, QUESTIONS_AT_ONCE = 100, 40, 20
LEARNED, FALL = 0.5, 0.1
SHOWN_WORDS = 5
FAMILIES: dict[str, Callable[..., Question]] = {"far": gap_texts.far, "near": gap_texts.near}
SIMPLE, LSTM, GRU, ATTENTION, TRANSFORMER, TTT = (
    "simple RNN",
    "LSTM",
    "GRU",
    "attention RNN",
    "Transformer",
    "TTT",
)
CLAIMS = (
    Claim(
        "near",
        "Where the gap between the clue and the place it is needed is small, a simple RNN uses what stood before.",
        "Olah 2015, Understanding LSTM Networks, 'The Problem of Long-Term Dependencies': the clouds are in the sky",
        is_seen=True,
    ),
    Claim(
        "simple-rnn",
        "A simple RNN does not learn to use what stood far back.",
        "Bengio et al. 1994, Learning long-term dependencies with gradient descent is difficult, sections 3 and 4",
        is_seen=True,
    ),
    Claim(
        "lstm",
        "The LSTM learns to bridge gaps that a simple RNN does not.",
        "Hochreiter & Schmidhuber 1997, Long Short-Term Memory, section 5",
        is_seen=True,
    ),
    Claim(
        "attention",
        "With attention over an RNN the distance does not matter.",
        "Bahdanau et al. 2015 (1409.0473), sections 3 and 5.2.2",
        is_seen=True,
    ),
    Claim(
        "transformer",
        "In a Transformer all positions are one step apart: the distance does not matter.",
        "Vaswani et al. 2017 (1706.03762), section 4 and table 1: maximum path length O(1)",
        is_seen=True,
    ),
    Claim(
        "ttt",
        "A state that is trained while it reads keeps long contexts that an LSTM's state does not.",
        "Sun et al. 2024 (2407.04620), section 3.1: perplexity by token index, against recurrent layers",
        is_seen=True,
    ),
)


class Model(NamedTuple):
    """How one of the models is made. steps, quick_steps: as many as it needs to learn the texts."""

    arch: str
    steps: int
    quick_steps: int
    settings: Mapping[str, Any]


_TEXT = {"tokenizer.kind": "word", "model.size": "tiny", "model.dropout": 0.0, "training.label_smoothing": 0.0,
         "training.batch_tokens": 600, "training.validate_sentences": 20}  # fmt: skip
_LINES = {**_TEXT, "data.unit": "lines"}
MODELS: dict[str, Model] = {
    SIMPLE: Model("simple-rnn", 3000, 1500, {**_LINES, "training.learning_rate": 0.004}),
    LSTM: Model("lstm", 3000, 1500, {**_LINES, "training.learning_rate": 0.006}),
    GRU: Model("gru", 3000, 1500, {**_LINES, "training.learning_rate": 0.006}),
    ATTENTION: Model("bahdanau", 1500, 800, {
        **_TEXT, "training.learning_rate": 0.004, "model.encoder": "recurrent",  # read from the left, as the others read
        "decoding.beam_size": 1, "decoding.max_length_factor": 0.0, "decoding.max_length_extra": 4,
    }),
    TRANSFORMER: Model("transformer", 1500, 800, {**_LINES, "training.learning_rate": 0.003}),
    TTT: Model("ttt-linear", 1500, 600, {**_LINES, "training.learning_rate": 0.003}),
}  # fmt: skip
_LINES_DATA, _PAIRS_DATA = "gap-texts", "gap-questions"


def wanted(name: str, seed: int) -> Wanted:
    """Return one of the models, trained with a seed."""
    model = MODELS[name]
    is_pairs = name == ATTENTION
    task, data = ("translation", _PAIRS_DATA) if is_pairs else ("language_model", _LINES_DATA)
    return Wanted(data, model.arch, task, tuple(model.settings.items()), model.steps, model.quick_steps, seed)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return every model with every seed."""
    return tuple(wanted(name, seed) for name in MODELS for seed in lab.seed_numbers())


def _of_training(name: str, lab: Lab, families: Sequence[str]) -> list[Question]:
    """Return the questions of the training or validation set, one of each family at each distance drawn."""
    count = lab.pick(TEXTS, QUICK_TEXTS) if name == "train" else VALIDATION_TEXTS
    draws = random.Random(f"gap texts: {name}")
    drawn = gap_texts.distances(TRAINED, count, draws)
    return [FAMILIES[family](distance, draws, is_test=False) for distance in drawn for family in families]


def _sets(lab: Lab, families: Sequence[str]) -> dict[str, list[Question]]:
    test = [question for each in asked(lab).values() for question in each]
    return {**{name: _of_training(name, lab, families) for name in ("train", "valid")}, "test": test}


def _write_texts(folder: Path, lab: Lab) -> None:
    for name, questions in _sets(lab, ("far",)).items():
        files.write_text(folder / f"{name}.txt", "".join(f"{gap_texts.whole(question)}\n" for question in questions))


def _write_questions(folder: Path, lab: Lab) -> None:
    for name, questions in _sets(lab, ("far", "near")).items():
        files.write_text(folder / f"{name}.tsv", "".join(f"{q.text}\t{q.answer}\n" for q in questions))


CORPORA = {_LINES_DATA: _write_texts, _PAIRS_DATA: _write_questions}


def asked(lab: Lab) -> dict[tuple[str, int], list[Question]]:
    """Return the questions of the test by family and distance."""
    count = lab.pick(QUESTIONS, QUICK_QUESTIONS)
    found = {}
    for family, make in FAMILIES.items():
        for distance in DISTANCES:
            draws = random.Random(f"{family} {distance}")
            found[family, distance] = [make(distance, draws, is_test=True) for _ in range(count)]
    return found


@torch.inference_mode()
def next_words(run: Run, texts: Sequence[str]) -> Float[Tensor, "B V"]:
    """Return the probabilities of all words after each text, by a language model or by a translator of texts so far."""
    model: Any = run.model
    ids = [run.tokenizers.source.encode(text) for text in texts]
    if run.config.data.task == "language_model":
        batch = collate_lines(ids, range(len(ids)))
        logits, _ = model(batch.inputs, model.initial_state(None, len(ids)))
        return logits[torch.arange(len(ids)), torch.tensor([len(each) for each in ids])].softmax(dim=-1)
    memory = model.decoder.prepare(model.encoder(*source_batch([[*each, EOS] for each in ids], range(len(ids)))))
    begun = torch.full((len(ids), 1), BOS)
    logits, _ = model.decoder(begun, model.decoder.initial_state(memory, len(ids)), memory)
    return logits[:, 0].softmax(dim=-1)


def hits(run: Run, questions: Sequence[Question]) -> Array:
    """Return [N 2]: whether the most probable word is the answer, and 1."""
    right = []
    for begin in range(0, len(questions), QUESTIONS_AT_ONCE):
        some = questions[begin : begin + QUESTIONS_AT_ONCE]
        answers = torch.tensor([_id(run.tokenizers.target, question.answer) for question in some])
        right += (next_words(run, [question.text for question in some]).argmax(dim=-1) == answers).tolist()
    return np.stack([np.array(right, np.float64), np.ones(len(right))], axis=-1)


def top_words(run: Run, question: Question, count: int = SHOWN_WORDS) -> list[tuple[str, float]]:
    """Return the most probable next words with their probabilities."""
    probabilities, ids = next_words(run, [question.text])[0].topk(count)
    words = [run.tokenizers.target.decode([int(i)]) or "(end)" for i in ids]
    return list(zip(words, probabilities.tolist(), strict=True))


def _id(tokenizer: Tokenizer, word: str) -> int:
    [found] = tokenizer.encode(word)
    return found


def judge_near(simple: Estimate) -> Verdict:
    """Decide whether a simple RNN answers near questions."""
    rule = f"a is the simple RNN's accuracy at near questions in texts of {TRAINED} words; held where {SURE} lie above 90 %"
    rule += ", not held where all lie below, undecided else"
    return Verdict("near", decide(simple.is_above(0.9)), rule, simple.numbers("a"), f"Right: {simple.said()}.")


def judge_simple(first: Estimate, last: Estimate) -> Verdict:
    """Decide whether a simple RNN fails at the longest distance of the training, having learned the shortest."""
    is_learned, fails = first.is_above(LEARNED), last.is_below(LEARNED)
    rule = (
        f"a and b are the simple RNN's accuracy at far questions at distances {DISTANCES[0]} and {TRAINED}; held where a is "
        f"surely above {LEARNED:.0%} and b surely below, not held where b is surely above, undecided else (sure: {SURE})"
    )
    state = decide(False if fails is False else True if fails and is_learned else None)
    said = f"Right: {first.said()} at distance {DISTANCES[0]}, {last.said()} at {TRAINED}."
    return Verdict("simple-rnn", state, rule, {**first.numbers("a"), **last.numbers("b")}, said)


def judge_gain(claim: str, names: tuple[str, str], distance: int, gain: Estimate) -> Verdict:
    """Decide whether the first model is right more often than the second at a distance."""
    rule = (
        f"d is the accuracy of the {names[0]} less that of the {names[1]} at far questions at distance {distance}; held where "
        f"{SURE} lie above {FALL:.0%}, not held where all lie below, undecided else"
    )
    said = f"{names[0]} less {names[1]} at distance {distance}: {gain.said()}."
    return Verdict(claim, decide(gain.is_above(FALL)), rule, gain.numbers("d"), said)


def judge_level(claim: str, name: str, first: Estimate, change: Estimate) -> Verdict:
    """Decide whether a model that has learned is as good at the longest distance of the training as at the shortest."""
    rule = (
        f"a is the accuracy of the {name} at far questions at distance {DISTANCES[0]}, d its accuracy at {TRAINED} less a; held "
        f"where a is surely above {LEARNED:.0%} and d surely above -{FALL:.0%}, not held where d is surely below, undecided else "
        f"(sure: {SURE})"
    )
    is_level = change.is_above(-FALL)
    state = decide(is_level if not is_level or first.is_above(LEARNED) else None)
    said = f"{name}: {first.said()} at distance {DISTANCES[0]}, {change.said()} more at {TRAINED}."
    return Verdict(claim, state, rule, {**first.numbers("a"), **change.numbers("d")}, said)


Found = Mapping[str, Mapping[tuple[str, int], Sequence[Array]]]
"""By model, then by family and distance: hits [N 2] of each seed."""


def verdicts(found: Found) -> tuple[Verdict, ...]:
    """Decide from the hits of all models."""

    def far(name: str, distance: int) -> Sequence[Array]:
        return found[name]["far", distance]

    def level(claim: str, name: str) -> Verdict:
        change = difference(far(name, TRAINED), far(name, DISTANCES[0]))
        return judge_level(claim, name, share(far(name, DISTANCES[0])), change)

    return (
        judge_near(share(found[SIMPLE]["near", TRAINED])),
        judge_simple(share(far(SIMPLE, DISTANCES[0])), share(far(SIMPLE, TRAINED))),
        judge_gain("lstm", (LSTM, SIMPLE), TRAINED, difference(far(LSTM, TRAINED), far(SIMPLE, TRAINED))),
        level("attention", ATTENTION),
        level("transformer", TRANSFORMER),
        judge_gain("ttt", (TTT, LSTM), DISTANCES[-1], difference(far(TTT, DISTANCES[-1]), far(LSTM, DISTANCES[-1]))),
    )


def measure(lab: Lab) -> Finding:
    """Ask every model at every distance."""
    questions = asked(lab)
    found: dict[str, dict[tuple[str, int], list[Array]]] = {name: {key: [] for key in questions} for name in MODELS}
    shown: dict[str, list[tuple[str, int, Sequence[tuple[str, float]]]]] = {"far": [], "near": []}
    for name in MODELS:
        for seed in lab.seed_numbers():
            run = load_run(lab.run(wanted(name, seed)))
            for key, some in questions.items():
                found[name][key].append(hits(run, some))
                lab.check_stop()
            if seed == lab.seed_numbers()[0]:
                for family, make in (("far", gap_texts.italy), ("near", gap_texts.clouds)):
                    shown[family] += [(name, distance, top_words(run, make(distance))) for distance in DISTANCES]
    shares = {
        family: {name: [share(found[name][family, d]).value for d in DISTANCES] for name in MODELS}
        for family in FAMILIES
    }
    notes = (
        f"Trained at distances up to {TRAINED}: what lies beyond is asked of the models without having been taught.",
        f"The place that a near question asks for stands 3 words further on than the language of a far one: at {TRAINED} "
        "words it stands where hardly a place stood in the training, which a model that counts positions notices.",
        f"{lab.pick(QUESTIONS, QUICK_QUESTIONS)} questions at each distance, {lab.seeds_said()}; one in "
        f"{len(gap_texts.LANGUAGES)} is right by chance.",
        "The attention RNN is told where a word is missing and learns nothing else; the others learn every word of a "
        "text, of which one is the answer.",
    )
    numbers = {"distances": list(DISTANCES), "accuracy": shares, "top_words": {
        family: [{"model": name, "distance": d, "words": words} for name, d, words in rows] for family, rows in shown.items()
    }}  # fmt: skip
    return Finding(_tables(shares, shown), _pictures(shares), verdicts(found), notes, numbers)


def _tables(shares: Mapping[str, Any], shown: Mapping[str, Any]) -> tuple[Table, ...]:
    titles = {
        "far": 'Right languages by distance (%): "I grew up in Italy ... I speak fluent"',
        "near": 'Right places by length of the text before (%): "The clouds are in the", always 4 words apart',
    }
    tops = {
        "far": '"I grew up in Italy. ... I speak fluent": the most probable next words (first seed)',
        "near": '"... The white clouds are in the": the most probable next words (first seed)',
    }
    columns = ("model", *map(str, DISTANCES))
    tables = [
        Table(titles[family], columns, tuple((name, *(100 * each for each in row)) for name, row in rows.items()))
        for family, rows in shares.items()
    ]
    places = ("model", "distance", *(f"{place}." for place in range(1, 1 + SHOWN_WORDS)))
    for family, rows in shown.items():
        cells = tuple((name, distance, *(f"{word} {p:.2f}" for word, p in words)) for name, distance, words in rows)
        tables.append(Table(tops[family], places, cells))
    return tuple(tables)


def _pictures(shares: Mapping[str, Any]) -> tuple[Picture, ...]:
    captions = {
        "far": f"Accuracy by the distance of the word that decides; trained up to {TRAINED}.",
        "near": f"Accuracy at a word that is decided 4 words before, by the length of the text; trained up to {TRAINED}.",
    }
    labels = {
        "far": "distance, words (not to scale)",
        "near": "text before, as in the far question (words, not to scale)",
    }
    found = []
    for family, rows in shares.items():
        drawn = [
            Series(name, style, [(float(place), 100 * value) for place, value in enumerate(row)])
            for style, (name, row) in enumerate(rows.items())
        ]
        axis = Axis(labels[family], tuple(map(str, DISTANCES)))
        svg = lines(f"Accuracy, {family}", axis, Axis("right answers, %"), drawn)
        found.append(Picture(f"{family}-by-distance", svg, captions[family]))
    return tuple(found)


EXPERIMENT = Experiment(
    name="long-dependency",
    title="Long dependencies",
    question="How far back may a word stand that decides the next one?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
