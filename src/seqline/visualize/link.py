"""Linking: the scene modules become one JavaScript text that runs in every engine and in a page without a server.

Engines without a module loader and pages opened from a disk cannot `import`. So the modules follow the few rules that
the tests check, and linking is taking lines off: the shared files `_name.js` first, each after the ones it imports, then
every scene in a function scope of its own.
"""

from __future__ import annotations

import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(_\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function |const )", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:function|const) (\w+)", re.MULTILINE)
_PACKAGE = "seqline.visualize"
SCENE_NAMES = ("meta", "scene", "table", "describe", "frames", "stateAt")


@cache
def module_names() -> tuple[str, ...]:
    """Return the names of all modules, shared ones (`_name`) and views, in alphabetical order."""
    found = (entry.name for entry in files(_PACKAGE).joinpath("scenes").iterdir())
    return tuple(sorted(name[:-3] for name in found if name.endswith(".js")))


@cache
def view_names() -> tuple[str, ...]:
    """Return the ids of all views, in alphabetical order."""
    return tuple(name for name in module_names() if not name.startswith("_"))


def module_text(name: str) -> str:
    """Return the text of `scenes/<name>.js`."""
    return files(_PACKAGE).joinpath("scenes", f"{name}.js").read_text(encoding="utf-8")


def link(modules: dict[str, str] | None = None) -> str:
    """Return one text that defines `seqlineViews`: id -> {meta, scene, table, describe, frames, stateAt}, and `seqlineLib`.

    Args:
        modules: texts by name, the shared ones among them; all of `scenes/` when None.

    Raises:
        ValueError: a scene lacks one of its six exports, a module imports what no shared file exports, or shared files
            import each other in a circle.
    """
    texts = modules if modules is not None else {name: module_text(name) for name in module_names()}
    shared = _in_order({name: text for name, text in texts.items() if name.startswith("_")})
    known = {name: set(_EXPORTED.findall(texts[name])) for name in shared}
    for name, text in texts.items():
        _check_imports(name, text, known)
    parts = ["const { seqlineViews, seqlineLib } = (function () {\n", '"use strict";\n']
    parts += [f"{_bare(texts[name])}\n" for name in shared]
    parts.append("const views = {};\n")
    parts += [_scene(name, texts[name]) for name in sorted(set(texts) - set(shared))]
    library = ", ".join(each for name in shared for each in _EXPORTED.findall(texts[name]))
    parts.append(f"return {{ seqlineViews: views, seqlineLib: {{ {library} }} }};\n}})();\n")
    return "".join(parts)


def _in_order(shared: dict[str, str]) -> list[str]:
    """Return the shared files so that each comes after those it imports."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name in sorted(shared):
        sorter.add(name, *sorted({source for _, source in _IMPORT.findall(shared[name])} & set(shared)))
    try:
        return list(sorter.static_order())
    except CycleError as error:
        raise ValueError(f"scenes import each other in a circle: {' -> '.join(error.args[1])}") from error


def _check_imports(name: str, text: str, known: dict[str, set[str]]) -> None:
    for names, source in _IMPORT.findall(text):
        unknown = {each.strip() for each in names.split(",") if each.strip()} - known.get(source, set())
        if unknown:
            raise ValueError(
                f"scenes/{name}.js imports {', '.join(sorted(unknown))}, which {source}.js does not export"
            )


def _bare(text: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub("", text))


def _scene(name: str, text: str) -> str:
    missing = set(SCENE_NAMES) - set(_EXPORTED.findall(text))
    if missing:
        raise ValueError(f"scenes/{name}.js must export {', '.join(sorted(missing))}")
    return f'views["{name}"] = (function () {{\n{_bare(text)}\nreturn {{ {", ".join(SCENE_NAMES)} }};\n}})();\n'
