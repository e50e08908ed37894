"""Raw text in, labels out: a tag for every token or a class for a text, as `seqline tag` and `classify` and validation use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import Module

from seqline.config import DataConfig, DecodingConfig
from seqline.data.batch import source_batch
from seqline.data.labelled import split_tokens
from seqline.data.loader import plan_in_order
from seqline.data.text import normalize_whitespace
from seqline.data.tokenizer import EOS
from seqline.errors import UserError
from seqline.recording.document import Options
from seqline.recording.facts import origin_of
from seqline.recording.labels import Labelling, record_labels
from seqline.run_folder import Run, Tokenizers, load_run, require_task
from seqline.tasks import TASKS
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB

OnDone = Callable[[int], None]


@dataclass(frozen=True)
class Classified:
    """The most probable class of a text, and its probability; a blank text has the label "" and the probability 0."""

    label: str
    probability: float


NOTHING = Classified("", 0.0)


class Labeller:
    """Labels with one model.

    Args:
        model: a tagger or a classifier, in evaluation mode.
        tokenizers: its own, with labels.
        data: its task, and how texts are read.
        decoding: for the size of a batch.
    """

    def __init__(self, model: Module, tokenizers: Tokenizers, data: DataConfig, decoding: DecodingConfig) -> None:
        if tokenizers.labels is None:
            raise ValueError("a labeller needs tokenizers with labels")
        self.model, self.tokenizer, self.labels = model, tokenizers.source, tokenizers.labels
        self.data, self.decoding = data, decoding
        self.run: Run | None = None

    @classmethod
    def of(cls, run: Run) -> Labeller:
        """Return the labeller of a loaded run.

        Raises:
            UserError: a run for another task.
        """
        require_task(run, "tagging", "classification")
        labeller = cls(run.model, run.tokenizers, run.config.data, run.config.decoding)
        labeller.run = run
        return labeller

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str = "cpu", task: str | None = None) -> Labeller:
        """Load a run folder; `task` names the one it must be for, tagging or classification, None: either.

        Raises:
            UserError: a run for another task; see also `run_folder.load_run`.
        """
        run = load_run(Path(folder), device)
        require_task(run, *([task] if task else ["tagging", "classification"]))
        return cls.of(run)

    def tag(
        self, lines: Sequence[str], *, batch_rows: int | None = None, on_done: OnDone | None = None
    ) -> list[list[str]]:
        """Tag lines of tokens; list i holds a tag for each token of line i, none for a blank line.

        Args:
            lines: tokens, separated by white space.
            batch_rows: the most lines at once; None: as many as `decoding.batch_tokens` allows.
            on_done: called with the number of lines finished since the call before.

        Raises:
            UserError: the model classifies whole texts.
        """
        self._require("tagging")
        tags: list[list[str]] = [[] for _ in lines]
        full = [row for row, line in enumerate(lines) if split_tokens(line)]
        sources = self.tokenizer.encode_batch([lines[row] for row in full])
        _report(on_done, len(lines) - len(full))
        for rows, logits in self._run(sources, batch_rows):
            for row, label_ids in zip(rows, logits.argmax(dim=-1).tolist(), strict=True):
                tags[full[row]] = [self.labels.decode(i) for i in label_ids[: len(sources[row])]]
            _report(on_done, len(rows))
        return tags

    def classify(
        self, texts: Sequence[str], *, batch_rows: int | None = None, on_done: OnDone | None = None
    ) -> list[Classified]:
        """Classify texts; result i belongs to text i.

        Args:
            texts: raw text.
            batch_rows: the most texts at once; None: as many as `decoding.batch_tokens` allows.
            on_done: called with the number of texts finished since the call before.

        Raises:
            UserError: the model tags tokens.
        """
        self._require("classification")
        found = [NOTHING] * len(texts)
        full = [row for row, text in enumerate(texts) if text.strip()]
        read = normalize_whitespace if self.data.normalize_whitespace else str
        sources = [[*ids, EOS] for ids in self.tokenizer.encode_batch([read(texts[row]) for row in full])]
        _report(on_done, len(texts) - len(full))
        for rows, logits in self._run(sources, batch_rows):
            probabilities, label_ids = logits.double().softmax(dim=-1).max(dim=-1)
            for row, probability, i in zip(rows, probabilities.tolist(), label_ids.tolist(), strict=True):
                found[full[row]] = Classified(self.labels.decode(i), probability)
            _report(on_done, len(rows))
        return found

    def explain(self, text: str, *, timing: bool = True, seed: int = 0, limit_mb: float = LIMIT_MB) -> Trace:
        """Label one text and record everything on the way: a trace, which can be looked at, saved and exported.

        Args:
            text: tokens between white space for a tagger, raw text for a classifier.
            timing: with times, which differ from one recording to the next.
            seed: noted in the trace; nothing is drawn.
            limit_mb: the most that is recorded, in 10^6 bytes.

        Raises:
            UserError: a blank text, or one longer than the model can read or than `limit_mb` holds.
        """
        is_class = self.data.task == "classification"
        read = normalize_whitespace(text) if is_class and self.data.normalize_whitespace else text
        ids = [*self.tokenizer.encode(read), *([EOS] if is_class else [])]
        subject = Labelling(self.model, self.tokenizer, self.labels, origin_of(self.run))
        return record_labels(subject, text, read, ids, Options(timing, seed, limit_mb))

    @torch.no_grad()
    def _run(self, sources: Sequence[list[int]], batch_rows: int | None) -> Iterator[tuple[list[int], Tensor]]:
        """Yield the rows of one batch after another, and their logits; sources of like length together."""
        device = next(self.model.parameters()).device
        for rows in plan_in_order([len(source) for source in sources], self.decoding.batch_tokens, batch_rows):
            ids, is_real = (t.to(device) for t in source_batch(sources, rows))
            logits = self.model(ids, is_real)
            if bool(logits.isnan().any()):
                raise FloatingPointError("the model gave logits that are not finite")
            yield rows, logits

    def _require(self, task: str) -> None:
        if self.data.task != task:
            fix = f"use `{TASKS[self.data.task].command}`"
            raise UserError(f"this model is for {self.data.task}, not {task}", where=TASKS[task].command, fix=fix)


def _report(on_done: OnDone | None, count: int) -> None:
    if on_done is not None:
        on_done(count)
