"""The committed JSON schema is that of the models, and every array of the format stands in both."""

import json

import numpy as np

from seqline.visualize.arrays import ARRAYS, transform
from seqline.visualize.schema import SCHEMA_FILE, schema_text


def test_the_committed_schema_is_fresh() -> None:
    assert SCHEMA_FILE.read_text("utf-8") == schema_text(), "run python -m seqline.visualize.schema"


def test_every_array_of_the_table_is_one_in_the_schema() -> None:
    schema = json.loads(schema_text())

    def walk(node: dict, path: str) -> set[str]:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        if any(choice.get("required") == ["$t"] for choice in node.get("anyOf", ())):
            return {path}
        found: set[str] = set()
        for choice in node.get("anyOf", ()):
            found |= walk(choice, path)
        for key, part in node.get("properties", {}).items():
            found |= walk(part, f"{path}.{key}" if path else key)
        if "items" in node:
            found |= walk(node["items"], f"{path}[]")
        if isinstance(node.get("additionalProperties"), dict):
            found |= walk(node["additionalProperties"], f"{path}.*")
        return found

    assert walk(schema, "") == set(ARRAYS)


def test_keys_of_a_free_map_may_hold_a_point() -> None:
    seen = []
    document = {"forecast": {"q": {"0.1": [1.0, 2.0]}, "unit": "m", "windows": ({"lookback": np.int64(5)},)}}
    plain = transform(document, lambda path, spec, value: seen.append((path, spec.axes)))
    assert seen == [("forecast.q.0.1", "Z")]
    assert plain["forecast"]["windows"] == [{"lookback": 5}]
    assert type(plain["forecast"]["windows"][0]["lookback"]) is int
