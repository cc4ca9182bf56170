"""A pipeline that a table with changing columns feeds, and what its readers see."""

from __future__ import annotations

from typing import Any

from tests.support import tellers
from tests.support.altered import AlteredTable, Sent
from tests.support.records import ticdc_watermark
from tests.support.stack import Stream
from tidemark.runs.cut import stage_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World


def begin(table: AlteredTable) -> None:
    """The first rows, and a statement, as records without schema tell no columns."""
    table.alter("COMMENT 'x'")
    for number in range(1, 6):
        table.put(number, name=f"n{number}")


def opened(world: World, family: str) -> tuple[Stream, AlteredTable]:
    """A pipeline of ``family``, and the table that feeds it."""
    if family == "canal":
        stream = Stream(world, format="canal-json", gate="none").create()
        return stream, AlteredTable(tellers.canal, tellers.canal_ddl)
    if family == "ticdc":
        return Stream(world, 3).create(), AlteredTable(tellers.ticdc, tellers.ticdc_ddl)
    stream = Stream(world, 3, "debezium-mysql", "none", has_statements=True)
    tell = tellers.debezium(has_schema=family == "debezium with schemas")
    return stream.create(), AlteredTable(tell, tellers.debezium_ddl)


def send(stream: Stream, sent: list[Sent], table: AlteredTable) -> None:
    """Rows and statements to their topics; TiCDC promises that all of it was sent."""
    if stream.gate == "watermark":
        at = tellers.commit_ts(table.place + 1)
        sent = [*sent, *(Sent(ticdc_watermark(at, partition)) for partition in range(3))]
    for one in sent:
        apart = one.is_ddl and stream.format.startswith("debezium")
        topic = stream.statements if apart else ""
        stream.send([one.record], topic)


def staged_column(world: World) -> tuple[Stream, AlteredTable, CutRequest]:
    """A pipeline that has published a cut, and staged a second one, in which a column joins."""
    stream, table = opened(world, "debezium")
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    table.alter("ADD COLUMN more int DEFAULT 7", added={"more": ("int", 7)})
    table.put(1, name="w", more=8)
    send(stream, table.sent[start:], table)
    request = CutRequest(stream.attempt())
    stage_cut(stream.pipeline, world, request)
    return stream, table, request


def rows_of(stream: Stream, snapshot: int | None = None) -> dict[int, dict[str, Any]]:
    """What a reader of main or of an older snapshot sees, without Tidemark's own columns."""
    loaded = stream.world.catalog.load_table((stream.name, "items"))
    rows = loaded.scan(snapshot_id=snapshot).to_arrow().to_pylist()
    return {
        row["id"]: {name: v for name, v in row.items() if not name.startswith("_tidemark_")}
        for row in rows
    }


def field_ids(stream: Stream) -> dict[str, int]:
    """Column -> its id in Iceberg."""
    schema = stream.world.catalog.load_table((stream.name, "items")).schema()
    return {field.name: field.field_id for field in schema.fields}
