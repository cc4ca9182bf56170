"""What is sent again of a table without a key, as SQL expressions (POS-14).

Copies of a change have one *identity*: where it stands in the source's log, which of the changes
there it is, and what is in it. So they are known whichever partition they come by. Rows that a
snapshot read and rows of sources without positions have nothing but their offset; copies of theirs
are not known as such, unless `fold.row_changes` has an id for them.

Some sources do not say which of the changes at one place a record is. Two equal ones may then be
one that came twice, or two: a partition that went back between them proves the first; else it is
unknown. By TiCDC's documentation every dispatcher sends equal rows of one commit to one partition:
where another one has the same record, the topic's partitions changed between them. PostgreSQL's
connector numbers the events of a transaction, but one that starts over inside a transaction counts
from 1 again (POS-5): two equal rows of one LSN with different numbers are two if one partition
brought them in one go. They are one where both are the first at that LSN, as the number before
theirs is not there, and are the same change of their table in the transaction: a connector starts
over at the first change of an LSN, and skips changes of other tables before it. Numbers of two
starts may meet: a row that has the number of an earlier one in the transaction, and another number
among the changes of its table, is no copy of it, but has its identity: the table stops.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.model.cut import GateMode
from tidemark.model.position import (
    EPOCH_DIGITS,
    NUMBER_DIGITS,
    OFFSET_DIGITS,
    POSTGRES_DIGITS,
)
from tidemark.model.reduction import EVENT_ID
from tidemark.model.summary import PLACE

_PARTITION = "PARTITION BY topic, partition ORDER BY offset"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_ARRIVAL = "ORDER BY in_cut, topic, partition, offset"
_COPIES = f"PARTITION BY op, row_id {_ARRIVAL}"
_EQUALS = f"PARTITION BY op, {EVENT_ID}, image_hash, snapshot IS NULL {_ARRIVAL}"
_NUMBER_BEFORE = (
    f"PARTITION BY {EVENT_ID}, event_order - table_order ORDER BY event_order "
    "RANGE BETWEEN 1 PRECEDING AND 1 PRECEDING"
)

_PLACE_BEFORE = f"lag({PLACE}) OVER ({_PARTITION})"
_NUMBER_FALLS = f"event_order < lag(event_order) OVER ({_PARTITION})"
_FALLS: tuple[Mapping[str, str], ...] = (
    {
        "fallen": f"CASE WHEN {PLACE} < {_PLACE_BEFORE} "
        f"OR ({PLACE} = {_PLACE_BEFORE} AND {_NUMBER_FALLS}) THEN 1 ELSE 0 END"
    },
    {"era": f"sum(fallen) OVER ({_PARTITION} {_SO_FAR})"},
)
_WATERMARKS: tuple[Mapping[str, str], ...] = (
    {
        "promised": f"max(watermark) OVER ({_PARTITION} {_SO_FAR})",
        "promises": f"count(watermark) OVER ({_PARTITION} {_SO_FAR})",
    },
    {
        "era": f"CASE WHEN promised IS NOT NULL AND printf('%0{NUMBER_DIGITS}X', promised) > "
        f"substr(position, {EPOCH_DIGITS + 1}, {NUMBER_DIGITS}) THEN promises ELSE 0 END"
    },
)


def eras(mode: GateMode) -> tuple[Mapping[str, str], ...]:
    """Columns to add to events one after the other, the last one ``era``.

    A greater era than that of a copy before it in its partition proves that the partition went back
    between them: Debezium's places fall (POS-20), or the numbers of changes at one place, and a
    watermark of TiCDC is above the commit already (GATE-W3).
    """
    return _WATERMARKS if mode is GateMode.WATERMARK else _FALLS


IDENTITY = (
    f"CASE WHEN snapshot IS NOT NULL OR length(position) = {EPOCH_DIGITS + OFFSET_DIGITS} "
    f"THEN position || '.' || partition || '.' || part ELSE {EVENT_ID} || '.' "
    "|| coalesce(occurrence, '') || '.' || image_hash END"
)
"""What copies of a change share, and no other change of its table and op.

occurrence: which of the changes at its place it is, null where the source does not say. image_hash:
of the texts of its row, in the columns that the target has.
"""

REPEATS: tuple[Mapping[str, str], ...] = (
    {"is_first": f"table_order IS NOT NULL AND count(*) OVER ({_NUMBER_BEFORE}) = 0"},
    {
        "copy": f"row_number() OVER ({_COPIES})",
        "went_back": f"partition = lag(partition) OVER ({_COPIES}) "
        f"AND era > lag(era) OVER ({_COPIES})",
        "has_moved": f"coalesce(record_hash = lag(record_hash) OVER ({_COPIES}) AND "
        f"(topic <> lag(topic) OVER ({_COPIES}) OR partition <> lag(partition) OVER ({_COPIES})), "
        "FALSE)",
        "has_equal": f"row_number() OVER ({_EQUALS}) > 1",
        "in_one_go": f"partition = lag(partition) OVER ({_EQUALS}) "
        f"AND era = lag(era) OVER ({_EQUALS})",
        "is_same": f"coalesce(is_first AND lag(is_first) OVER ({_EQUALS}) "
        f"AND table_order = lag(table_order) OVER ({_EQUALS}), FALSE)",
        "is_another": f"coalesce(length(position) = {POSTGRES_DIGITS} "
        f"AND table_order <> lag(table_order) OVER ({_COPIES}), FALSE)",
    },
    {
        "is_repeat": "copy > 1 OR is_same",
        "is_uncertain": "CASE WHEN copy > 1 "
        "THEN is_another OR (occurrence IS NULL AND NOT (went_back OR has_moved)) "
        f"ELSE length(position) = {POSTGRES_DIGITS} AND snapshot IS NULL AND has_equal "
        "AND NOT in_one_go AND NOT is_same END",
    },
)
"""Columns to add to changes one after the other: whether one came before, or may be another one.

In: also ``in_cut``; what came before the cut comes first. record_hash: of what the record of a
change says of rows, null where equal rows of one place may be in several partitions. table_order:
which change of its table in its transaction it is, null where the source does not say.
"""
