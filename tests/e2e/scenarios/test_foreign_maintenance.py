"""What others do to our tables between two cuts: maintenance goes unnoticed, the rest is named."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.support.altered_stream import rows_of, staged_column
from tests.support.kept import Logged, logged, soft_deleted
from tests.support.maintenance import (
    CALLS,
    call,
    deletion,
    insertion,
    load,
    merge,
    own_tables,
    pyiceberg_expiry,
    spark_maintenance,
    sql,
    target,
)
from tests.support.records import Record, debezium_row
from tests.support.stack import Stream, counted
from tidemark.errors import ForeignChangeError, SupersededError, TableStoppedError
from tidemark.lake import upkeep
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.evolve import read_target
from tidemark.lake.landing import read_mark
from tidemark.lake.ledger import read_progress
from tidemark.lake.marks import PUBLISHED, is_only_rewritten, read_published
from tidemark.lake.sql import TARGET_PROPERTIES
from tidemark.model.names import TableName
from tidemark.model.result import CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.maintain import maintain
from tidemark.runs.orders import begin_resync, end_resync
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

COLUMNS = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
MAINTENANCE = {
    **{name: spark_maintenance(name) for name in CALLS},
    "all": spark_maintenance(*CALLS),
    "expire_snapshots of pyiceberg": pyiceberg_expiry,
}
PARTS = (
    "u1@10=a u2@20=a u3@30=a u4@40=a u5@50=a",
    "u1@60=b d2@70 u3@80=b u6@90=b",
    "u1@100=c d3@110 u2@120=c",
    "d4@130 u7@140=d u1@150=d",
)


def told(event: Logged) -> Record:
    return debezium_row(event.op, event.key, event.place, name=event.value)


def opened(world: World, **options: object) -> Stream:
    return Stream(world, 1, "debezium-mysql", "none", COLUMNS, options).create()


def published(world: World, **options: object) -> Stream:
    """A stream that has published the first two parts."""
    stream = opened(world, **options)
    for part in PARTS[:2]:
        send(stream, logged(part))
        stream.cut()
    return stream


def send(stream: Stream, log: Sequence[Logged]) -> None:
    stream.send(map(told, log))


def mirrored(*parts: str) -> dict[int, str]:
    log = logged(" ".join(parts))
    return {key: value for key, (value, gone) in soft_deleted(log).items() if gone is None}


def landed(stream: Stream) -> list[int]:
    """Offsets in the changelog, each as often as it is there."""
    changelog = load(stream, SystemTables.of(stream.pipeline.name).changelog)
    return sorted(changelog.scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist())


@pytest.mark.parametrize("name", MAINTENANCE)
def test_maintenance_of_others_changes_nothing(world: World, name: str) -> None:
    """PUB-9, PUB-11, DUP-2, ACC-1: cuts go on from where they were, and nothing lands twice."""
    stream = published(world)
    sent = [event for part in PARTS[:2] for event in logged(part)]
    for number, part in enumerate(PARTS[2 : 4 if name == "all" else 3], start=3):
        MAINTENANCE[name](stream)
        batch = [sent[-1], *logged(part)]
        send(stream, batch)
        sent += batch
        result = stream.cut()
        assert result.cut == number
        assert sum(counted(result).values()) == len(batch)
        assert stream.rows() == mirrored(*PARTS[:number])
        assert landed(stream) == list(range(len(sent)))
    system = SystemTables.of(stream.pipeline.name)
    assert read_progress(world.catalog, system).landing == number
    assert list(read_mark(world.catalog, system).offsets.values()) == [len(sent)]


def erase(stream: Stream, *tables: TableId) -> None:
    """Take from ``tables`` what they say: the property, all older snapshots and metadata."""
    for table in tables:
        for name in ("rewrite_data_files", "expire_snapshots to the last"):
            call(stream, name.split(" ")[0], table, CALLS[name])
        with load(stream, table).transaction() as change:
            change.set_properties({"write.metadata.previous-versions-max": "1"})
        with load(stream, table).transaction() as change:
            change.remove_properties(PUBLISHED)


def test_a_lake_of_the_first_version_goes_on(world: World) -> None:
    """PUB-9: it has summaries alone, expired or not, and gets the property with the next cut."""
    stream = published(world)
    for name in own_tables(stream):
        table = load(stream, name)
        kept = read_published(table)
        assert kept is not None
        with table.transaction() as change:
            change.remove_properties(PUBLISHED)
            change.append(
                table.schema().as_arrow().empty_table(), snapshot_properties=dict(kept.marks)
            )
    with load(stream, SystemTables.of(stream.pipeline.name).ledger).update_schema() as columns:
        columns.delete_column("result")
    spark_maintenance("rewrite_data_files", "expire_snapshots to the last")(stream)
    found = pipeline_status(stream.pipeline, world)
    assert found.published is not None
    assert (found.published.result.cut, found.history, found.trouble) == (2, (), None)
    send(stream, logged(PARTS[2]))
    assert stream.cut().cut == 3
    (newest,) = pipeline_status(stream.pipeline, world).history
    assert newest.result.cut == 3
    assert stream.rows() == mirrored(*PARTS[:3])
    assert all(PUBLISHED in load(stream, table).properties for table in own_tables(stream))


@pytest.mark.parametrize("name", MAINTENANCE)
def test_an_attempt_goes_on_beside_maintenance(world: World, name: str) -> None:
    """PUB-12, PUB-5: what others rewrote or expired since it was staged has the same rows."""
    stream = published(world)
    send(stream, logged(PARTS[2]))
    request = CutRequest(stream.attempt())
    stage_cut(stream.pipeline, world, request)
    MAINTENANCE[name](stream)
    done = publish_cut(stream.pipeline, world, request.attempt)
    assert (done.cut, done.status) == (3, CutStatus.PUBLISHED)
    assert stream.rows() == mirrored(*PARTS[:3])
    MAINTENANCE[name](stream)
    again = publish_cut(stream.pipeline, world, request.attempt)
    assert (again.cut, again.status) == (3, CutStatus.PUBLISHED)
    found = pipeline_status(stream.pipeline, world)
    assert found.published is not None
    assert found.published.result.cut == 3
    send(stream, logged(PARTS[3]))
    assert stream.cut().cut == 4
    assert stream.rows() == mirrored(*PARTS)
    assert publish_cut(stream.pipeline, world, request.attempt).cut == 3


FORKED = {"rewrite_data_files": True, "expire_snapshots": True, "all": False}


@pytest.mark.parametrize(("name", "goes_on"), FORKED.items())
def test_a_staged_schema_change_goes_on_beside_maintenance(
    world: World, name: str, goes_on: bool
) -> None:
    """PUB-12, SCHEMA-10: its fork has the files of before; once those are expired, it is stale."""
    stream, table, request = staged_column(world)
    before = rows_of(stream)
    MAINTENANCE[name](stream)
    assert rows_of(stream) == before
    if goes_on:
        assert publish_cut(stream.pipeline, world, request.attempt).cut == 2
    else:
        with pytest.raises(SupersededError, match="was changed after its fork"):
            publish_cut(stream.pipeline, world, request.attempt)
        assert stream.cut().cut == 2
    assert rows_of(stream) == table.expected != before
    MAINTENANCE[name](stream)
    assert rows_of(stream) == table.expected


@pytest.mark.smoke
def test_erased_marks_are_refused(world: World) -> None:
    """PUB-10: nothing starts over by itself; once all of it is gone, everything does."""
    stream = published(world)
    system = SystemTables.of(stream.pipeline.name)
    erase(stream, target(stream))
    send(stream, logged(PARTS[2]))
    with pytest.raises(TableStoppedError, match=r"items is not as .* it has rows, but neither"):
        stream.cut()
    erase(stream, system.changelog)
    with pytest.raises(ForeignChangeError, match=r"changelog is not as .* it has rows, but"):
        plan_cut(stream.pipeline, world)
    world.catalog.drop_table(system.changelog.parts)
    with pytest.raises(ForeignChangeError, match=r"has 0 landings, .* landing 2 is published"):
        plan_cut(stream.pipeline, world)
    erase(stream, system.ledger)
    with pytest.raises(ForeignChangeError, match=r"ledger is not as .* it has rows, but neither"):
        plan_cut(stream.pipeline, world)
    for table in (system.ledger, target(stream)):
        world.catalog.drop_table(table.parts)
    assert stream.cut().cut == 1
    assert stream.rows() == mirrored(*PARTS[:3])


def test_a_lost_ledger_is_told_by_the_targets(world: World) -> None:
    """PUB-10: without it cuts would start over, on rows that they have made."""
    stream = published(world)
    world.catalog.drop_table(SystemTables.of(stream.pipeline.name).ledger.parts)
    send(stream, logged(PARTS[2]))
    with pytest.raises(TableStoppedError, match="was published by cut 2, and the ledger knows 0"):
        stream.cut()


@pytest.mark.smoke
def test_foreign_changes_of_a_target_stop_it_alone(world: World) -> None:
    """PUB-11: they are named, with the way back; other tables go on, and so does it once fixed."""
    others = {"source": "shop.others", "expectations": "none", **COLUMNS}
    items = {"source": "shop.items", "expectations": "none", **COLUMNS}
    options = {"tables": [items, others], "publish": {"consistency": "table"}}
    stream = published(world, **options)
    table, sent = target(stream), 2
    snapshot = load(stream, table).metadata.current_snapshot_id
    assert snapshot is not None
    first = load(stream, table).metadata.snapshot_log[0]
    changes = [
        insertion(stream, table),
        deletion(stream, table, "id = 1"),
        merge(stream, table),
        f"CALL lake.system.rollback_to_snapshot('{table}', {first.snapshot_id})",
    ]
    told_by = ["(append: 1 rows added", "behind snapshot", "(overwrite: ", "main was set back"]
    for statement, sentence in zip(changes, told_by, strict=True):
        sql(stream, statement)
        sent += 1
        stream.send([told(logged(f"u1@{sent}00=y")[0]), of_others(sent)])
        result = stream.cut()
        why = result.stopped["shop.items"]
        assert "is not as it was published: " in why
        assert sentence in why
        assert [one.target for one in result.tables] == [f"{stream.name}.others"]
        back = f"CALL lake.system.set_current_snapshot('{table}', {snapshot})"
        assert back in why
        sql(stream, back)
    stream.send([of_others(99)])
    result = stream.cut()
    assert not result.stopped
    assert stream.rows() == mirrored(*PARTS[:2]) | {1: "y"}


def of_others(number: int) -> Record:
    record = told(logged(f"u{number}@{number}01=z")[0])
    value = json.loads(record.value or b"")
    value["source"]["table"] = "others"
    return Record(json.dumps(value).encode(), record.key)


def test_a_new_snapshot_mends_what_somebody_did(world: World) -> None:
    """PUB-11, SNAP-8: where the published rows are gone, the table is re-snapshotted as it is."""
    stream = published(world)
    sql(stream, insertion(stream, target(stream)))
    sql(stream, deletion(stream, target(stream), "id = 4"))
    spark_maintenance("rewrite_data_files", "expire_snapshots to the last")(stream)
    send(stream, logged("u1@200=y"))
    with pytest.raises(TableStoppedError, match=f"resync {stream.name} shop.items") as stopped:
        stream.cut()
    assert "set_current_snapshot" not in str(stopped.value)
    begin_resync(stream.pipeline, world, TableName("shop", "items"))
    truth = mirrored(*PARTS[:2]) | {1: "y"}
    stream.send(
        debezium_row("r", key, 300, name=name, mark="incremental") for key, name in truth.items()
    )
    stream.cut()
    assert stream.rows() == truth | {9: "x"}
    end_resync(stream.pipeline, world, TableName("shop", "items"))
    stream.cut()
    assert stream.rows() == truth


def test_a_target_that_somebody_dropped_is_not_made_of_one_cut(world: World) -> None:
    """PUB-11: until a snapshot of the source fills a new one."""
    stream = published(world)
    world.catalog.drop_table(target(stream).parts)
    send(stream, logged(PARTS[2]))
    with pytest.raises(TableStoppedError, match="was published and is not there any more") as error:
        stream.cut()
    assert f"tidemark resync {stream.name} shop.items" in str(error.value)
    assert not world.catalog.table_exists(target(stream).parts)
    begin_resync(stream.pipeline, world, TableName("shop", "items"))
    assert stream.cut().status is CutStatus.PUBLISHED


@pytest.mark.smoke
def test_a_cut_that_changes_no_row_of_a_compacted_target(world: World) -> None:
    """PUB-11, PUB-12: it publishes what maintenance made, and nobody put the target back.

    Also where nothing is left of what came between that and main as it is now.
    """
    stream = published(world)
    items = TableName("shop", "items")
    begin_resync(stream.pipeline, world, items)
    stream.send(
        debezium_row("r", key, 95, name=name, mark="incremental")
        for key, name in mirrored(*PARTS[:2]).items()
    )
    stream.cut()
    MAINTENANCE["rewrite_data_files"](stream)
    compacted = load(stream, target(stream)).current_snapshot()
    end_resync(stream.pipeline, world, items)
    stream.cut()
    assert load(stream, target(stream)).current_snapshot() == compacted
    for _ in range(2):
        MAINTENANCE["all"](stream)
    forget_metadata(stream)
    assert compacted is not None
    assert not is_only_rewritten(load(stream, target(stream)), compacted.snapshot_id)
    send(stream, logged(PARTS[2]))
    stream.cut()
    assert stream.rows() == mirrored(*PARTS[:3])


@pytest.mark.smoke
def test_a_target_that_is_put_back_as_it_was_before_a_cut_stops(world: World) -> None:
    """PUB-11, SNAP-8: what it says of itself is sound, and the rows of that cut are missing."""
    stream = published(world)
    table, old = target(stream), load(stream, target(stream)).metadata_location
    send(stream, logged(PARTS[2]))
    stream.cut()
    newest = load(stream, table).metadata_location
    put_back(stream, old)
    assert stream.rows() == mirrored(*PARTS[:2])
    send(stream, logged(PARTS[3]))
    with pytest.raises(TableStoppedError, match=r"items is not as .*: cut 3 published") as stopped:
        stream.cut()
    assert "of cut 2, as an older file of its metadata has it" in str(stopped.value)
    assert "put it back from its newest metadata file; or have it re-" in str(stopped.value)
    put_back(stream, newest)
    assert stream.cut().cut == 4
    assert stream.rows() == mirrored(*PARTS)
    put_back(stream, old)
    begin_resync(stream.pipeline, world, TableName("shop", "items"))
    stream.send(
        debezium_row("r", key, 300, name=name, mark="incremental")
        for key, name in mirrored(*PARTS).items()
    )
    stream.cut()
    end_resync(stream.pipeline, world, TableName("shop", "items"))
    stream.cut()
    assert stream.rows() == mirrored(*PARTS)


ALTERED = {
    "RENAME COLUMN name TO nom": ("column `name` is called `nom`", "RENAME COLUMN nom TO name"),
    "SET TBLPROPERTIES ('write.merge.mode'='copy-on-write')": (
        "write.merge.mode is copy-on-write",
        "SET TBLPROPERTIES ('write.merge.mode'='merge-on-read')",
    ),
}


def test_an_altered_target_stops_alone(world: World) -> None:
    """PUB-11: the message says what was altered; once it is undone, the table goes on."""
    others = {"source": "shop.others", "expectations": "none", **COLUMNS}
    items = {"source": "shop.items", "expectations": "none", **COLUMNS}
    options = {"tables": [items, others], "publish": {"consistency": "table"}}
    stream, sent = published(world, **options), 2
    for altered, (sentence, undo) in ALTERED.items():
        sql(stream, f"ALTER TABLE lake.{target(stream)} {altered}")
        sent += 1
        stream.send([told(logged(f"u1@{sent}00=y")[0]), of_others(sent)])
        result = stream.cut()
        assert sentence in result.stopped["shop.items"]
        assert [table.target for table in result.tables] == [f"{stream.name}.others"]
        sql(stream, f"ALTER TABLE lake.{target(stream)} {undo}")
    stream.send([of_others(99)])
    assert not stream.cut().stopped
    assert stream.rows() == mirrored(*PARTS[:2]) | {1: "y"}
    sql(stream, f"ALTER TABLE lake.{target(stream)} SET TBLPROPERTIES ('format-version'='3')")
    stream.send([told(logged("u1@9999=z")[0]), of_others(100)])
    why = stream.cut().stopped["shop.items"]
    assert "its format version is 3, and 2 is written" in why
    assert f"next:  fold it again from the changelog: tidemark refold {stream.name}" in why


def test_a_table_that_may_lose_no_files_is_kept_as_far_as_it_may(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-12: neither its maintenance nor a cut fails by that."""
    monkeypatch.setattr(upkeep, "MAX_SNAPSHOTS", 1)
    monkeypatch.setattr(upkeep, "MAX_SNAPSHOT_AGE_MS", 0)
    stream = published(world)
    for name in (target(stream), SystemTables.of(stream.pipeline.name).ledger):
        sql(stream, f"ALTER TABLE lake.{name} SET TBLPROPERTIES ('gc.enabled'='false')")
    done = {table.table: table.skipped for table in maintain(stream.pipeline, world)}
    assert "gc.enabled" in done[str(target(stream))]
    send(stream, logged(PARTS[2]))
    assert stream.cut().cut == 3


def forget_metadata(stream: Stream) -> None:
    """Have the target change until no older file of its metadata is kept that it had before."""
    for number in range(int(TARGET_PROPERTIES["write.metadata.previous-versions-max"]) + 1):
        with load(stream, target(stream)).transaction() as change:
            change.set_properties({"somebody": str(number)})


def put_back(stream: Stream, metadata: str) -> None:
    """Have the target stand as ``metadata`` says, as somebody does who lost it."""
    stream.world.catalog.drop_table(target(stream).parts)
    stream.world.catalog.register_table(target(stream).parts, metadata)


@pytest.mark.parametrize("part", ["changelog", "ledger"])
def test_foreign_changes_of_own_tables_are_refused(world: World, part: str) -> None:
    """PUB-11: landings that count and cuts that are published cannot be taken back."""
    stream = published(world)
    table = getattr(SystemTables.of(stream.pipeline.name), part)
    snapshot = load(stream, table).metadata.current_snapshot_id
    back = f"CALL lake.system.set_current_snapshot('{table}', {snapshot})"
    older = load(stream, table).metadata.snapshot_log[-2].snapshot_id
    for statement, sentence in {
        deletion(stream, table, "true"): "behind snapshot",
        f"CALL lake.system.set_current_snapshot('{table}', {older})": "main was set back",
    }.items():
        sql(stream, statement)
        with pytest.raises(ForeignChangeError, match=rf"\.{part} is not as .*{sentence}") as error:
            plan_cut(stream.pipeline, world)
        assert back in str(error.value)
        sql(stream, back)
    send(stream, logged(PARTS[2]))
    stream.cut()
    assert stream.rows() == mirrored(*PARTS[:3])


def test_compaction_that_nobody_can_trace_is_told_by_rows(world: World) -> None:
    """PUB-11: its snapshots are expired and no file of metadata has them; rows are compared."""
    stream = published(world)
    table = target(stream)
    with load(stream, table).transaction() as change:
        change.set_properties({"write.metadata.previous-versions-max": "1"})
    twice = ("rewrite_data_files", "rewrite_manifests", "expire_snapshots to the last")
    for name in (*twice, *twice, "expire_snapshots to the last"):
        call(stream, name.split(" ")[0], table, CALLS[name])
    found = read_target(world.catalog, table)
    assert found is not None
    assert found.change == ""
    sql(stream, deletion(stream, table, "id = 4"))
    for name in (*twice, *twice):
        call(stream, name.split(" ")[0], table, CALLS[name])
    found = read_target(world.catalog, table)
    assert found is not None
    assert "are expired, and of its 5 rows 4 are there" in found.change
