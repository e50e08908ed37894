"""Translation as something to train: its batches, its loss, and how a model is validated along the way."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch.nn import Module

from seqline import corpus
from seqline.config import Config, DataConfig
from seqline.data.batch import Batch, collate
from seqline.data.loader import longest_row, plan_epoch, plan_in_order, too_long
from seqline.data.text import PairSet, Tally
from seqline.evaluation.text_metrics import bleu, chrf
from seqline.prepare import Pairs, encode_pairs, lengths_of, read_corpus, train_tokenizers
from seqline.run_folder import Tokenizers
from seqline.training.loss import LossSum, evaluation_loss, smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.task import TrainingTask
from seqline.translator import Translator

NOISE_BLEU = 5.0
VALIDATION_LENGTH_EXTRA = 10  # pieces over the longest reference, where a validation search stops


class TranslationCorpus(corpus.Corpus):
    """Pairs of text, as `prepare.read_corpus` found them."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs, self.fingerprint, self.notes = pairs, pairs.fingerprint, pairs.notes
        self.num_examples = len(pairs.train.pairs)

    def train_tokenizers(self, config: Config) -> Tokenizers:
        """Train one tokenizer, or one a side."""
        return train_tokenizers(self.pairs.train, config.tokenizer)

    def prepare(self, tokenizers: Tokenizers, config: Config) -> PreparedPairs:
        """Encode the pairs; what is too long is counted."""
        return PreparedPairs(self.pairs, tokenizers, config.data)


class PreparedPairs(corpus.Prepared):
    """The training pairs as ids, with what was left out."""

    def __init__(self, pairs: Pairs, tokenizers: Tokenizers, data: DataConfig) -> None:
        self.valid, self.tokenizers = pairs.valid, tokenizers
        self.left_out = copy.deepcopy(pairs.tally)
        self.pairs, self.examples = encode_pairs(pairs.train, tokenizers, data, self.left_out)
        unused = Tally(len(pairs.valid.pairs))
        encode_pairs(pairs.valid, tokenizers, data, unused)  # refuse before a run is made
        self.notes = (f"validation: {unused}",) if unused.reasons else ()
        self.lengths = lengths_of(self.examples)
        widest = [max(both) for both in zip(*self.lengths, strict=True)]
        self.shortest, self.longest = min(widest), max(widest)

    def num_batches(self, batch_tokens: int) -> int:
        """Count the batches of the first epoch."""
        return len(plan_epoch(*self.lengths, batch_tokens, 0, 0))

    def widest(self, batch_tokens: int) -> list[int]:
        """Return the pair with the longest source, and that with the longest target."""
        return [longest_row(lengths, *self.lengths, batch_tokens) for lengths in self.lengths]

    def tally(self, batch_tokens: int) -> str:
        """Say how many pairs are kept and why others are not."""
        tally = copy.deepcopy(self.left_out)
        for row in too_long(*self.lengths, batch_tokens):
            tally.add(f"over {batch_tokens} batch tokens", self.pairs.pairs[row].line)
        return str(tally)

    def training_task(self, config: Config) -> TrainingTask:
        """Return batches of pairs, teacher-forced loss, and validation by loss, BLEU and chrF2."""
        training, device, examples = config.training, torch.device(config.training.device), self.examples

        def compute_loss(model: Module, batch: Batch, smoothing: float = training.label_smoothing) -> LossSum:
            logits = model(batch.source, batch.source_is_real, batch.target_in)
            return smoothed_cross_entropy(logits, batch.target_out, batch.target_is_real, smoothing)

        pairs = self.pairs
        return TrainingTask(
            plan_epoch=lambda epoch: plan_epoch(*self.lengths, training.batch_tokens or 1, training.seed, epoch),
            make_batch=lambda rows: collate(examples, rows).to(device),
            compute_loss=compute_loss,
            validate=_validator(config, self.tokenizers, self.valid, compute_loss),
            describe_rows=lambda rows: (
                f"lines {', '.join(str(pairs.pairs[r].line) for r in rows[:20])} of {pairs.name}"
            ),
        )


def read(config: Config) -> TranslationCorpus:
    """Read pairs; without a validation set hold one out.

    Raises:
        UserError: a file that does not read, or nothing usable in it.
    """
    return TranslationCorpus(read_corpus(config.data, config.training.seed))


def _validator(
    config: Config, tokenizers: Tokenizers, valid: PairSet, compute_loss: Callable[..., LossSum]
) -> Callable[[Module], Validation]:
    """Return what scores a model: teacher-forced loss, and greedy BLEU and chrF2, on the first validation sentences."""
    some = PairSet(valid.name, valid.pairs[: config.training.validate_sentences])
    some, examples = encode_pairs(some, tokenizers, config.data, Tally(len(some.pairs)))
    device = torch.device(config.training.device)
    longest = max(len(example.target) for example in examples) + 1 + VALIDATION_LENGTH_EXTRA
    plain = {
        "num_groups": 1,
        "diversity": 0.0,
        "coverage_penalty": 0.0,
        "max_length_factor": 0.0,
        "max_length_extra": longest,
    }
    decoding = config.decoding.model_copy(update=plain)
    plans = plan_in_order([max(lengths) for lengths in zip(*lengths_of(examples), strict=True)], 4096)
    sources, references = [p.source for p in some.pairs], [p.target for p in some.pairs]

    def validate(model: Module) -> Validation:
        batches = (collate(examples, rows).to(device) for rows in plans)
        loss = evaluation_loss(model, batches, lambda m, batch: compute_loss(m, batch, 0.0))
        translator = Translator(model, tokenizers, config.data, decoding)  # pyright: ignore[reportArgumentType]
        outputs = [t.text for t in translator.translate(sources, beam_size=1)]
        scores = {
            "BLEU": bleu(outputs, references, tokenize="auto").value,
            "chrF2": chrf(outputs, references).value,
        }
        return Validation(loss, scores, _worth(scores["BLEU"], loss))

    return validate


def _worth(bleu_score: float, loss: float) -> float:
    """Return what ranks two validations: BLEU; under 5, where BLEU is noise, the loss; and the loss between equal BLEUs."""
    if bleu_score < NOISE_BLEU:
        return NOISE_BLEU / (1.0 + loss)
    return round(bleu_score, 2) - min(loss, 9.0) * 1e-3
