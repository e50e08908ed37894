"""The chapters of the page in their order: each one's formula and figures. The words are in `story/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from seqline.tour.recordings import Recordings
from seqline.visualize.trace import Bundle, Trace


@dataclass(frozen=True)
class Figure:
    """One live figure.

    Args:
        trace: name of the recording.
        view: which scene.
        state: the scene's state at the start.
        choices: states that buttons under the figure choose from.
    """

    trace: str
    view: str
    state: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Chapter:
    """One chapter. formula: HTML lines; figures: made from the recordings, for some depend on their sizes."""

    name: str
    formula: tuple[str, ...]
    figures: Callable[[Recordings], list[Figure]]


def _fixed(*figures: Figure) -> Callable[[Recordings], list[Figure]]:
    return lambda _: list(figures)


def document_of(recording: Trace | Bundle) -> dict[str, Any]:
    """Return the document of a recording, the first one's of a bundle."""
    return (recording.traces[0] if isinstance(recording, Bundle) else recording).document


def _self_attention(recordings: Recordings) -> tuple[int, int]:
    """Return layers and heads of the Transformer's encoder."""
    blocks = document_of(recordings["she"])["attention"]
    weights = next(block["weights"] for block in blocks if block["kind"] == "encoder_self")
    return int(weights.shape[0]), int(weights.shape[1])


def _encoder(recordings: Recordings) -> list[Figure]:
    """Return the cell at the second word, at the unit that moves most over the sentence."""
    states = document_of(recordings["plain"])["encoder"]["h"][0, 0]
    return [Figure("plain", "lstm", {"part": "encoder", "t": 2, "unit": int(states.std(axis=0).argmax())})]


def _qkv(recordings: Recordings) -> list[Figure]:
    layers, heads = _self_attention(recordings)
    choices = {"layer": list(range(layers)), "head": list(range(heads))}
    state = {"attention": "encoder_self", "layer": layers - 1, "head": 0, "row": 1, "beat": 1}
    return [Figure("she", "qkv", state, choices)]


def _heads(recordings: Recordings) -> list[Figure]:
    return [Figure("she", "heads", {"attention": "encoder_self", "level": "word"})]


def _twins(recordings: Recordings) -> list[Figure]:
    layers, heads = _self_attention(recordings)
    choices = {"layer": list(range(layers)), "head": ["mean", *range(heads)]}
    found = []
    for name, pronoun in (("she", "elle"), ("he", "il")):
        words = [token["text"] for token in document_of(recordings[name])["source"]["tokens"]]
        row = words.index(pronoun) if pronoun in words else 0
        state = {"attention": "encoder_self", "layer": layers - 1, "head": "mean", "row": row}
        found.append(Figure(name, "lines", state, choices))
    return found


def _v(name: str, index: str = "") -> str:
    return f"<i>{name}</i><sub>{index}</sub>" if index else f"<i>{name}</i>"


_GATES = "{} = σ(<i>W</i><sub>{}</sub> " + _v("x", "t") + " + <i>U</i><sub>{}</sub> " + _v("h", "t−1") + ")"
CHAPTERS = (
    Chapter("start", (), _fixed(Figure("first", "timeline", {}))),
    Chapter("word", (f"{_v('x', 't')} = onehot({_v('w', 't')}) · <i>E</i> = <i>E</i>[{_v('w', 't')}]",),
            _fixed(Figure("first", "embed", {"row": 2}))),
    Chapter("encoder", (
        f"{_GATES.format('<i>r</i>', 'r', 'r')},   {_GATES.format('<i>z</i>', 'z', 'z')}",
        f"<i>n</i> = tanh(<i>W</i> {_v('x', 't')} + <i>r</i> ⊙ <i>U</i> {_v('h', 't−1')}),   "
        f"{_v('h', 't')} = (1 − <i>z</i>) ⊙ <i>n</i> + <i>z</i> ⊙ {_v('h', 't−1')}",
    ), _encoder),
    Chapter("context", (f"<i>C</i> = {_v('h', 'S')}",), _fixed(Figure("three", "context", {}))),
    Chapter("decoder", (
        f"{_v('s', 'n')} = <i>f</i>({_v('y', 'n−1')}, {_v('s', 'n−1')}),   "
        f"{_v('z', 'n')} = tanh(<i>W</i> {_v('s', 'n')}),   <i>p</i>({_v('y', 'n')}) = softmax(<i>V</i> {_v('z', 'n')})",
    ), _fixed(Figure("plain", "softmax", {}, {"temperature": [None, 0.1, 0.5, 1.5]}))),
    Chapter("again", (
        f"{_v('s', 'n')} = <i>f</i>({_v('y', 'n−1')}, {_v('s', 'n−1')}, <i>C</i>)",
        f"∂<i>L</i>/∂{_v('h', 't')} = ∂<i>L</i>/∂{_v('h', 'S')} · ∏<sub><i>k</i> = <i>t</i></sub><sup><i>S</i>−1</sup> "
        f"∂{_v('h', 'k+1')}/∂{_v('h', 'k')}",
    ), _fixed(Figure("far", "grad", {}))),
    Chapter("length", (), _fixed()),
    Chapter("attention", (
        f"{_v('e', 'n,i')} = {_v('s', 'n')} · {_v('h', 'i')},   {_v('α', 'n')} = softmax({_v('e', 'n')}),   "
        f"{_v('C', 'n')} = ∑<sub><i>i</i></sub> {_v('α', 'n,i')} {_v('h', 'i')}",
        f"{_v('z', 'n')} = tanh(<i>W</i> [{_v('C', 'n')} ; {_v('s', 'n')}]),   <i>p</i> = softmax(<i>V</i> {_v('z', 'n')})",
    ), _fixed(Figure("pizza", "align", {}))),
    Chapter("sharpen", ("<i>θ</i> ← <i>θ</i> − <i>η</i> ∇<i>L</i>(<i>θ</i>)",), _fixed(Figure("sharpen", "train", {}))),
    Chapter("position", (
        f"{_v('x', 'p')} + PE(<i>p</i>),   PE(<i>p</i>, 2<i>i</i>) = sin(<i>p</i> / 10000<sup>2<i>i</i>/<i>d</i></sup>),   "
        f"PE(<i>p</i>, 2<i>i</i>+1) = cos(<i>p</i> / 10000<sup>2<i>i</i>/<i>d</i></sup>)",
    ), _fixed(Figure("she", "pe", {}))),
    Chapter("qkv", (
        "<i>Q</i> = <i>X W<sub>Q</sub></i>,   <i>K</i> = <i>X W<sub>K</sub></i>,   <i>V</i> = <i>X W<sub>V</sub></i>",
        "Attention(<i>Q</i>, <i>K</i>, <i>V</i>) = softmax(<i>Q K</i><sup>⊤</sup> / √<i>d</i>) <i>V</i>",
    ), _qkv),
    Chapter("heads", (
        "[head<sub>1</sub> ; … ; head<sub><i>H</i></sub>] <i>W<sub>O</sub></i>,   "
        "head<sub><i>j</i></sub> = Attention(<i>Q<sub>j</sub></i>, <i>K<sub>j</sub></i>, <i>V<sub>j</sub></i>)",
    ), _heads),
    Chapter("transformer", ("<i>x</i> ← Norm(<i>x</i> + Sublayer(<i>x</i>))",), _fixed(Figure("she", "diagram", {}))),
    Chapter("twins", (
        f"{_v('α', 'elle, i')} = softmax<sub><i>i</i></sub>({_v('q', 'elle')} · {_v('k', 'i')} / √<i>d</i>)",
    ), _twins),
    Chapter("cache", (
        f"{_v('K', 'n')} = [{_v('K', 'n−1')} ; {_v('k', 'n')}],   {_v('V', 'n')} = [{_v('V', 'n−1')} ; {_v('v', 'n')}]",
    ), _fixed(Figure("she", "kv", {}))),
    Chapter("end", (), _fixed()),
)  # fmt: skip
