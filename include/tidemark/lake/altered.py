"""What somebody altered of a target so that no cut can be written in it, and how to undo that.

Columns that were added, other types that hold the same values and other layouts do no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyiceberg.table import Table

from tidemark.lake import sql
from tidemark.model.columns import TableSchema
from tidemark.model.names import quote

FORMAT_VERSION = int(sql.TARGET_PROPERTIES["format-version"])
MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")
"""What has to be as it was made: a merge is accounted for by the delete files that it adds."""


def alterations(table: Table, schema: TableSchema) -> Iterator[tuple[str, str]]:
    """Sentences that say what of ``table`` was altered, and the SQL that undoes it, "" for none.

    schema: of its source, as the target was made from.
    """
    version, name = table.metadata.format_version, (table.catalog.name, *table.name())
    if version != FORMAT_VERSION:
        yield f"its format version is {version}, and {FORMAT_VERSION} is written", ""
    for mode in MODES:
        wanted, current = sql.TARGET_PROPERTIES[mode], table.properties.get(mode, "not set")
        if current != wanted:
            yield f"{mode} is {current}, and not {wanted}", sql.set_property(name, mode, wanted)
    yield from _columns(table, name, schema.in_target)


def _columns(table: Table, name: Sequence[str], schema: TableSchema) -> Iterator[tuple[str, str]]:
    """The columns that are gone; one with another name has the field id that it had."""
    ids = {field.name: field.field_id for old in table.schemas().values() for field in old.fields}
    names = {field.field_id: field.name for field in table.schema().fields}
    there = {current.lower() for current in names.values()}
    for wanted in (*schema.names, *sql.system_columns(schema)):
        if wanted.lower() in there:
            continue
        current = names.get(ids.get(wanted, -1))
        if current is None:
            yield f"column {quote(wanted)} was dropped", ""
        else:
            undo = sql.rename_column(name, current, wanted)
            yield f"column {quote(wanted)} is called {quote(current)}", undo
