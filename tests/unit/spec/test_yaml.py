"""YAML as it is read: plain values with their lines, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemark.errors import SpecError
from tidemark.spec.document import read_document
from tidemark.spec.load import load_suite


def written(folder: Path, text: str) -> Path:
    file = folder / "orders.yaml"
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("yes", "yes", id="only true and false are booleans"),
        pytest.param("true", True, id="boolean"),
        pytest.param("'true'", "true", id="quoted boolean is text"),
        pytest.param("2026-01-01", "2026-01-01", id="date stays text"),
        pytest.param("12:30", "12:30", id="no base 60"),
        pytest.param("18446744073709551615", 18446744073709551615, id="integer"),
        pytest.param("-0.5", -0.5, id="float"),
        pytest.param("1e-3", 0.001, id="float with an exponent"),
        pytest.param("~", None, id="null"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("''", "", id="quoted nothing is text"),
    ],
)
def test_scalar(tmp_path: Path, text: str, value: object) -> None:
    assert read_document(written(tmp_path, f"a: {text}\n")).content == {"a": value}


def test_lines_are_those_of_keys_and_of_plain_values(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, "a:\n  b:\n    c\nd:\n  - e\n  - f: 1\n"))
    assert document.lines == {
        (): 1,
        ("a",): 1,
        ("a", "b"): 3,
        ("d",): 4,
        ("d", 0): 5,
        ("d", 1): 6,
        ("d", 1, "f"): 6,
    }
    assert document.line_of(("d", 1, "missing")) == 6


SUITE = """\
suite: orders
expectations:
  - expect: expect_column_values_to_not_be_null
    arguments: {column: id}
    severity: critical
    scope: changed
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "suite: *orders /\n",
            "1 -> (file): got found undefined alias; expected well-formed YAML (text that begins "
            "with * needs quotes)",
            id="star without quotes",
        ),
        pytest.param(
            "suite: orders\nexpectations: [\n",
            "3 -> (file): got while parsing a flow node, did not find expected node content; "
            "expected well-formed YAML",
            id="list without an end",
        ),
        pytest.param(
            "suite: orders\n\texpectations:\n",
            "2 -> (file): got while scanning a plain scalar, found a tab character that violates "
            "indentation; expected well-formed YAML",
            id="tab",
        ),
        pytest.param(
            "suite: \x07\n",
            "1 -> (file): got control characters are not allowed; expected well-formed YAML",
            id="control character",
        ),
        pytest.param(
            SUITE + "---\nsuite: more\n",
            "7 -> (file): got expected a single document in the stream, but found another "
            "document; expected well-formed YAML",
            id="two documents",
        ),
        pytest.param(
            SUITE + "suite: more\n",
            "7 -> suite: got the key again, after line 1; expected each key once",
            id="key twice",
        ),
        pytest.param(
            SUITE.replace("column: id", "column: id, column: ''"),
            "4 -> expectations[0].arguments.column: got the key again, after line 4; expected "
            "each key once",
            id="key twice, deep inside",
        ),
        pytest.param(
            SUITE.replace("{column: id}", "!!python/name:os.system {}"),
            "4 -> expectations[0].arguments: got the tag tag:yaml.org,2002:python/name:os.system; "
            "expected a value without a tag",
            id="tag",
        ),
        pytest.param(
            SUITE.replace("{column: id}", "&a {column: *a}"),
            "4 -> expectations[0].arguments.column: got an alias of a list or mapping; expected "
            "it written out",
            id="alias of itself",
        ),
        pytest.param(
            SUITE.replace("{column: id}", "{[1]: id}"),
            "4 -> expectations[0].arguments: got a key that is no text; expected text as key",
            id="key that is a list",
        ),
    ],
)
def test_fault(tmp_path: Path, text: str, fault: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_suite("orders", tmp_path)
    assert caught.value.what == f"{file}:{fault}"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_bytes(b"suite: \xff\n")
    with pytest.raises(SpecError) as caught:
        read_document(file)
    assert caught.value.what == (
        f"{file}:1 -> (file): got bytes that are not UTF-8 at 7; expected a readable UTF-8 file"
    )


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "suite:\n"])
def test_empty_file_names_what_is_missing(tmp_path: Path, text: str) -> None:
    written(tmp_path, text)
    with pytest.raises(SpecError, match="-> expectations: got nothing; expected this key: all of"):
        load_suite("orders", tmp_path)
