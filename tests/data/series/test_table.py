"""CSV files as tables: the header, quotes, lines with too few or too many cells, all with their line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series.table import CsvTable, read_csv
from seqline.errors import UserError

plain = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=6)
cells = st.one_of(plain, st.sampled_from(["", '"', '""', ",", '",', 'a"b', " a", "a ", "1", "a,b", "' '"]))


def table(text: str) -> CsvTable:
    return CsvTable("f.csv", text.split("\n"))


def texts(text: str, *names: str) -> list[list[str]]:
    return [column.texts() for column in table(text).columns(names).values()]


def every_column(text: str) -> None:
    found = table(text)
    found.columns(found.names)


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        every_column(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), max_size=5)))
def test_quoted_cells_are_those_of_the_csv_module(rows: list[list[str]]) -> None:
    width = len(rows[0]) if rows else 2
    rows = [*rows, ["end"] * width]  # blank lines at the end are no rows
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([[f"c{i}" for i in range(width)], *rows])
    names = tuple(f"c{i}" for i in range(width))
    assert texts(buffer.getvalue(), *names) == [list(column) for column in zip(*rows, strict=True)]


def test_blanks_around_cells_and_names_do_not_count() -> None:
    assert texts(' ds , y\n 2024-01-01 ,\t1\n2024-01-02 00:00, "a, b" ', "ds", "y") == [
        ["2024-01-01", "2024-01-02 00:00"], ["1", "a, b"],
    ]  # fmt: skip
    assert texts("a b,c\nd e,f", "a b", "c") == [["d e"], ["f"]]


def test_columns_by_name_in_any_order() -> None:
    assert texts("a,b,c\n1,2,3\n4,5,6", "c", "a") == [["3", "6"], ["1", "4"]]
    assert table("a\n1\n\n \n").num_rows == 1
    assert table("a,b").num_rows == 0


@pytest.mark.parametrize(("text", "message"), [
    ("", "f.csv: is empty"), ("\n \n", "f.csv: is empty"), ("a,a\n1,2", "f.csv:1: two columns are called 'a'"),
    ("ds;y\n1;2", "f.csv:1: cells are not separated by commas"), ("ds\ty\n1\t2", "f.csv:1: cells are not separated"),
    ("2024-01-01,5\n2024-01-02,6", "f.csv:1: expected names of columns, got numbers"),
    ("ds,\ufeffy\n1,2", "f.csv:1: a byte order mark inside column 2"),
    ("a,b\n1,2\n3", "f.csv:3: expected 2 cells as in the header, got 1"),
    ("a,b\n1\n2,3,4", "f.csv:2: expected 2 cells as in the header, got 1"),
    ("a,b\n1,2\n3,4,5", "f.csv:3: expected 2 cells as in the header, got 3; numbers have a decimal point"),
    ("a,b\n1,2\n\n3,4", "f.csv:3: expected 2 cells as in the header, got 1; remove the blank line"),
    ('a,b\n1,"2', "f.csv:2: column 2: a quote"), ('a,b\n1,"2"3', "f.csv:2: column 2: a quote"),
    ('a,b\n1,2"3"', "f.csv:2: column 2: a quote"), ('a,"b\n1,2', "f.csv:1: column 2: a quote"),
    ('a,b\n"1,2\n3,4"', "f.csv:2: column 1: a quote"),
])  # fmt: skip
def test_faults_are_refused_with_their_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_too_many_columns() -> None:
    assert "f.csv:1: has 100,001 columns, more than 100,000" in refusal("," * 100_000)


def test_a_line_far_below_has_its_number() -> None:
    lines = ["a,b", *["1,2"] * 70_000, "1", *["1,2"] * 10]
    with pytest.raises(UserError, match=r"^f\.csv:70002: expected 2 cells"):
        CsvTable("f.csv", lines).columns(["a"])


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfds,y\r\n2024-01-01,5\r\n")
    found = read_csv(str(path))
    assert found.names == ("ds", "y")
    assert found.columns(["y"])["y"].texts() == ["5"]
    assert found.place(0) == f"{path}:2"
