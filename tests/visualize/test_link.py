"""The rules that let one scene text run in QuickJS, V8 and a page from a disk: a lint over every scene, and the linker."""

from __future__ import annotations

import re

import pytest

from seqline.visualize.link import SCENE_NAMES, link, module_names, module_text, view_names

from .svg import ELEMENTS

NAMES = module_names()
SHARED = [name for name in NAMES if name.startswith("_")]
_TOP = re.compile(r"^(?:export )?(?:function|const|let|var|class) \{?\s*([\w, ]+)", re.MULTILINE)
_FORBIDDEN = (
    "document.", "globalThis", "import(", "Intl", "toLocale", "localeCompare", "Date", "Math.random", "setTimeout",
    "setInterval", "console", "structuredClone", "TextDecoder", "TextEncoder", "require(", "fetch(", "eval(", "await ", "async ",
    ".apply(", "foreignObject", "font-weight", "dominant-baseline", "direction:", "var(--", "className",
)  # fmt: skip


def code(name: str) -> str:
    """Return a module without its comments."""
    return re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", module_text(name))


def top_names(name: str) -> list[str]:
    return [each.strip() for group in _TOP.findall(code(name)) for each in group.split(",") if each.strip()]


@pytest.mark.parametrize("name", NAMES)
def test_only_the_two_forms_of_import_and_export_at_the_start_of_a_line(name: str) -> None:
    for line in code(name).splitlines():
        if re.match(r"\s*(import|export)\b", line):
            assert re.match(r'import \{[^}]*\} from "\./_\w+\.js";$|export (function|const) \w', line), line


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_an_engine_lacks_or_does_its_own_way(name: str) -> None:
    found = [word for word in _FORBIDDEN if word in code(name)]
    assert not found


@pytest.mark.parametrize("name", NAMES)
def test_no_strings_that_grow_no_spread_and_no_cut_through_a_character(name: str) -> None:
    text = code(name)
    assert not re.search(r"\+=\s*[\"'`]", text)
    assert not re.search(r"[(\[,]\s*\.\.\.", text)
    assert not re.search(r"\.(substr|substring|charAt)\(", text)
    assert max((len(found) for found in re.findall(r"`([^`]*)`", text)), default=0) <= 200


@pytest.mark.parametrize("name", NAMES)
def test_only_the_svg_elements_that_both_engines_paint(name: str) -> None:
    assert set(re.findall(r'\btag\("(\w+)"', code(name))) <= ELEMENTS


@pytest.mark.parametrize("name", view_names())
def test_a_scene_has_its_six_exports_and_the_id_of_its_file(name: str) -> None:
    exported = set(re.findall(r"^export (?:function|const) (\w+)", module_text(name), re.MULTILINE))
    assert set(SCENE_NAMES) <= exported
    assert re.search(rf'\bid: "{name}"', module_text(name))


def test_top_level_names_are_unique_over_all_files() -> None:
    seen: dict[str, str] = {}
    for name in NAMES:
        for each in set(top_names(name)) - set(SCENE_NAMES):
            assert each not in seen, f"{each} is in {name} and in {seen[each]}"
            seen[each] = name
    assert {"alignData", "num", "timelineData"} <= set(seen)


def test_linking_leaves_no_import_and_no_export() -> None:
    assert not re.search(r"^\s*(import|export)\b", link(), re.MULTILINE)
    assert all(f'views["{name}"]' in link() for name in view_names())


def shared_texts() -> dict[str, str]:
    return {name: module_text(name) for name in SHARED}


def test_a_scene_that_lacks_an_export_or_imports_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="must export"):
        link(shared_texts() | {"broken": "export const meta = {};\n"})
    wrong = module_text("softmax").replace("import { ", "import { nothing, ", 1)
    with pytest.raises(ValueError, match="nothing"):
        link(shared_texts() | {"softmax": wrong})


def test_shared_files_come_after_what_they_import_and_never_in_a_circle() -> None:
    texts = {
        "_one": 'import { b } from "./_two.js";\nexport const a = b + 1;\n',
        "_two": "export const b = 1;\n",
    }
    linked = link(texts)
    assert linked.index("const b = 1") < linked.index("const a = b + 1")
    assert "seqlineLib: { b, a }" in linked
    with pytest.raises(ValueError, match="circle: _"):
        link(texts | {"_two": 'import { a } from "./_one.js";\nexport const b = a;\n'})


@pytest.mark.parametrize("name", NAMES)
def test_every_import_is_used_and_every_shared_name_is_imported(name: str) -> None:
    text = code(name)
    imported = {
        each.strip() for group in re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE) for each in group.split(",")
    }
    body = re.sub(r'(?m)^import .*$|"[^"\n]*"', "", text)
    assert {each for each in imported if not re.search(rf"(?<![\w.$]){each}(?!\w)", body)} == set()
    called = set(re.findall(r"(?<![\w.$])([A-Za-z_]\w*)\(", body))
    exported = {
        each
        for other in SHARED
        if other != name
        for each in re.findall(r"^export function (\w+)", module_text(other), re.MULTILINE)
    }
    local = set(re.findall(r"(?:const|let|function) (\w+)", body)) | set(re.findall(r"[(,] ?(\w+)(?=[,)])", body))
    assert (called & exported) - imported - local == set()
