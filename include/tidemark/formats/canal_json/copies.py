"""What two copies of one change share, however TiCDC wrote each of them.

It sends again what it has sent before, after a restart in another form, too: fields in another
order, a delete with its key alone, an update as a delete and an insert (GATE-5).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.canal_json.erased import ERASED_ROW, is_erased
from tidemark.formats.place import hexadecimal, number
from tidemark.model.position import NUMBER_DIGITS

_FORM = (
    "pkNames ARRAY<STRING>, type STRING, sql STRING, "
    "data ARRAY<MAP<STRING, STRING>>, old ARRAY<MAP<STRING, STRING>>"
)


def canal_contents(value: Column) -> Column:
    """What a record of rows or of a statement tells, one struct for each row that it ends or makes.

    ``ends``: whether it ends the row. ``content``: text of the whole row, or of the statement.
    ``key``: text of its key, null where the record names none.
    """
    record = F.from_json(value.cast("string"), _FORM)
    keys = F.coalesce(record["pkNames"], F.array().cast("array<string>"))
    is_delete = record["type"] == "DELETE"

    def change(entries: Column, ends: Column) -> Column:
        key = F.filter(entries, lambda entry: F.array_contains(keys, entry["key"]))
        has_key = (F.size(keys) > 0) & (F.size(key) == F.size(keys))
        return F.when(
            entries.isNotNull(),
            F.struct(
                ends.alias("ends"),
                _text(entries).alias("content"),
                F.when(has_key, _text(key)).alias("key"),
            ),
        )

    def changes(row: Column) -> Column:
        data, old = F.map_entries(row["data"]), F.map_entries(row["old"])
        unchanged = F.filter(data, lambda entry: ~F.map_contains_key(row["old"], entry["key"]))
        former = F.when(~is_delete, F.concat(unchanged, old))
        return F.array_compact(F.array(change(former, F.lit(True)), change(data, is_delete)))

    no_old = F.array().cast("array<map<string, string>>")
    rows = F.filter(
        F.arrays_zip(record["data"].alias("data"), F.coalesce(record["old"], no_old).alias("old")),
        lambda row: ~is_erased(F.try_element_at(row["data"], F.lit(ERASED_ROW))),
    )
    statement = F.struct(
        F.lit(False).alias("ends"),
        F.trim(record["sql"]).alias("content"),
        F.lit(None).cast("string").alias("key"),
    )
    has_rows = F.coalesce(F.size(record["data"]), F.lit(0)) > 0
    return F.when(has_rows, F.flatten(F.transform(rows, changes))).otherwise(F.array(statement))


def canal_commit(value: Column) -> Column:
    """A record's commitTs as positions have it, also of one that could not be read as a change."""
    commit_ts = F.get_json_object(value.cast("string"), "$._tidb.commitTs")
    return hexadecimal(number(commit_ts), NUMBER_DIGITS)


def _text(entries: Column) -> Column:
    return F.to_json(F.array_sort(entries), {"ignoreNullFields": "false"})
