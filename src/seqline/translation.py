"""Translation as something to train: its batches, its loss, and how a model is validated along the way."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import Module

from seqline.config import Config
from seqline.data.batch import Batch, Example, collate
from seqline.data.loader import plan_epoch, plan_in_order
from seqline.data.text import PairSet, Tally
from seqline.evaluation.text_metrics import bleu, chrf
from seqline.prepare import Corpus, encode_pairs, lengths_of
from seqline.run_folder import Tokenizers
from seqline.training.loss import LossSum, evaluation_loss, smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.task import TrainingTask
from seqline.translator import Translator

NOISE_BLEU = 5.0
VALIDATION_LENGTH_EXTRA = 10  # pieces over the longest reference, where a validation search stops


def translation_task(
    config: Config, tokenizers: Tokenizers, pairs: PairSet, examples: list[Example], corpus: Corpus
) -> TrainingTask:
    """Return what the trainer needs, as functions.

    Args:
        config: batch size, seed, smoothing and device filled in.
        tokenizers: of both sides.
        pairs: what is trained on, for the line numbers in errors.
        examples: the same pairs as ids.
        corpus: for its validation set.
    """
    source_lengths, target_lengths = lengths_of(examples)
    training, device = config.training, torch.device(config.training.device)

    def compute_loss(model: Module, batch: Batch, smoothing: float = training.label_smoothing) -> LossSum:
        logits = model(batch.source, batch.source_is_real, batch.target_in)
        return smoothed_cross_entropy(logits, batch.target_out, batch.target_is_real, smoothing)

    return TrainingTask(
        plan_epoch=lambda epoch: plan_epoch(
            source_lengths, target_lengths, training.batch_tokens or 1, training.seed, epoch
        ),
        make_batch=lambda rows: collate(examples, rows).to(device),
        compute_loss=compute_loss,
        validate=_validator(config, tokenizers, corpus.valid, compute_loss),
        describe_rows=lambda rows: f"lines {', '.join(str(pairs.pairs[r].line) for r in rows[:20])} of {pairs.name}",
    )


def _validator(
    config: Config, tokenizers: Tokenizers, valid: PairSet, compute_loss: Callable[..., LossSum]
) -> Callable[[Module], Validation]:
    """Return what scores a model: teacher-forced loss, and greedy BLEU and chrF2, on the first validation sentences."""
    some = PairSet(valid.name, valid.pairs[: config.training.validate_sentences])
    some, examples = encode_pairs(some, tokenizers, config.data.max_tokens, Tally(len(some.pairs)))
    device = torch.device(config.training.device)
    longest = max(len(example.target) for example in examples) + 1 + VALIDATION_LENGTH_EXTRA
    decoding = config.decoding.model_copy(update={"max_length_factor": 0.0, "max_length_extra": longest})
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
