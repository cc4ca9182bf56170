"""The feed of a target: what changed between two cuts, for all pairs of them (FEED-1).

The feed is applied to the rows of the one cut, as pyiceberg reads them, and must give those of the
other. In between, files and deletes are rewritten as maintenance does.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC
from itertools import combinations
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.records import TABLE, postgres_row
from tests.support.stack import Stream
from tidemark.cli import changes as changes_command
from tidemark.cli import session
from tidemark.cli.app import app
from tidemark.errors import ActionRefusedError
from tidemark.model.names import TableName
from tidemark.runs.changes import ChangedKey, Moment, changed_keys, changes_between, open_changes
from tidemark.runs.world import World

ITEMS = TableName.parse(TABLE)
TYPED = {"columns": {"id": "integer", "name": "text"}}
OWN = ("_tidemark_position", "_tidemark_commit_time")
REWRITES = ("rewrite_data_files", "rewrite_position_delete_files")
Rows = Counter[str]


def told(row: Mapping[str, Any]) -> str:
    """``row`` as text; Spark gives times without a zone, in that of this process."""
    shown = {n: v for n, v in row.items() if n not in OWN}
    return json.dumps(shown, default=lambda at: at.astimezone(UTC).isoformat(), sort_keys=True)


def published(stream: Stream, snapshot: int) -> Rows:
    table = stream.world.catalog.load_table((stream.name, "items"))
    return Counter(map(told, table.scan(snapshot_id=snapshot).to_arrow().to_pylist()))


def applied(rows: Rows, feed: Sequence[Mapping[str, Any]]) -> Rows:
    """``rows`` after the changes of ``feed``; whatever goes must be there."""
    after = Counter(rows)
    for kind, sign in (("DELETE", -1), ("UPDATE_BEFORE", -1), ("UPDATE_AFTER", 1), ("INSERT", 1)):
        for change in feed:
            if change["_change_type"] == kind:
                image = told({n: v for n, v in change.items() if n != "_change_type"})
                after[image] += sign
                assert after[image] >= 0, f"{kind} of a row that is not there: {image}"
    return +after


def feed(stream: Stream, before: int, after: int) -> list[dict[str, Any]]:
    with changes_between(stream.pipeline, stream.world, ITEMS, before, after) as rows:
        return [row.asDict() for row in rows.collect()]


def rewrite(stream: Stream, procedure: str) -> None:
    catalog = stream.world.catalog.name
    options = "map('rewrite-all', 'true')"
    stream.world.spark.sql(
        f"CALL {catalog}.system.{procedure}(table => '{stream.name}.items', options => {options})"
    )


@pytest.mark.parametrize("mode", ["mirror", "no key", "history", "append", "soft-delete"])
def test_the_feed_of_all_pairs_of_cuts(world: World, mode: str) -> None:
    """FEED-1: exact under merge-on-read, in every mode, with rewrites of files in between."""
    rng = random.Random(f"feed {mode}")  # noqa: S311  repeatable, not secret
    options = {} if mode == "no key" else {"key": ["id"], "mode": mode}
    stream = Stream(world, 1, "debezium-postgres", "none", {**TYPED, **options}).create()
    snapshots: dict[int, int] = {}
    rows: dict[int, str] = {}
    at = 100
    for number in range(5):
        records = []
        for _ in range(12):
            at += 1
            known = rng.randint(1, 9)
            was, name = rows.get(known), f"n{rng.randint(1, 3)}"
            if was is not None and (mode == "no key" or rng.random() < 0.4):
                del rows[known]
                records.append(postgres_row("d", known, (at, at), name=was))
            else:
                rows[known] = name
                op = "c" if was is None else "u"
                records.append(postgres_row(op, known, (at, at), name=name))
        stream.send(replace(one, key=None) if mode == "no key" else one for one in records)
        result = stream.cut()
        snapshots[result.cut] = result.tables[0].snapshot_id
        if number in (1, 2):
            rewrite(stream, REWRITES[number - 1])
    for before, after in combinations(snapshots, 2):
        changes = feed(stream, before, after)
        came = applied(published(stream, snapshots[before]), changes)
        assert came == published(stream, snapshots[after]), (before, after)
        images = Counter(change["_change_type"] for change in changes)
        assert images["UPDATE_BEFORE"] == images["UPDATE_AFTER"]
    newest = max(snapshots)
    assert applied(Counter(), feed(stream, 0, newest)) == published(stream, snapshots[newest])
    assert feed(stream, newest, newest) == []


def test_rows_are_named_by_key_and_columns_that_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FEED-1: an added column beside them, and a value that is masked in the target stays so."""
    table = {**TYPED, "target-columns": {"hash": ["name"]}}
    stream = Stream(world, 1, "debezium-postgres", "none", table).create()
    stream.send([postgres_row("c", n, (100, 100 + n), name=f"n{n}") for n in range(1, 5)])
    stream.cut()
    target = world.catalog.load_table((stream.name, "items"))
    published_first = target.refs()["main"].snapshot_id
    target.manage_snapshots().create_tag(published_first, "first").commit()
    columns = {**TYPED["columns"], "note": "text"}
    stream.table = {**table, "columns": columns}
    stream.send(
        [
            postgres_row("u", 1, (200, 201), name="other", note=None),
            postgres_row("u", 2, (200, 202), name="n2", note="new"),
            postgres_row("d", 3, (200, 203), name="n3", note=None),
            postgres_row("c", 9, (200, 204), name="n9", note=None),
        ]
    )
    stream.cut()
    with open_changes(stream.pipeline, world, ITEMS, (1, 2)) as changes:
        keys, first = changed_keys(changes, 9), changed_keys(changes, 2)
        told = changes.columns
    assert told == ("note string was added",)
    assert keys == [
        ChangedKey((1,), "UPDATE", ("name",)),
        ChangedKey((2,), "UPDATE", ("note",)),
        ChangedKey((3,), "DELETE"),
        ChangedKey((9,), "INSERT"),
    ]
    assert first == keys[:2]
    with open_changes(stream.pipeline, world, ITEMS, ("first", 2)) as by_tag:
        assert changed_keys(by_tag, 9) == keys
    with (
        pytest.raises(ActionRefusedError, match="has no tag second; it has first"),
        open_changes(stream.pipeline, world, ITEMS, (1, "second")),
    ):
        pass
    target.refresh()
    newest = target.refs()["main"].snapshot_id
    target.manage_snapshots().create_tag(newest, "newest").commit()
    moments: list[tuple[Moment, Moment]] = [("newest", 1), ("newest", "first"), (0, 0)]
    for backwards in [*moments, ("first", 0)]:
        with (
            pytest.raises(ActionRefusedError, match="there are no changes from"),
            open_changes(stream.pipeline, world, ITEMS, backwards),
        ):
            pass
    says_what_changed(stream, monkeypatch)


def says_what_changed(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of ``stream``, whose target has a tag of its first cut."""

    @contextmanager
    def spark_world(*_: object) -> Iterator[World]:
        yield stream.world  # The command's own would end the session of all tests.

    monkeypatch.setattr(session, "spark_world", spark_world)
    monkeypatch.setattr(changes_command, "load_named", lambda _: stream.pipeline)
    of = ["changes", stream.name, TABLE, "--from", "first"]
    shown = CliRunner().invoke(app, [*of, "--keys", "2"])
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.stdout.split())
    for said in ("inserted 1", "updated 2", "deleted 1", "note string was added"):
        assert said in words
    assert "id=1: UPDATE of name" in words
    assert "id=3" not in words
    lines = CliRunner().invoke(app, [*of, "--to", "2", "--json"]).stdout.splitlines()
    kinds = Counter(json.loads(line)["_change_type"] for line in lines)
    assert kinds == {"UPDATE_BEFORE": 2, "UPDATE_AFTER": 2, "DELETE": 1, "INSERT": 1}
    assert CliRunner().invoke(app, [*of, "--to", "0"]).exit_code != 0
    assert CliRunner().invoke(app, [*of, "--keys", "1001"]).exit_code != 0


def test_what_is_not_kept_is_said(world: World) -> None:
    """FEED-1: a snapshot that expired, and a cut that is none."""
    stream = Stream(world, 1, "debezium-postgres", "none", TYPED).create()
    snapshots = []
    for at in (100, 200):
        stream.send([postgres_row("c", at, (at, at), name="a")])
        snapshots.append(stream.cut().tables[0].snapshot_id)
    with pytest.raises(ActionRefusedError, match="from cut 1 to cut 3; the newest cut is 2"):
        feed(stream, 1, 3)
    table = world.catalog.load_table((stream.name, "items"))
    table.maintenance.expire_snapshots().by_id(snapshots[0]).commit()
    with pytest.raises(ActionRefusedError, match=r"(?s)what cut 1 published.*tidemark refold"):
        feed(stream, 1, 2)
