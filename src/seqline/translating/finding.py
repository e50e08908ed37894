"""From sources to ranked outputs: what is searched for or drawn, and the order that a second look gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from seqline.data.tokenizer import EOS
from seqline.decoding import Hypothesis, Sampling, Stuck, coverage, is_loop, mbr, rerank
from seqline.errors import UserError
from seqline.evaluation.alignment import Aligner, Forced
from seqline.evaluation.utility import chrf_matrix
from seqline.translating.members import Members
from seqline.translating.outputs import Output, Scored, Translation
from seqline.translating.requests import Request
from seqline.translating.source_side import Source
from seqline.translating.wishes import unmet

Sources = tuple[Source, ...]  # one text as each member reads it
MOST_DRAWN = 1024  # outputs of one text; each is compared with each
MOST_WEIGHT = 1000.0
NO_OUTPUT = Hypothesis((), 0.0, 0.0, False)


class Scorer(Protocol):
    """What can say how probable given pairs are, such as a translator."""

    def score(self, pairs: Sequence[tuple[str, str]], *, may_cut: bool = False) -> list[Scored]:
        """Score pairs of source and target; `may_cut`: of a source that is too long the beginning is read."""
        ...

    def can_write(self, target: str) -> bool:
        """Tell whether the model has positions for a target."""
        ...


@dataclass(frozen=True)
class More:
    """More of how texts are translated.

    Args:
        sampling: draw outputs at random where others are searched for.
        mbr: draw so many outputs a text and return those nearest to all of them (minimum Bayes risk, utility chrF2); 0 = off.
        reranker: a second model; what a beam found is ranked by both scores, the other's counted `rerank_weight` times.
        rerank_weight: see `reranker`.
        keep_markup: tags, placeholders and line ends of the text stand in the output too.
    """

    sampling: Sampling | None = None
    mbr: int = 0
    reranker: Scorer | None = None
    rerank_weight: float = 1.0
    keep_markup: bool = False

    def __post_init__(self) -> None:
        if self.mbr and not 2 <= self.mbr <= MOST_DRAWN:
            what = f"expected from 2 to {MOST_DRAWN} outputs to choose from, got {self.mbr}"
            raise UserError(what, where="mbr", fix="for example 32")
        if not 0 < self.rerank_weight <= MOST_WEIGHT:
            what = f"expected a number above 0, at most {MOST_WEIGHT:g}, got {self.rerank_weight}"
            raise UserError(what, where="rerank_weight", fix="for example 1")
        if self.reranker is not None and self.is_drawn:
            what = "ranks what a beam found, and here outputs are drawn"
            raise UserError(what, where="reranker", fix="leave out one of them")

    @property
    def is_drawn(self) -> bool:
        """Whether outputs are drawn at random."""
        return self.sampling is not None or self.mbr > 0


@dataclass(frozen=True)
class How:
    """What holds for every batch of one call. aligner: of the outputs that are returned. coverage: reads what a beam covered."""

    beam_size: int
    n_best: int
    more: More
    aligner: Aligner | None
    coverage: Aligner | None
    coverage_strength: float

    @property
    def width(self) -> int:
        """How many outputs of one source are alive at once."""
        return self.more.mbr or (self.n_best if self.more.is_drawn else self.beam_size)

    def check(self) -> None:
        """Refuse numbers that do not fit together.

        Raises:
            UserError: none, or more outputs than there are candidates; a second model with nothing to rank.
        """
        for name, value in (("beam_size", self.beam_size), ("n_best", self.n_best)):
            if not 1 <= value <= MOST_DRAWN:
                raise UserError(f"expected from 1 to {MOST_DRAWN}, got {value}", where=name, fix="leave it out")
        if self.more.reranker is not None and self.beam_size == 1:
            what = "ranks what a beam found, and a beam of 1 finds one output"
            raise UserError(what, where="reranker", fix="set a wider beam")
        if self.n_best > self.width:
            what = f"{self.n_best} outputs need as many candidates, there are {self.width}"
            fix = "draw more (mbr)" if self.more.mbr else f"set a beam of at least {self.n_best}"
            raise UserError(what, where="n_best", fix=fix)


class Finder:
    """Finds the outputs of one batch after another.

    Args:
        members: the models.
        how: what holds for every batch.
    """

    def __init__(self, members: Members, how: How) -> None:
        self.members, self.how = members, how

    def find(self, requests: Sequence[Request], sources: Sequence[Sources], places: Sequence[int]) -> list[Translation]:
        """Translate one batch.

        Args:
            requests: B.
            sources: as the members read them.
            places: where each stands in the input; names the chance of what is drawn.

        Raises:
            UserError: a wish that the tokenizer cannot spell.
        """
        try:
            found = self._ranked(requests, sources, places)
        except Stuck:  # some text has no output; the others keep theirs
            found = [self._alone(*each) for each in zip(requests, sources, places, strict=True)]
        found = [hypotheses[: self.how.n_best] for hypotheses in found]
        translations = [self.translation(*each) for each in zip(requests, sources, found, strict=True)]
        return self._aligned(translations, sources, found)

    def _alone(self, request: Request, source: Sources, place: int) -> list[Hypothesis]:
        """Return the outputs of one text, none where rules, wishes and lengths leave none."""
        try:
            return self._ranked([request], [source], [place])[0]
        except Stuck:
            return []

    def _ranked(
        self, requests: Sequence[Request], sources: Sequence[Sources], places: Sequence[int]
    ) -> list[list[Hypothesis]]:
        how, more = self.how, self.how.more
        if more.is_drawn:
            drawn = self.members.draw(sources, requests, more.sampling or Sampling(), how.width, places)
            return [self._least_risk(each) for each in drawn] if more.mbr else drawn
        is_ranked_again = how.coverage is not None or more.reranker is not None
        found = self.members.search(sources, requests, how.beam_size, how.beam_size if is_ranked_again else how.n_best)
        if how.coverage is not None:
            found = self._covered(how.coverage, sources, found)
        return found if more.reranker is None else self._reranked(more.reranker, requests, found)

    def _least_risk(self, drawn: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Order drawn outputs by their expected chrF2, which becomes their score; the same text counts as often as drawn."""
        texts = [self.members.target.decode(h.ids) for h in drawn]
        return [drawn[choice.first]._replace(score=choice.expected_utility) for choice in mbr(texts, chrf_matrix)]

    def _covered(
        self, aligner: Aligner, sources: Sequence[Sources], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Rank by score and coverage."""
        forced = [
            Forced(source[0].text, "", source[0].ids, [i for i in h.ids if i != EOS])
            for source, hypotheses in zip(sources, found, strict=True)
            for h in hypotheses
        ]
        weights, strength = iter(aligner.weights(forced)), self.how.coverage_strength
        # The last row of weights is that of the end mark, which an output that was cut does not have.
        return [rerank(each, [coverage(next(weights)[: len(h.ids)], strength) for h in each]) for each in found]

    def _reranked(
        self, other: Scorer, requests: Sequence[Request], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Rank by this model's score and another's; a text with an output that is too long for the other stays as it is."""
        weight, texts = (
            self.how.more.rerank_weight,
            [[self.members.target.decode(h.ids) for h in each] for each in found],
        )
        rows = [row for row, each in enumerate(texts) if all(map(other.can_write, each))]
        scored = iter(other.score([(requests[row].text, text) for row in rows for text in texts[row]], may_cut=True))
        terms = {row: [weight * next(scored).score for _ in texts[row]] for row in rows}
        return [rerank(each, terms.get(row, [0.0] * len(each))) for row, each in enumerate(found)]

    def translation(self, request: Request, source: Sources, hypotheses: Sequence[Hypothesis]) -> Translation:
        """Return what was found for one request, as text."""
        limit = self.members.max_length(source)
        none = Output("", 0.0, 0.0, 0, limit, is_finished=False, unmet=unmet(request, ""))
        outputs = tuple(self._output(h, limit, request) for h in hypotheses) or (none,)
        return Translation(request.text, outputs, source[0].num_given, len(source[0].ids))

    def _output(self, hypothesis: Hypothesis, max_tokens: int, request: Request) -> Output:
        text = self.members.target.decode(hypothesis.ids)
        return Output(
            text,
            hypothesis.score,
            hypothesis.log_probability,
            len(hypothesis.ids),
            max_tokens,
            hypothesis.is_finished,
            is_loop([i for i in hypothesis.ids if i != EOS]),
            unmet=unmet(request, text),
        )

    def _aligned(
        self,
        translations: list[Translation],
        sources: Sequence[Sources],
        found: Sequence[Sequence[Hypothesis]],
    ) -> list[Translation]:
        """Return the translations with the alignment of each output, where it is asked for."""
        if self.how.aligner is None:
            return translations
        forced = [
            Forced(source[0].text, output.text, source[0].ids, [i for i in h.ids if i != EOS])
            for t, source, hypotheses in zip(translations, sources, found, strict=True)
            for output, h in zip(t.outputs, hypotheses or [NO_OUTPUT], strict=True)
        ]
        links = iter(self.how.aligner.align(forced))
        return [replace(t, outputs=tuple(replace(o, alignment=next(links)) for o in t.outputs)) for t in translations]
