"""Tables without a key through whole cuts: what is published, counted and refused."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]  # re-exported bare

from tests.support.records import (
    Record,
    boundary,
    canal_rows,
    canal_statement,
    ticdc_ddl,
    ticdc_row,
    ticdc_watermark,
)
from tests.support.stack import Stream, counted
from tests.unit.model.test_repeats import BINLOG, log_of, rows_after
from tidemark.errors import TableStoppedError
from tidemark.model.names import TableName
from tidemark.runs.orders import end_resync
from tidemark.runs.preview import preview_cut
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

Image = Mapping[str, Any]
COLUMNS = {"columns": {"id": "int", "name": "text"}}


def row(number: int | None, name: str | None = "x") -> Image:
    return {"id": number, "name": name}


def mysql(  # noqa: PLR0913  one per field that tests vary
    op: str,
    pos: int,
    before: Image | None,
    after: Image | None,
    *,
    nth: int = 0,
    mark: str = "false",
) -> Record:
    """A row of shop.items without a key; nth: of the rows at its place in the binlog."""
    source = {
        "snapshot": mark,
        "db": "shop",
        "table": "items",
        "file": "bin.000009",
        "pos": pos,
        "row": nth,
        "ts_ms": 1_700_000_000_000 + pos,
    }
    return Record(
        json.dumps({"op": op, "before": before, "after": after, "source": source}).encode()
    )


def inserted(pos: int, *images: Image) -> list[Record]:
    return [mysql("c", pos, None, image, nth=n) for n, image in enumerate(images)]


def truncated(pos: int) -> Record:
    return mysql("t", pos, None, None)


def snapshot(pos: int, *images: Image) -> list[Record]:
    """A whole snapshot of the source's one table."""
    marks = ["first", *(["true"] * (len(images) - 2)), "last"]
    return [mysql("r", pos, None, i, mark=m) for i, m in zip(images, marks, strict=True)]


def postgres(lsn: int, image: Image, order: int | None, table_order: int | None = None) -> Record:
    """An insert of transaction 812; order: its number there, None without metadata.

    table_order: likewise, among the changes of its table.
    """
    source = {
        "snapshot": "false",
        "schema": "shop",
        "table": "items",
        "sequence": json.dumps(["5", str(lsn)]),
        "lsn": lsn,
        "ts_ms": 1,
    }
    value = {"op": "c", "before": None, "after": image, "source": source}
    if order is not None:
        told = {"id": f"812:{lsn}", "total_order": order}
        if table_order is not None:
            told["data_collection_order"] = table_order
        value["transaction"] = told
    return Record(json.dumps(value).encode())


def within(transaction: str, *records: Record) -> list[Record]:
    """A transaction with these changes."""
    values = [json.loads(record.value or b"{}") for record in records]
    told = [{"id": transaction, "total_order": n} for n in range(1, len(values) + 1)]
    return [
        Record(json.dumps({**value, "transaction": one}).encode())
        for value, one in zip(values, told, strict=True)
    ]


def spread(records: Sequence[Record], start: int = 0) -> list[Record]:
    """As a connector sends what has no key: by one of three partitions after the other."""
    return [replace(one, partition=n % 3) for n, one in enumerate(records, start)]


def keyless(record: Record) -> Record:
    """A record of Canal or TiCDC whose table has no key."""
    value = json.loads(record.value or b"{}")
    return Record(json.dumps({**value, "pkNames": []}).encode(), partition=record.partition)


def opened(world: World, kind: str, *records: Record, **options: Any) -> Stream:
    gate = "watermark" if kind == "ticdc-canal-json" else "none"
    table = COLUMNS if kind.startswith("debezium") else {}
    stream = Stream(world, options.pop("partitions", 1), kind, gate, table, options).create()
    stream.send(records)
    return stream


def published(stream: Stream) -> Counter[tuple[int | None, str | None]]:
    """Rows as pyiceberg reads them, each as often as it is there."""
    return Counter((row["id"], row["name"]) for row in stream.published())


def test_equal_rows_are_kept_and_one_goes_at_a_time(world: World) -> None:
    """KEY-14, KEY-15, ACC-1: nulls are equal, and each change is counted once."""
    stream = opened(world, "debezium-mysql", *inserted(10, row(1), row(1), row(None, None)))
    preview = preview_cut(stream.pipeline, world).tables[0]
    assert (preview.has_key, preview.stopped) == (False, "")
    assert counted(stream.cut()) == {"applied": 3}
    assert published(stream) == {(1, "x"): 2, (None, None): 1}
    stream.send([mysql("d", 20, row(1), None), mysql("u", 30, row(None, None), row(2))])
    assert counted(stream.cut()) == {"applied": 3}
    assert published(stream) == {(1, "x"): 1, (2, "x"): 1}
    stream.send([*inserted(40, row(3)), mysql("u", 50, row(3), row(4)), *inserted(60, row(1))])
    assert counted(stream.cut()) == {"applied": 2, "superseded": 2}
    assert published(stream) == {(1, "x"): 2, (2, "x"): 1, (4, "x"): 1}


@pytest.mark.smoke
def test_what_is_sent_again_changes_nothing(world: World) -> None:
    """POS-14, POS-20: in the same cut, and at the very place that was reached before."""
    first = [*inserted(10, row(1), row(1)), *inserted(20, row(1)), mysql("d", 30, row(1), None)]
    stream = opened(world, "debezium-mysql", *first, *first)
    assert counted(stream.cut()) == {"applied": 2, "superseded": 2, "duplicate": 4}
    stream.send(first)
    assert counted(stream.cut()) == {"duplicate": 4}
    stream.send([first[-1]])
    assert counted(stream.cut()) == {"duplicate": 1}
    assert published(stream) == {(1, "x"): 2}
    stream.send([mysql("d", 30, row(1), None, nth=1), first[-1]])
    assert counted(stream.cut()) == {"applied": 1, "duplicate": 1}
    assert published(stream) == {(1, "x"): 1}


def test_a_truncate_ends_what_came_before_it(world: World) -> None:
    """TRUNC-2: equal rows stand at places of their own."""
    stream = opened(world, "debezium-mysql", *inserted(10, row(1), row(1)))
    stream.cut()
    stream.send([*inserted(20, row(1)), truncated(30), *inserted(40, row(1), row(1), row(2))])
    stream.cut()
    assert published(stream) == {(1, "x"): 2, (2, "x"): 1}
    stream.send([mysql("d", 50, row(1), None), truncated(30)])
    stream.cut()
    assert published(stream) == {(1, "x"): 1, (2, "x"): 1}


def test_a_new_snapshot_takes_over_what_is_there(world: World) -> None:
    """SNAP-6, TOP-7: no row shows twice meanwhile, and what the source lost goes with its end."""
    images = [row(1), row(1), row(2), row(3), row(4), row(5)]
    stream = opened(world, "debezium-mysql", *snapshot(100, *images))
    stream.cut()
    stream.send(snapshot(200, *images[:5], row(6))[:4])
    stream.cut()
    assert published(stream) == {(1, "x"): 2, **{(n, "x"): 1 for n in (2, 3, 4, 5)}}
    again = [*snapshot(200, *images[:5], row(6)), mysql("d", 210, row(1), None)]
    stream.send(again)
    stream.cut()
    stream.cut()
    assert published(stream) == {(n, "x"): 1 for n in (1, 2, 3, 4, 6)}
    assert pipeline_status(stream.pipeline, world).snapshots == {}


def test_a_snapshot_that_lacks_many_rows_waits_for_a_person(world: World) -> None:
    """SNAP-6: rows that it has do not count as missing."""
    stream = opened(world, "debezium-mysql", *snapshot(100, *map(row, range(150))))
    stream.cut()
    stream.send(snapshot(200, row(0), row(1)))
    stream.cut()
    stream.cut()
    assert published(stream) == {(n, "x"): 1 for n in range(150)}
    said = pipeline_status(stream.pipeline, world).snapshots[TableName("shop", "items")]
    assert "it lacks 148 rows" in said
    end_resync(stream.pipeline, world, TableName("shop", "items"))
    stream.cut()
    assert published(stream) == {(0, "x"): 1, (1, "x"): 1}


def test_a_delete_waits_for_the_row_that_it_ends(world: World) -> None:
    """NO_MATCH: nothing of the cut is published, and what comes later fixes it."""
    stream = opened(world, "debezium-mysql", mysql("d", 20, row(1, "secret"), None))
    with pytest.raises(TableStoppedError, match=r"NO_MATCH.* at offset 0 of partition 0") as why:
        stream.cut()
    assert "secret" not in str(why.value)
    assert "REPLICA IDENTITY FULL" in str(why.value)
    stream.send([mysql("c", 10, None, row(1, "secret")), *inserted(30, row(2))])
    stream.cut()
    assert published(stream) == {(2, "x"): 1}


def test_a_change_without_its_whole_row_stops_the_table(world: World) -> None:
    """KEY-15."""
    stream = opened(world, "debezium-mysql", *inserted(10, row(1)))
    stream.cut()
    stream.send([mysql("u", 20, None, row(2))])
    with pytest.raises(TableStoppedError, match="do not hold the whole row"):
        stream.cut()
    assert published(stream) == {(1, "x"): 1}


@pytest.mark.smoke
def test_what_comes_again_is_known_by_whichever_partition(world: World) -> None:
    """POS-14: in one cut, in the next one, and by a partition that had not come so far."""
    first = [
        *spread(inserted(10, row(1), row(1), row(2))),
        *spread([mysql("d", 20, row(2), None), *inserted(30, row(3))], 2),
    ]
    again = [replace(record, partition=(record.partition + 1) % 3) for record in first]
    stream = opened(world, "debezium-mysql", *first, again[0], partitions=3)
    assert counted(stream.cut()) == {"applied": 3, "superseded": 2, "duplicate": 1}
    stream.send([*again, *spread(inserted(40, row(1)))])
    assert counted(stream.cut()) == {"applied": 1, "duplicate": 5}
    stream.send([*first, *spread([mysql("d", 50, row(1), None)], 1)])
    assert counted(stream.cut()) == {"applied": 1, "duplicate": 5}
    assert published(stream) == {(1, "x"): 2, (3, "x"): 1}


def made_at(record: Record, nanos: int) -> Record:
    """The record with the moment in which a connector since Debezium 2.6 made it."""
    return replace(
        record, value=json.dumps({**json.loads(record.value or b""), "ts_ns": nanos}).encode()
    )


def test_changes_come_by_two_topics(world: World) -> None:
    """POS-14: as after RENAME TABLE; what a snapshot reads has its offset alone."""
    stream = Stream(world, 1, "debezium-mysql", "none", COLUMNS).create()
    other = f"{stream.topic}.renamed"
    stream.source = {"topics": {"data": [stream.topic, other]}}
    stream.admin.create_topics([NewTopic(other, 1, 1)])[other].result(timeout=30)
    changes = [mysql("d", 30, row(1), None), *inserted(40, row(2), row(2))]
    for _ in range(2):
        stream.send([*snapshot(10, row(1), row(1)), *inserted(20, row(1))])
        stream.send(changes, other)
        stream.cut()
        assert published(stream) == {(1, "x"): 2, (2, "x"): 2}
    stream.send(inserted(50, row(3)))
    stream.send([mysql("u", 60, row(3), row(4)), *inserted(70, row(3))], other)
    stream.cut()
    assert published(stream) == {(1, "x"): 2, (2, "x"): 2, (3, "x"): 1, (4, "x"): 1}
    stream.send(snapshot(80, row(5), row(5)))
    stream.send(snapshot(80, row(5), row(6)), other)
    with pytest.raises(TableStoppedError, match="2 topics have rows of it"):
        stream.cut()


@pytest.mark.parametrize("has_moments", [True, False])
def test_rows_of_a_snapshot_that_come_twice(world: World, has_moments: bool) -> None:
    """POS-14: in several partitions copies are known by the moment in which they were made."""
    read = snapshot(100, row(1), row(1), row(2), row(2))
    if has_moments:
        read = [made_at(record, nanos) for nanos, record in enumerate(read)]
    stream = opened(world, "debezium-mysql", *spread([*read, *read[1:3]]), partitions=3)
    if not has_moments:
        with pytest.raises(TableStoppedError, match="rows of a snapshot of it came twice"):
            stream.cut()
        return
    stream.cut()
    assert published(stream) == Counter({(1, "x"): 2, (2, "x"): 2})
    stream.send(spread([*read, mysql("d", 200, row(1), None)], start=1))
    stream.cut()
    assert published(stream) == Counter({(1, "x"): 1, (2, "x"): 2})


def test_a_snapshot_that_comes_again_in_its_midst_is_one(world: World) -> None:
    """POS-14, SNAP-4: its first mark comes twice in one partition, and an equal row behind it."""
    read = snapshot(100, row(1), row(3), row(2), row(2))
    read = [made_at(record, nanos) for nanos, record in enumerate(read)]
    stream = opened(world, "debezium-mysql", *read[:3], *read[:2], *read[3:])
    assert counted(stream.cut())["duplicate"] == 2
    assert published(stream) == {(1, "x"): 1, (2, "x"): 2, (3, "x"): 1}


def test_a_snapshot_that_is_repeated_at_one_place_stops_the_table(world: World) -> None:
    """POS-14, SNAP-4: nothing tells which of the two a row was read by."""
    read = [
        [made_at(one, n) for n, one in enumerate(snapshot(100, row(1), row(2)), start)]
        for start in (0, 9)
    ]
    stream = opened(world, "debezium-mysql", *spread([*read[0], *read[1]]), partitions=3)
    with pytest.raises(TableStoppedError, match="rows of a snapshot of it came twice"):
        stream.cut()


def test_a_number_in_a_transaction_tells_rows_of_one_partition_alone(world: World) -> None:
    """POS-5, POS-14: a connector that starts over inside a transaction counts from 1 again."""
    first = [postgres(10, row(1), 2), postgres(20, row(2), 3)]
    stream = opened(world, "debezium-postgres", *spread(first), partitions=3)
    stream.cut()
    stream.send(spread([*first, postgres(30, row(3), 1)], 1))
    stream.cut()
    assert published(stream) == {(1, "x"): 1, (2, "x"): 1, (3, "x"): 1}
    stream.send([replace(postgres(20, row(2), 1), partition=2)])
    with pytest.raises(TableStoppedError, match="it was sent again or is another one"):
        stream.cut()
    assert published(stream) == {(1, "x"): 1, (2, "x"): 1, (3, "x"): 1}


def test_a_number_among_changes_of_its_table_shows_what_came_again(world: World) -> None:
    """POS-5, POS-14: a connector started over behind changes of other tables, in a transaction."""
    stream = opened(world, "debezium-postgres", partitions=3)
    stream.send([postgres(10, row(1), 7, 1), replace(postgres(20, row(2), 9, 2), partition=1)])
    stream.cut()
    again = [postgres(10, row(1), 2, 1), postgres(20, row(2), 4, 2), postgres(30, row(3), 5, 3)]
    stream.send([replace(one, partition=2) for one in again])
    stream.cut()
    assert published(stream) == {(1, "x"): 1, (2, "x"): 1, (3, "x"): 1}
    # Rows of a COPY have one LSN: the second one of it is no copy of the first.
    stream.send([replace(postgres(30, row(3), 6, 4), partition=1)])
    with pytest.raises(TableStoppedError, match="it was sent again or is another one"):
        stream.cut()


def test_a_key_comes_with_a_new_target_alone(world: World) -> None:
    """KEY-1."""
    stream = opened(world, "debezium-mysql", *inserted(10, row(1)))
    stream.cut()
    stream.send(inserted(20, row(2)))
    stream.table = {**COLUMNS, "key": ["id"]}
    with pytest.raises(TableStoppedError, match=r"now the key is \['id'\]"):
        stream.cut()
    assert published(stream) == {(1, "x"): 1}


def test_records_may_tell_a_key_that_the_statement_did_not(world: World) -> None:
    """KEY-1: a unique index, say; there is no row yet."""
    create = ticdc_ddl("CREATE TABLE items (id BIGINT NOT NULL UNIQUE, name TEXT)", 90)
    stream = opened(world, "ticdc-canal-json", create, ticdc_watermark(100))
    stream.cut()
    stream.send([ticdc_row("INSERT", 1, 110), ticdc_row("INSERT", 1, 120), ticdc_watermark(200)])
    stream.cut()
    table = world.catalog.load_table((stream.name, "items"))
    assert "_tidemark_row" not in table.schema().column_names
    assert published(stream) == {(1, "x"): 1}


def test_random_histories(world: World, seed: int) -> None:
    """DUP-2, TRUNC-2: cuts anywhere, and stretches that are sent again."""
    rng = random.Random(f"without key {seed}")  # noqa: S311  repeatable, not secret
    log = log_of(rng, BINLOG)
    stream = opened(world, "debezium-mysql")
    at = furthest = 0
    while furthest < len(log):
        step = rng.randint(4, 12)
        stream.send(_written(log[at : at + step]))
        at = min(at + step, len(log))
        furthest = max(furthest, at)
        at = rng.randrange(at) if rng.random() < 0.4 else at
        stream.cut()
        assert published(stream) == {(1, v): n for v, n in rows_after(log[:furthest]).items()}


def _written(log: Sequence[Any]) -> list[Record]:
    def image(value: str | None) -> Image | None:
        return None if value is None else row(1, value)

    return [mysql(r.op, r.event, image(r.before), image(r.after), nth=r.row) for r in log]


def test_rows_of_a_copy_are_told_by_their_number(world: World) -> None:
    """POS-14: PostgreSQL writes equal rows of one COPY at one LSN."""
    copied = [postgres(20, row(1), order) for order in (1, 2)]
    stream = opened(world, "debezium-postgres", *copied, copied[1])
    assert counted(stream.cut()) == {"applied": 2, "duplicate": 1}
    stream.send([copied[1], postgres(30, row(1), 1)])
    assert counted(stream.cut()) == {"applied": 1, "duplicate": 1}
    assert published(stream) == {(1, "x"): 3}


def test_equal_rows_at_one_place_stop_the_table_where_nothing_tells_them(world: World) -> None:
    """POS-14: without the number, unless the partition went back between them."""
    first = [postgres(10, row(1), None), postgres(20, row(2), None)]
    stream = opened(world, "debezium-postgres", *first, *first)
    assert counted(stream.cut()) == {"applied": 2, "duplicate": 2}
    stream.send([postgres(30, row(3), None)] * 2)
    with pytest.raises(TableStoppedError, match="it was sent again or is another one"):
        stream.cut()
    assert published(stream) == {(1, "x"): 1, (2, "x"): 1}


def test_a_transaction_that_comes_again_is_counted_once(world: World) -> None:
    """POS-14, GATE-T5: its repeat stands below the frontier, or at the place that was reached."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", COLUMNS).create()
    first, second = (f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{n}" for n in (1, 2))
    rows = within(first, *inserted(10, row(1), row(1)), mysql("d", 20, row(1), None))
    ends = [boundary("BEGIN", first), boundary("END", first, 3)]
    stream.send(rows)
    stream.send(ends, stream.transactions)
    assert counted(stream.cut()) == {"applied": 1, "superseded": 2, "control": 2}
    more = within(second, mysql("d", 30, row(1), None), *inserted(40, row(2)))
    stream.send([*rows, *more])
    ends += [boundary("BEGIN", second), boundary("END", second, 2)]
    stream.send(ends, stream.transactions)
    assert counted(stream.cut()) == {"applied": 2, "duplicate": 3, "control": 4}
    assert published(stream) == {(2, "x"): 1}


def test_canal_tells_what_an_update_changed(world: World) -> None:
    """KEY-15, MSG-41, MSG-42, MSG-43: a null in the old image is a value."""
    one, two, nothing = ({"id": str(n), "name": v} for n, v in ((1, "x"), (2, "x"), (3, None)))
    stream = opened(world, "canal-json", keyless(canal_rows("INSERT", one, one, two, nothing)))
    stream.cut()
    old = [{"id": "2"}, {"name": None}]
    changed = keyless(canal_rows("UPDATE", one, {"id": "3", "name": "y"}, old=old))
    stream.send([changed, keyless(canal_rows("DELETE", one))])
    stream.cut()
    assert published(stream) == {(1, "x"): 2, (3, "y"): 1}
    stream.send([keyless(canal_rows("UPDATE", {"id": "1"}, old=[{"id": "3"}]))])
    with pytest.raises(TableStoppedError, match="do not hold the whole row"):
        stream.cut()


def test_rows_that_are_older_than_a_column_are_found(world: World) -> None:
    """KEY-15, SCHEMA-14, SCHEMA-30: by what the source gave them, and under the name of now."""
    one = {"id": "1", "name": "x"}
    stream = opened(world, "canal-json", keyless(canal_rows("INSERT", one, one)))
    stream.cut()
    now = {"id": "1", "title": "x", "n": "7"}
    deleted = json.loads(keyless(canal_rows("DELETE", now, n="int")).value or b"{}")
    deleted["mysqlType"]["title"] = deleted["mysqlType"].pop("name")
    stream.send(
        [
            canal_statement("ALTER", "ALTER TABLE items ADD COLUMN n INT NOT NULL DEFAULT 7"),
            canal_statement("ALTER", "ALTER TABLE items RENAME COLUMN name TO title"),
            Record(json.dumps(deleted).encode()),
        ]
    )
    stream.cut()
    table = stream.published()
    assert [(r["id"], r["title"], r["n"]) for r in table] == [(1, "x", 7)]


def test_ticdc_sends_again_by_another_partition(world: World) -> None:
    """POS-14, GATE-W8, TOP-3: as a changefeed does that learns of more partitions."""
    sent = [keyless(ticdc_row("INSERT", n, 100 + n)) for n in (1, 2)]
    gone = keyless(ticdc_row("DELETE", 1, 150))
    stream = opened(world, "ticdc-canal-json", *sent, gone, ticdc_watermark(101))
    stream.cut()
    stream.grow(2)
    again = [replace(record, partition=1) for record in (*sent, gone)]
    marks = [ticdc_watermark(200), ticdc_watermark(200, partition=1)]
    stream.send([*again, *marks])
    assert counted(stream.cut()) == {"superseded": 2, "applied": 1, "duplicate": 3, "control": 2}
    assert published(stream) == {(2, "x"): 1}
    stream.send([*again, ticdc_watermark(300), ticdc_watermark(300, partition=1)])
    assert counted(stream.cut()) == {"duplicate": 3, "control": 2}
    equal = keyless(ticdc_row("INSERT", 3, 310))
    stream.send([equal, *[replace(equal, partition=1)] * 2])
    stream.send([ticdc_watermark(400), ticdc_watermark(400, partition=1)])
    with pytest.raises(TableStoppedError, match="it is unknown which"):
        stream.cut()
    assert published(stream) == {(2, "x"): 1}


def test_rows_that_differ_in_what_the_target_lacks_stop_it(world: World) -> None:
    """POS-14: a dispatcher by columns may send two such rows of one commit to two partitions."""
    table = {"target-columns": {"exclude": ["name"]}}
    stream = Stream(world, 2, table=table).create()
    rows = [ticdc_row("INSERT", 1, 110, name=name, partition=n) for n, name in enumerate("xy")]
    stream.send(map(keyless, rows))
    stream.send([ticdc_watermark(200), ticdc_watermark(200, partition=1)])
    with pytest.raises(TableStoppedError, match="it was sent again or is another one"):
        stream.cut()


def test_ticdc_sends_again_what_a_watermark_promised(world: World) -> None:
    """GATE-W3, GATE-5, POS-14."""
    sent = [keyless(ticdc_row("INSERT", n, 100 + n)) for n in (1, 2)]
    mark = ticdc_watermark(200)
    stream = opened(world, "ticdc-canal-json", *sent, mark, *sent, mark)
    assert counted(stream.cut()) == {"applied": 2, "duplicate": 2, "control": 2}
    stream.send([*sent, keyless(ticdc_row("DELETE", 1, 210)), ticdc_watermark(300)])
    assert counted(stream.cut()) == {"applied": 1, "duplicate": 2, "control": 1}
    assert published(stream) == {(2, "x"): 1}
    stream.send([keyless(ticdc_row("INSERT", 3, 310))] * 2)
    stream.send([ticdc_watermark(400)])
    with pytest.raises(TableStoppedError, match="it is unknown which"):
        stream.cut()
    assert published(stream) == {(2, "x"): 1}
