"""How much of an error reaches a state k words back in models that have learned: those of long-dependency, on its questions.

The error is that at the language, the last word: -log p("Italian"). It is differentiated with respect to the state behind every
word read before: h, and the cell state c where there is one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from seqline.data.tokenizer import BOS, EOS
from seqline.evaluation.significance import Array
from seqline.lab import gap_texts
from seqline.lab.gap_texts import Question
from seqline.lab.laboratory import Lab
from seqline.lab.long_dependency import ATTENTION, GRU, LSTM, SIMPLE, TRAINED, wanted
from seqline.recording.gradients import Loss, gradients_of, log_loss
from seqline.run_folder import Run, load_run
from seqline.shapes import Tensor

NAMES = (SIMPLE, GRU, LSTM, ATTENTION)
QUESTIONS, QUICK_QUESTIONS = 20, 8
COUNTRY = TRAINED - 1
"""The country stands so many words before the last word that is read."""


class Subject(NamedTuple):
    """A question as ids: what is read, and the loss at its answer."""

    ids: list[int]
    loss: Loss


def subject_of(run: Run, question: Question) -> Subject:
    """Return how a language model, or a translator of texts so far, is asked."""
    model: Any = run.model
    [answer] = run.tokenizers.target.encode(question.answer)
    read = run.tokenizers.source.encode(question.text)
    if run.config.data.task == "language_model":
        ids = [BOS, *read]

        def compute(source_is_read: Callable[[], None]) -> Tensor:
            logits, _ = model(torch.tensor([ids]), model.initial_state(None, 1))
            source_is_read()
            return log_loss(logits[0, -1:], [answer])
    else:
        ids = [*read, EOS]

        def compute(source_is_read: Callable[[], None]) -> Tensor:
            source = torch.tensor([ids])
            memory = model.decoder.prepare(model.encoder(source, torch.ones_like(source, dtype=torch.bool)))
            source_is_read()
            logits, _ = model.decoder(torch.tensor([[BOS]]), model.decoder.initial_state(memory, 1), memory)
            return log_loss(logits[0], [answer])

    return Subject(ids, Loss(compute, "-log p of the answer"))


def by_distance(run: Run, questions: Sequence[Question]) -> Array:
    """Return the norm of the gradient by words back from the last one read, [TRAINED - 1]: a geometric mean over questions.

    Number k - 1 is the state k words back; where there is a cell state, it is c that counts.
    """
    logs = []
    is_line = run.config.data.task == "language_model"
    for question in questions:
        ids, loss = subject_of(run, question)
        block = gradients_of(run.model, loss, len(ids))
        assert block is not None
        norms = block["norm_h"] if block["norm_c"] is None else block["norm_c"]
        words = norms[: len(ids) if is_line else -1]  # the end mark of a source is no word
        logs.append(np.log(np.maximum(words[::-1][1 : COUNTRY + 1], 1e-300)))
    return np.exp(np.mean(logs, axis=0))


def measured(lab: Lab) -> dict[str, Array]:
    """Return the norms of each trained model [seeds TRAINED - 1]."""
    draws = random.Random("gradients")
    count = lab.pick(QUESTIONS, QUICK_QUESTIONS)
    questions = [gap_texts.far(TRAINED, draws, is_test=True) for _ in range(count)]
    found: dict[str, Array] = {}
    for name in NAMES:
        runs = (load_run(lab.run(wanted(name, seed))) for seed in lab.seed_numbers())
        found[name] = np.array([by_distance(run, questions) for run in runs])
        lab.check_stop()
    return found
