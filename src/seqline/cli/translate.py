"""`seqline translate`: lines in, as many lines out, in the same order."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from seqline.cli import translate_options as of
from seqline.cli.options import (
    AlignHead,
    AlignLayer,
    Beam,
    Device,
    Ensemble,
    SearchSettings,
    Threads,
    check_utf8,
    load_translator,
    naming_options,
    prepare_torch,
    refuse_reading,
    say,
    write_lines,
    write_texts,
)
from seqline.errors import UserError
from seqline.evaluation.alignment_metrics import format_links

if TYPE_CHECKING:
    from seqline.decoding import Sampling
    from seqline.translating.outputs import Output, Translation
    from seqline.translating.requests import Request
    from seqline.translator import Translator

Phrases = list[str] | None
NAMED = (
    *("beam", "n_best", "mbr", "prefix", "must", "must_not", "alignments", "rerank", "rerank_weight"),
    *("temperature", "top_k", "top_p", "typical_p"),
)
"""Arguments whose option has the same name."""


class Asked(NamedTuple):
    """How requests are translated and printed. options: of `Translator.translate`."""

    options: dict[str, Any]
    batch_rows: int | None
    is_streamed: bool
    is_json: bool
    has_scores: bool


def translate(
    run: of.Run,
    file: of.File = "-",
    beam: Beam = None,
    n_best: of.NBest = 1,
    scores: of.Scores = False,
    output_format: of.OutputFormat = "text",
    input_format: of.InputFormat = "text",
    prefix: of.Prefix = "",
    must: of.Must = None,
    must_not: of.MustNot = None,
    sample: of.Sample = False,
    temperature: of.Temperature = None,
    top_k: of.TopK = None,
    top_p: of.TopP = None,
    typical_p: of.TypicalP = None,
    seed: of.Seed = None,
    mbr: of.Mbr = 0,
    ensemble: Ensemble = None,
    rerank: of.Rerank = None,
    rerank_weight: of.RerankWeight = None,
    settings: SearchSettings = None,
    markup: of.Markup = False,
    stream: of.Stream = False,
    alignments: of.Alignments = False,
    align_layer: AlignLayer = None,
    align_head: AlignHead = None,
    batch_rows: of.BatchRows = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: of.AsJson = False,
) -> None:
    """Translate a file or standard input; an empty line gives an empty line."""
    _refuse_words({"--format": output_format, "--input": input_format})
    refuse_reading(align_layer, align_head, is_used=alignments)
    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "typical_p": typical_p, "seed": seed}
    _refuse_drawing(drawing, is_drawn=sample or mbr > 0)
    if sample or mbr or stream:
        _refuse_beam(beam if beam != 1 or not stream else None, settings)
    _check_phrases({"--prefix": [prefix], "--must": must or [], "--must-not": must_not or []})
    if rerank is None and rerank_weight is not None:
        raise UserError("has no meaning without --rerank", where="--rerank-weight", fix="name a run, or leave it out")
    if stream:
        whole = {
            "--n-best": n_best > 1, "--mbr": mbr, "--markup": markup,
            "--rerank": rerank, "--alignments": alignments, "--scores": scores, "--must": must,
            "--json": as_json or output_format == "jsonl", "--batch": batch_rows,
        }  # fmt: skip
        _refuse_whole(whole)
    prepare_torch(device, threads)

    from seqline.decoding import Sampling
    from seqline.evaluation.alignment import Reading
    from seqline.translator import More

    translator = load_translator(run, ensemble, settings, device)
    other = None if rerank is None else load_translator(rerank, None, None, device)
    is_json = as_json or output_format == "jsonl"
    with naming_options(*NAMED):
        given = {name: value for name, value in drawing.items() if value is not None}
        sampling = Sampling(**given) if sample or mbr else None
        weight = 1.0 if rerank_weight is None else rerank_weight
        more = More(sampling, mbr, other, weight, markup)
        reading = Reading(align_layer, align_head) if alignments else False
        options: dict[str, Any] = {"beam_size": beam, "n_best": n_best, "alignments": reading, "more": more}
        translator.translate([], **options)  # refuse before the text is read
        requests = _read_requests(file, input_format, (prefix, tuple(must or ()), tuple(must_not or ())))
        if not is_json:
            _refuse_line_ends(requests, file)
        translations = _written(translator, requests, Asked(options, batch_rows, stream, is_json, scores))
    for line in _remarks(translations):
        say(line)


def _check_phrases(phrases: dict[str, list[str]]) -> None:
    for name, texts in phrases.items():
        for text in texts:
            check_utf8(text, name)


def _written(translator: Translator, requests: list[Request], asked: Asked) -> Sequence[Translation]:
    """Translate and print, all of it at the end or piece by piece."""
    from seqline.cli.progress import counting

    if asked.is_streamed:
        return _stream(translator, requests, asked.options["more"].sampling)
    with counting("translating", len(requests)) as on_done:
        found = translator.translate(requests, batch_rows=asked.batch_rows, on_done=on_done, **asked.options)
    write_lines([_json_line(t) if asked.is_json else _text_line(t, asked.has_scores) for t in found])
    return found


def _read_requests(file: str, input_format: str, wishes: tuple[str, tuple[str, ...], tuple[str, ...]]) -> list[Request]:
    """Read what is to be translated; the wishes of the command line hold for every line, beside the line's own."""
    from seqline.data.text import read_lines
    from seqline.translating.requests import Request, parse_requests

    lines, (prefix, must, must_not) = read_lines(file), wishes
    if input_format == "text":
        return [Request(line, prefix, must, must_not) for line in lines]
    name = "standard input" if file == "-" else file
    return [
        Request(r.text, r.prefix or prefix, (*must, *r.must), (*must_not, *r.must_not))
        for r in parse_requests(lines, name)
    ]


def _refuse_line_ends(requests: Sequence[Request], file: str) -> None:
    texts = (text for r in requests for text in (r.text, r.prefix.replace("\t", "\n"), *r.must))
    if any("\n" in text for text in texts):
        what = "a text or a wish holds line ends or tabs, and a line of plain output is one text"
        raise UserError(what, where=file, fix="add --format jsonl")


def _refuse_beam(beam: int | None, settings: Sequence[str] | None) -> None:
    """Refuse what acts on a beam where none is searched."""
    names = {setting.partition("=")[0].strip().rpartition(".")[2]: f"--set {setting}" for setting in settings or ()}
    given = {**({} if beam is None else {"beam_size": "--beam"}), **names}
    for name in ("beam_size", "num_groups", "diversity", "coverage_penalty"):
        if name in given:
            what = "acts on a beam, and none is searched where outputs are drawn or streamed"
            raise UserError(what, where=given[name], fix="leave out one of the two")


def _refuse_words(formats: dict[str, str]) -> None:
    for name, value in formats.items():
        if value not in ("text", "jsonl"):
            raise UserError(f"expected text or jsonl, got {value!r}", where=name)


def _refuse_drawing(drawing: dict[str, Any], *, is_drawn: bool) -> None:
    for name, value in drawing.items():
        if value is not None and not is_drawn:
            what = "has no meaning where nothing is drawn at random"
            raise UserError(what, where=f"--{name.replace('_', '-')}", fix="add --sample or --mbr, or leave it out")


def _refuse_whole(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value:
            what = "needs the whole output, and --stream prints pieces as they come"
            raise UserError(what, where=name, fix="leave out one of the two")


def _stream(translator: Translator, requests: Sequence[Request], sampling: Sampling | None) -> list[Translation]:
    """Print each translation piece by piece, a line a text."""
    found: list[Translation] = []

    def pieces(place: int, request: Request) -> Iterator[str]:
        found.append((yield from translator.stream(request, sampling=sampling, place=place)))
        yield "\n"

    for place, request in enumerate(requests):
        write_texts(pieces(place, request))
    return found


def _remarks(translations: Sequence[Translation]) -> list[str]:
    """Return what is worth knowing of the best outputs, a line each."""
    best = [t.outputs[0] for t in translations if t.source.strip()]
    written = [output for output in best if output.num_tokens]
    counts = {
        "outputs did not end by themselves and were cut at the length limit": sum(not o.is_finished for o in written),
        "outputs go round in circles": sum(o.repetition for o in written),
        "outputs are empty": sum(not o.text.strip() for o in written),
        "outputs lack a phrase that was asked for and found no room": sum(bool(o.unmet) for o in written),
        "texts have no output: the rules, wishes and lengths asked for leave none": len(best) - len(written),
        "lines truncated: the model has positions for their beginning only": sum(t.truncated for t in translations),
    }
    return [f"{count:,} of {len(translations):,} {what}" for what, count in counts.items() if count]


def _text_line(translation: Translation, with_scores: bool) -> str:
    cells = []
    for output in translation.outputs:
        cells += [f"{output.score:.4f}", output.text] if with_scores else [output.text]
        if output.alignment is not None:
            cells.append(format_links(output.alignment))
    return "\t".join(cells)


def _json_line(translation: Translation) -> str:
    outputs = [_json_output(output) for output in translation.outputs]
    best = {"alignments": outputs[0]["alignments"]} if "alignments" in outputs[0] else {}
    record = {
        "source": translation.source,
        "text": translation.text,
        **best,
        "source_tokens": translation.source_tokens,
        "source_tokens_used": translation.source_tokens_used,
        "truncated": translation.truncated,
        "outputs": outputs,
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _json_output(output: Output) -> dict[str, Any]:
    values = dataclasses.asdict(output)
    links = values.pop("alignment")
    return values if links is None else {**values, "alignments": links}
