"""`tidemark quarantine`: look through what was quarantined, try it again, or give it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, OfRecord, OfTable, Pipeline, WithCode, load_named

if TYPE_CHECKING:
    from tidemark.model.quarantine import Entry, Selection

SHOWN_ENTRIES = 100
NO_TABLE = "-"
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="Topic of the record.")]
Partition = Annotated[int, typer.Argument(metavar="PARTITION", help="Its partition.")]
Offset = Annotated[int, typer.Argument(metavar="OFFSET", help="Its offset.")]
Payload = Annotated[
    bool, typer.Option("--payload", help="Print its value as well, as it is in the changelog.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with it.")]


def list_waiting(pipeline: Pipeline, *, as_json: AsJson = False) -> None:
    """Show what waits in quarantine: how much of each table and code, and where it stands."""
    from tidemark.cli.console import columns, facts, printable, put, stdout
    from tidemark.cli.session import catalog_world
    from tidemark.model.shown import clock, plural
    from tidemark.runs.orders import all_waiting

    spec, console = load_named(pipeline), stdout()
    waiting = all_waiting(spec, catalog_world())
    if as_json:
        from tidemark.cli.documents import quarantine_document

        typer.echo(quarantine_document(pipeline, waiting).model_dump_json())
        return
    if not waiting:
        console.print(f"{pipeline}: nothing waits in quarantine", style="bold")
        return
    console.print(f"{pipeline}: {plural(len(waiting), 'change')} in quarantine", style="bold")
    console.print()
    counts = columns(console, "table", "code", "changes", right=("changes",))
    for (table, code), number in sorted(Counter(map(_kind, waiting)).items()):
        counts.add_row(table, code, f"{number:,}")
    put(console, counts)
    console.print()
    numbers = ("partition", "offset", "row", "cut")
    entries = columns(
        console,
        "topic",
        *numbers[:3],
        "table",
        "column",
        "code",
        "time (UTC)",
        "cut",
        right=numbers,
    )
    for entry in waiting[:SHOWN_ENTRIES]:
        table, code = _kind(entry)
        entries.add_row(
            entry.topic,
            str(entry.partition),
            str(entry.offset),
            "" if entry.row is None else str(entry.row),
            *(table, printable(entry.column), code),
            clock(int(entry.kafka_time.timestamp() * 1000)) if entry.kafka_time else "",
            str(entry.cut),
        )
    put(console, entries)
    left = len(waiting) - SHOWN_ENTRIES
    facts(
        console,
        ("more", f"{left:,} are not shown" if left > 0 else ""),
        ("next", f"tidemark quarantine replay {pipeline}, once its cause is fixed"),
    )


def _kind(entry: Entry) -> tuple[str, str]:
    from tidemark.cli.console import printable

    return printable(entry.table) or NO_TABLE, entry.code.value


def show(  # noqa: PLR0913  options of a command are its arguments
    pipeline: Pipeline,
    topic: Topic,
    partition: Partition,
    offset: Offset,
    *,
    payload: Payload = False,
    as_json: AsJson = False,
) -> None:
    """Show what was quarantined of one record, and what became of it."""
    from tidemark.cli.console import facts, printable, stdout
    from tidemark.cli.session import catalog_world
    from tidemark.errors import UNCHANGED, ActionRefusedError
    from tidemark.lake.catalog import SystemTables
    from tidemark.lake.quarantine import of_record, read_entries, read_payload
    from tidemark.model.shown import clock

    spec, console, catalog = load_named(pipeline), stdout(), catalog_world().catalog
    tables, place = SystemTables.of(spec.name), (topic, partition, offset)
    entries = read_entries(catalog, tables, wanted=of_record(place))
    if not entries:
        raise ActionRefusedError(
            f"nothing was quarantined at offset {offset} of partition {partition} of topic {topic}",
            state=UNCHANGED,
            next_step=f"tidemark quarantine list {pipeline}",
        )
    text = None
    if payload:
        text = (read_payload(catalog, tables, place) or b"").decode("utf-8", "backslashreplace")
    if as_json:
        from tidemark.cli.documents import quarantine_document

        typer.echo(quarantine_document(pipeline, entries, text).model_dump_json())
        return
    for entry in entries:
        at = entry.kafka_time
        facts(
            console,
            (entry.code.value, f"{entry.state}, since cut {entry.cut}"),
            ("table", printable(entry.table)),
            ("column", printable(entry.column)),
            ("row", "" if entry.row is None else f"{entry.row} of the record"),
            ("position", entry.position),
            ("written", f"{clock(int(at.timestamp() * 1000))} UTC, to Kafka" if at else ""),
            ("value", f"{entry.bytes:,} bytes, SHA-256 {entry.sha256}"),
            ("because", entry.reason),
        )
        console.print()
    if text is not None:
        console.print(printable(text), soft_wrap=True)


def replay(
    pipeline: Pipeline,
    table: OfTable = None,
    code: WithCode = None,
    record: OfRecord = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Have the next cut try again what waits; all of it, unless some is named.

    It is read with today's columns and schemas, and never undoes what came after it.
    """
    from tidemark.cli.console import put_action
    from tidemark.cli.documents import ActionDocument
    from tidemark.cli.session import catalog_world
    from tidemark.model.shown import plural
    from tidemark.runs.orders import replay_entries

    selection = _selection(table, code, record)
    number = replay_entries(load_named(pipeline), catalog_world(), selection)
    action = ActionDocument(
        pipeline=pipeline,
        done=f"{plural(number, 'change')} will be tried again",
        details={},
        next=f"tidemark cut {pipeline}",
    )
    put_action(action, as_json=as_json)


def drop(  # noqa: PLR0913  options of a command are its arguments
    pipeline: Pipeline,
    reason: Why,
    table: OfTable = None,
    code: WithCode = None,
    record: OfRecord = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give up what waits; all of it, unless some is named. Rows stay as they are.

    It cannot be undone: without a filter it asks first.
    """
    from tidemark.cli.console import confirm, put_action
    from tidemark.cli.documents import ActionDocument
    from tidemark.cli.session import catalog_world
    from tidemark.model.shown import plural
    from tidemark.runs.orders import drop_entries

    spec, selection = load_named(pipeline), _selection(table, code, record)
    if not (yes or str(selection)):
        confirm(f"Drop everything in the quarantine of pipeline {pipeline}?")
    number = drop_entries(spec, catalog_world(), selection, reason)
    action = ActionDocument(
        pipeline=pipeline,
        done=f"{plural(number, 'change')} given up",
        details={"because": reason},
        next="",
    )
    put_action(action, as_json=as_json)


def _selection(table: OfTable, code: WithCode, record: OfRecord) -> Selection:
    from tidemark.model.quarantine import Selection

    return Selection("" if table is None else str(table), code, record)


VERBS: Mapping[str, Callable[..., None]] = {
    "list": list_waiting,
    "show": show,
    "replay": replay,
    "drop": drop,
}
