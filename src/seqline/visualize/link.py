"""Linking: the scene modules become one JavaScript text that runs in every engine and in a page without a server.

Engines without a module loader and pages opened from a disk cannot `import`. So the modules follow the few rules that
`lint` checks, and linking is taking lines off: `_lib.js` first, then every scene in a function scope of its own.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./_lib\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function |const )", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:function|const) (\w+)", re.MULTILINE)
_PACKAGE = "seqline.visualize"
SCENE_NAMES = ("meta", "scene", "table", "describe", "frames", "stateAt")


@cache
def view_names() -> tuple[str, ...]:
    """Return the ids of all views, in alphabetical order."""
    found = (entry.name for entry in files(_PACKAGE).joinpath("scenes").iterdir())
    return tuple(sorted(name[:-3] for name in found if name.endswith(".js") and not name.startswith("_")))


def module_text(name: str) -> str:
    """Return the text of `scenes/<name>.js`."""
    return files(_PACKAGE).joinpath("scenes", f"{name}.js").read_text(encoding="utf-8")


def link(modules: dict[str, str] | None = None) -> str:
    """Return one text that defines `seqlineViews`: id -> {meta, scene, table, describe, frames, stateAt}, and `seqlineLib`.

    Args:
        modules: texts by name, `_lib` among them; all of `scenes/` when None.

    Raises:
        ValueError: a scene lacks one of its six exports or imports a name that `_lib.js` does not export.
    """
    texts = modules if modules is not None else {name: module_text(name) for name in ("_lib", *view_names())}
    library = texts["_lib"]
    known = _EXPORTED.findall(library)
    parts = [
        "const { seqlineViews, seqlineLib } = (function () {\n",
        '"use strict";\n',
        _EXPORT.sub("", library),
        "\nconst views = {};\n",
    ]
    for name in sorted(set(texts) - {"_lib"}):
        parts.append(_scene(name, texts[name], known))
    parts.append(f"return {{ seqlineViews: views, seqlineLib: {{ {', '.join(known)} }} }};\n}})();\n")
    return "".join(parts)


def _scene(name: str, text: str, known: list[str]) -> str:
    missing = set(SCENE_NAMES) - set(_EXPORTED.findall(text))
    if missing:
        raise ValueError(f"scenes/{name}.js must export {', '.join(sorted(missing))}")
    for names in _IMPORT.findall(text):
        unknown = {each.strip() for each in names.split(",") if each.strip()} - set(known)
        if unknown:
            raise ValueError(f"scenes/{name}.js imports {', '.join(sorted(unknown))}, which _lib.js does not export")
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    return f'views["{name}"] = (function () {{\n{body}\nreturn {{ {", ".join(SCENE_NAMES)} }};\n}})();\n'
