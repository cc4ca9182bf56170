"""A table as it was read against the table of a stage: what is missing, too much or different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from tests.corpus.cases import Column, Table
from tests.corpus.values import Unfit, actual_form, expected_form

OWN_COLUMNS = "_tidemark_"
Row = Mapping[str, Any]
_Forms = Mapping[str, Hashable]


def differences(
    expected: Table, actual: Sequence[Row] | None, *, is_postgres: bool = False
) -> Iterator[str]:
    """Every way in which ``actual`` is not ``expected``; None is a table that does not exist.

    A column that a row lacks is null there, and Tidemark's own columns do not count.
    """
    columns = _columns(expected, actual or ())
    wanted = [
        {
            column.name: expected_form(row.get(column.name), column, is_postgres=is_postgres)
            for column in columns
        }
        for row in expected.rows
    ]
    found = [
        {
            column.name: actual_form(row.get(column.name), column, is_postgres=is_postgres)
            for column in columns
        }
        for row in actual or ()
    ]
    yield from _unfit(found)
    if expected.key:
        yield from _by_key(expected.key, wanted, found)
    else:
        yield from _as_multiset(wanted, found)


def _columns(expected: Table, actual: Sequence[Row]) -> tuple[Column, ...]:
    """Those of the source, and those that only the table has: they must be null in every row."""
    known = {column.name for column in expected.columns}
    strange = {name for row in actual for name in row if not name.startswith(OWN_COLUMNS)} - known
    return (*expected.columns, *(Column(name, "") for name in sorted(strange)))


def _unfit(found: Sequence[_Forms]) -> Iterator[str]:
    """Columns whose type cannot hold what the source column holds, each once."""
    told: set[str] = set()
    for row in found:
        for name, form in row.items():
            if isinstance(form, Unfit) and name not in told:
                told.add(name)
                yield f"column {name} holds {form.shown}, which its source type cannot be"


def _by_key(key: Sequence[str], wanted: Sequence[_Forms], found: Sequence[_Forms]) -> Iterator[str]:
    wanted_rows = {_key_of(row, key): row for row in wanted}
    found_rows = {_key_of(row, key): row for row in found}
    times = Counter(_key_of(row, key) for row in found)
    for key_value in sorted(times.keys() | wanted_rows.keys(), key=repr):
        shown = (
            "{" + ", ".join(f"{n}: {_shown(v)}" for n, v in zip(key, key_value, strict=True)) + "}"
        )
        if key_value not in wanted_rows:
            yield f"unexpected row {shown}"
        elif key_value not in times:
            yield f"missing row {shown}"
        else:
            if times[key_value] > 1:
                yield f"row {shown} is there {times[key_value]} times"
            yield from _changed(shown, wanted_rows[key_value], found_rows[key_value])


def _changed(shown: str, wanted: _Forms, found: _Forms) -> Iterator[str]:
    for name, form in wanted.items():
        if found[name] != form:
            yield f"row {shown}: {name} is {_shown(found[name])}, not {_shown(form)}"


def _as_multiset(wanted: Sequence[_Forms], found: Sequence[_Forms]) -> Iterator[str]:
    wanted_rows = Counter(tuple(row.items()) for row in wanted)
    found_rows = Counter(tuple(row.items()) for row in found)
    for row, count in (wanted_rows - found_rows).items():
        yield f"missing row {_row(row)}, {count} times"
    for row, count in (found_rows - wanted_rows).items():
        yield f"unexpected row {_row(row)}, {count} times"


def _key_of(row: _Forms, key: Sequence[str]) -> tuple[Hashable, ...]:
    return tuple(row[name] for name in key)


def _row(row: tuple[tuple[str, Hashable], ...]) -> str:
    return "{" + ", ".join(f"{name}: {_shown(form)}" for name, form in row) + "}"


def _shown(form: Hashable) -> str:
    if isinstance(form, Unfit):
        return form.shown
    return "null" if form is None else str(form) if not isinstance(form, str) else repr(form)
