"""Tagging and classification as something to train: labelled texts, their loss, and validation by accuracy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import Module

from seqline.config import Config
from seqline.corpus import Corpus, Prepared
from seqline.data.batch import Classed, LabelledBatch, Tagged, collate_classed, collate_tagged
from seqline.data.labelled import check_classes, check_tagging, split_tokens
from seqline.data.labels import Labels
from seqline.data.loader import longest_row, plan_epoch, plan_in_order, too_long
from seqline.data.text import PairSet, Tally, hold_out, read_data, require_pairs
from seqline.data.tokenizer import EOS, train_tokenizer
from seqline.errors import UserError
from seqline.labeller import Labeller
from seqline.prepare import fingerprint_of, spaced
from seqline.run_folder import Tokenizers
from seqline.training.loss import LossSum, evaluation_loss, smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.task import TrainingTask

VALIDATION_TOKENS = 4096


class LabelledCorpus(Corpus):
    """Labelled texts: pairs of tokens and their tags, or of a text and its class."""

    def __init__(self, config: Config) -> None:
        data = config.data
        sets = read_data(data.train, data.valid, data.keys)
        require_pairs(sets.train)
        check = check_tagging if data.task == "tagging" else check_classes
        self.tally = Tally(len(sets.train.pairs))
        train, notes = check(spaced(sets.train, data), self.tally), ()
        require_pairs(train, sets.train.name)
        if sets.valid is None:
            train, valid = hold_out(train, config.training.seed)
            notes = (
                f"held out {len(valid.pairs):,} of {self.tally.kept:,} examples for validation (--valid gives your own)",
            )
        else:
            blank = Tally(len(sets.valid.pairs))
            valid = check(spaced(sets.valid, data), blank)
            notes = (f"validation: {blank}",) if blank.reasons else ()
        require_pairs(valid, valid.name)
        self.train, self.valid, self.notes = train, valid, notes
        self.fingerprint, self.num_examples = fingerprint_of(train, valid), len(train.pairs)

    def train_tokenizers(self, config: Config) -> Tokenizers:
        """Train the tokenizer of the texts, and list the labels."""
        settings, sources = config.tokenizer, [pair.source for pair in self.train.pairs]
        tokenizer = train_tokenizer(sources, settings.kind, settings.vocab_size, byte_fallback=settings.byte_fallback)
        labels = Labels.from_counts(
            (label for pair in self.train.pairs for label in labels_of(pair.target, config)), where=self.train.name
        )
        return Tokenizers(tokenizer, tokenizer, labels)

    def prepare(self, tokenizers: Tokenizers, config: Config) -> Prepared:
        """Encode texts and labels; what is too long is counted."""
        return PreparedLabels(self, tokenizers, config)


class PreparedLabels(Prepared):
    """Labelled texts as ids, with what was left out."""

    def __init__(self, corpus: LabelledCorpus, tokenizers: Tokenizers, config: Config) -> None:
        self.tokenizers, self.valid, self.notes = tokenizers, corpus.valid, ()
        self.left_out = copy.deepcopy(corpus.tally)
        self.pairs, self.examples = encode_labelled(corpus.train, tokenizers, config, self.left_out)
        unused = Tally(len(corpus.valid.pairs))
        self.valid, self.valid_examples = encode_labelled(corpus.valid, tokenizers, config, unused)
        self.notes = (f"validation: {unused}",) if unused.reasons else ()
        self.lengths = [len(example.source) for example in self.examples]
        self.shortest, self.longest = min(self.lengths), max(self.lengths)

    def num_batches(self, batch_tokens: int) -> int:
        """Count the batches of the first epoch."""
        return len(plan_epoch(self.lengths, self.lengths, batch_tokens, 0, 0))

    def widest(self, batch_tokens: int) -> list[int]:
        """Return the longest one."""
        return [longest_row(self.lengths, self.lengths, self.lengths, batch_tokens)]

    def tally(self, batch_tokens: int) -> str:
        """Say how many examples are kept and why others are not."""
        tally = copy.deepcopy(self.left_out)
        for row in too_long(self.lengths, self.lengths, batch_tokens):
            tally.add(f"over {batch_tokens} batch tokens", self.pairs.pairs[row].line)
        return str(tally)

    def training_task(self, config: Config) -> TrainingTask:
        """Return batches of labelled texts, the loss of every label, and validation by accuracy."""
        training, device, pairs = config.training, torch.device(config.training.device), self.pairs
        collate = collate_of(config)

        def compute_loss(model: Module, batch: LabelledBatch, smoothing: float = training.label_smoothing) -> LossSum:
            return label_loss(model, batch, smoothing)

        return TrainingTask(
            plan_epoch=lambda epoch: plan_epoch(
                self.lengths, self.lengths, training.batch_tokens or 1, training.seed, epoch
            ),
            make_batch=lambda rows: collate(self.examples, rows).to(device),
            compute_loss=compute_loss,
            validate=self._validator(config),
            describe_rows=lambda rows: (
                f"lines {', '.join(str(pairs.pairs[r].line) for r in rows[:20])} of {pairs.name}"
            ),
        )

    def _validator(self, config: Config) -> Callable[[Module], Validation]:
        """Return what scores a model by loss and accuracy on the first validation texts."""
        count, device = config.training.validate_sentences, torch.device(config.training.device)
        pairs, examples = self.valid.pairs[:count], self.valid_examples[:count]
        collate, sources = collate_of(config), [pair.source for pair in pairs]
        reference = [label for pair in pairs for label in labels_of(pair.target, config)]
        plans = plan_in_order([len(example.source) for example in examples], VALIDATION_TOKENS)
        if not any(bool(collate(examples, rows).has_label.any()) for rows in plans):
            what = f"no label of the first {len(pairs):,} validation examples is among those of the training set"
            raise UserError(what, where=self.valid.name, fix="check that both sets use the same labels")

        def validate(model: Module) -> Validation:
            batches = (collate(examples, rows).to(device) for rows in plans)
            loss = evaluation_loss(model, batches, lambda m, batch: label_loss(m, batch, 0.0))
            labeller = Labeller(model, self.tokenizers, config.data, config.decoding)
            if config.data.task == "tagging":
                found = [tag for tags in labeller.tag(sources) for tag in tags]
            else:
                found = [classified.label for classified in labeller.classify(sources)]
            accuracy = 100 * sum(a == b for a, b in zip(found, reference, strict=True)) / len(reference)
            return Validation(loss, {"accuracy": accuracy}, round(accuracy, 2) - min(loss, 9.0) * 1e-3)

        return validate


def read(config: Config) -> LabelledCorpus:
    """Read labelled texts; without a validation set hold one out.

    Raises:
        UserError: a file that does not read, or a line whose labels do not fit.
    """
    return LabelledCorpus(config)


def labels_of(target: str, config: Config) -> list[str]:
    """Return the labels that a pair's target holds: tags, or one class."""
    return split_tokens(target) if config.data.task == "tagging" else [target.strip()]


def collate_of(config: Config) -> Callable[..., LabelledBatch]:
    """Return what puts examples of the task into a batch."""
    return collate_tagged if config.data.task == "tagging" else collate_classed


def label_loss(model: Module, batch: LabelledBatch, smoothing: float) -> LossSum:
    """Sum the cross-entropy of the labels that the model knows."""
    logits = model(batch.source, batch.source_is_real)
    width = logits.shape[-1]
    return smoothed_cross_entropy(
        logits.reshape(1, -1, width), batch.labels.reshape(1, -1), batch.has_label.reshape(1, -1), smoothing
    )


def encode_labelled(pairs: PairSet, tokenizers: Tokenizers, config: Config, tally: Tally) -> tuple[PairSet, list[Any]]:
    """Turn labelled texts into ids; leave out, and count, those of more than `data.max_tokens` pieces.

    Raises:
        UserError: none is left.
    """
    assert tokenizers.labels is not None
    kept, examples = [], []
    is_tagging = config.data.task == "tagging"
    for pair, source in zip(pairs.pairs, tokenizers.source.encode_batch([p.source for p in pairs.pairs]), strict=True):
        if len(source) > config.data.max_tokens:
            tally.add(f"over {config.data.max_tokens} tokens", pair.line)
            continue
        labels = [tokenizers.labels.encode(label) for label in labels_of(pair.target, config)]
        kept.append(pair)
        examples.append(Tagged(source, labels) if is_tagging else Classed([*source, EOS], labels[0]))
    if not kept:
        raise UserError(f"no usable examples: {tally}", where=pairs.name, fix="raise data.max_tokens")
    return PairSet(pairs.name, kept), examples
