"""Names and statements that mean harm, in cuts into real tables: they are taken for text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile import SECRET_VARIABLE, VICTIM, names, statements
from tests.support.records import Record, canal_message, ticdc_ddl, ticdc_row, ticdc_watermark
from tests.support.stack import Stream, counted
from tidemark.model.names import refusal, with_dots
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World
from tidemark.schema.changes import ICEBERG_OWN

HOSTILE = names(500)
TABLES = 20
SECRET = "5ecret-0f-the-driver"  # noqa: S105  a canary


def row(table: str, columns: Sequence[str], commit_ts: int) -> Record:
    """Row 1 of a table whose columns hold their own names."""
    return canal_message(
        "INSERT",
        tidb={"commitTs": commit_ts},
        table=table,
        pkNames=["id"],
        sqlType={"id": -5, **dict.fromkeys(columns, 12)},
        mysqlType={"id": "bigint", **dict.fromkeys(columns, "text")},
        data=[{"id": "1", **{name: name for name in columns}}],
    )


def distinct(drawn: Sequence[str]) -> list[str]:
    """Those of ``drawn`` that may be used, without such as Spark does not tell apart."""
    taken = ICEBERG_OWN | {"id"}
    usable = (name for name in drawn if refusal(name) is None and name.lower() not in taken)
    return list({name.casefold(): name for name in usable}.values())


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def everything(world: World) -> dict[tuple[str, ...], str]:
    """Each table of the catalog, and where its newest metadata is."""
    found = [
        name
        for space in world.catalog.list_namespaces()
        for name in world.catalog.list_tables(space)
    ]
    return {name: world.catalog.load_table(name).metadata_location for name in found}


def test_hostile_names_are_names_of_tables_and_columns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POISON-6: five hundred of them, in one cut beside a table of somebody else."""
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    usable = distinct(HOSTILE)
    refused = [name for name in HOSTILE if refusal(name) and "\ud800" not in name and name]
    named, columns = (
        usable[:: len(usable) // TABLES][:TABLES],
        [usable[at::TABLES] for at in range(TABLES)],
    )
    stream = Stream(world, options={"other-tables": "follow"}).create()
    state = Path(world.installation.state)
    warehouse = Path(world.installation.catalog.warehouse)
    beside = set(state.parent.iterdir())
    stream.send([row(table, of, 100) for table, of in zip(named, columns, strict=True)])
    stream.send([row(table, [table], 101) for table in refused])
    stream.send([ticdc_watermark(200)])
    previewed = {table.target for table in preview_cut(stream.pipeline, world).tables}
    result = stream.cut()
    assert result.stopped == {}
    assert counted(result) == {  # a warning in the log names those that are refused
        "applied": len(named),
        "filtered": len(refused),
        "control": 1,
    }
    assert {table.target for table in result.tables} == previewed
    assert {with_dots(target.partition(".")[2]) for target in previewed} == set(named)

    targets = {name for _, name in world.catalog.list_tables(stream.name)}
    assert {with_dots(name) for name in targets} == set(named)
    for name in targets:
        table = world.catalog.load_table((stream.name, name))
        (published,) = table.scan().to_arrow().to_pylist()
        of = dict(zip(named, columns, strict=True))[with_dots(name)]
        assert {column: published[column] for column in of} == {column: column for column in of}
        for task in table.scan().plan_files():
            path = Path(task.file.file_path.removeprefix("file:")).resolve()
            assert path.is_relative_to(warehouse.resolve())
    assert set(state.parent.iterdir()) == beside
    assert not [path for path in files(state) if SECRET.encode() in path.read_bytes()]


def test_hostile_statements_only_stop_tables(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCHEMA-20: four hundred of them, first those that can be about no table but their own."""
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    other = Stream(world).create()
    other.send([ticdc_row("INSERT", 1, 5), ticdc_watermark(9)])
    other.cut()
    tables = [{"source": f"shop.{name}", "expectations": "none"} for name in (VICTIM, "beside")]
    by_table = {"publish": {"consistency": "table"}}
    stream = Stream(world, options={"tables": tables, **by_table}).create()
    state = Path(world.installation.state)
    beside, before = set(state.parent.iterdir()), everything(world)
    texts = statements(200, f"shop.{VICTIM}") + statements(200, f"`{VICTIM}`", seed=2)
    of_others = [text for text in texts if {"RENAME", "DROP"} & set(text.upper().split())]
    of_it = [text for text in texts if text not in of_others]
    assert len(of_it) > len(texts) / 2

    stream.send([row(name, ["name"], 100) for name in (VICTIM, "beside")])
    stream.send([ticdc_ddl(text, 101 + at, table=VICTIM) for at, text in enumerate(of_it)])
    stream.send([ticdc_watermark(1000)])
    assert list(stream.cut().stopped) == [f"shop.{VICTIM}"]
    published = [("beside", [{"id": 1, "name": "name"}])]
    assert contents(stream) == published
    stream.send([ticdc_ddl(text, 1001 + at, table=VICTIM) for at, text in enumerate(of_others)])
    stream.send([ticdc_watermark(2000)])
    assert stream.cut().stopped.keys() == {f"shop.{VICTIM}", "shop.beside"}
    assert contents(stream) == published

    after = everything(world)
    assert {name: after[name] for name in before} == before
    spaces = {space for space, _ in after.keys() - before.keys()}
    assert spaces == {stream.name, f"tidemark_{stream.name}"}
    assert set(state.parent.iterdir()) == beside
    assert not [path for path in files(state) if SECRET.encode() in path.read_bytes()]


def contents(stream: Stream) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each target by its name, with the columns of the source."""
    targets = sorted(name for _, name in stream.world.catalog.list_tables(stream.name))
    frames = [stream.world.catalog.load_table((stream.name, name)).scan() for name in targets]
    return [
        (name, frame.select("id", "name").to_arrow().to_pylist())
        for name, frame in zip(targets, frames, strict=True)
    ]
