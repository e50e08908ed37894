"""The experiments of the lab in the order of history; each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module

from seqline.errors import UserError, did_you_mean
from seqline.lab.experiment import Experiment
from seqline.lab.laboratory import MakeCorpus

ALL = "all"
QUESTIONS: dict[str, str] = {
    "vanishing-gradient": "How much of an error reaches a state k steps back?",
    "exploding-gradient": "What does a gradient without bounds do to a training, and does clipping its norm help?",
    "long-dependency": "How far back may a word stand that decides the next one?",
    "bottleneck": "Does translation get worse with length where the source is one vector, and not with attention?",
    "static-context": "Does the source fade while the decoder writes, and does feeding it at every step help?",
    "recency": "Does the summary of a source favour the words that were read last?",
    "order": "Do adjectives and clauses that stand elsewhere in the other language come out right?",
    "both-sides": "What can a label know that depends on words to its left, to its right, or on both?",
    "dynamic-weights": (
        "Does it matter that attention computes its weights from the words, where a convolution has them fixed?"
    ),
    "weight-sharing": "What does a network lose that has weights of its own for every step?",
    "alignment": "Are the weights of attention the true links between words, and does a prediction need them?",
    "coreference": "Is the noun that a pronoun stands for found, looked at, and does the answer need that look?",
    "parallelism": (
        "what does training cost by length: a recurrent network, step after step, or attention to all at once?"
    ),
    "cost": "how do time and memory of a generated token grow with the context: RNN, KV cache, TTT?",
    "positions": "what does attention know of order, and does it read on where no training text went?",
    "heads": "how many heads, how different are they, and how many does a trained model need?",
    "context-in-weights": "Does a model go on learning while it reads a long document?",
}
"""What each asks, as its own file says it; kept here too, so that a list of them needs no torch."""


def module_name(name: str) -> str:
    """Return where an experiment is."""
    return f"seqline.lab.{name.replace('-', '_')}"


class Experiments(Mapping[str, Experiment]):
    """The experiments by name; one is imported when it is looked up."""

    def __getitem__(self, name: str) -> Experiment:
        if name not in QUESTIONS:
            raise KeyError(name)
        return import_module(module_name(name)).EXPERIMENT

    def __iter__(self) -> Iterator[str]:
        return iter(QUESTIONS)

    def __len__(self) -> int:
        return len(QUESTIONS)

    def __contains__(self, name: object) -> bool:
        return name in QUESTIONS


EXPERIMENTS = Experiments()


def chosen(names: str | Iterable[str], known: Iterable[str] = tuple(QUESTIONS)) -> tuple[str, ...]:
    """Return the experiments that are named, in the order of history; `all` names every one.

    Raises:
        UserError: a name that is none.
    """
    known = list(known)
    given = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    given = [name for name in given if name]
    if not given:
        raise UserError("names no experiment", where="NAME", fix=f"write {ALL}, or see seqline lab --list")
    for name in given:
        if name != ALL and name not in known:
            raise UserError(f"no experiment {name!r}", where="NAME", fix=did_you_mean(name, [*known, ALL]))
    return tuple(name for name in known if ALL in given or name in given)


@cache
def corpora() -> Mapping[str, MakeCorpus]:
    """Return the makers of all corpora: those of the lab, and those that experiments bring along as `CORPORA`."""
    from seqline.lab.corpora import CORPORA

    makers = dict(CORPORA)
    for name in QUESTIONS:
        makers |= getattr(import_module(module_name(name)), "CORPORA", {})
    return makers
