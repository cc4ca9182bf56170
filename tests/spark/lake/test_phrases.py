"""Names and texts of a source that hold the words of Iceberg's own statements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import apply_changes, comment_columns, read_target
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.layout import Layout, PartitionField, Transform
from tidemark.model.names import ColumnName
from tidemark.runs.world import World
from tidemark.schema.changes import (
    AddColumn,
    ChangeKey,
    ChangeLayout,
    DropColumn,
    RenameColumn,
    SchemaChange,
    WidenColumn,
    plan_changes,
)

PHRASES = (
    *("add partition field", "drop partition field", "replace partition field"),
    *("write ordered by", "write locally ordered by", "write distributed by", "write unordered"),
    *("set identifier fields", "drop identifier fields"),
    *(f"{verb} {what}" for verb in ("create", "replace", "drop") for what in ("branch", "tag")),
    "create or replace tag",
)
"""By which Iceberg's extension of Spark takes an ALTER TABLE for a statement of its own."""


def column(name: str, iceberg: str = "int", source_type: str = "int") -> SourceColumn:
    return SourceColumn(ColumnName(name), iceberg, ValueEncoding.INTEGER, source_type)


def made(world: World, table: str, *columns: SourceColumn) -> tuple[TableId, TableSchema]:
    """A new target; its key is its first column."""
    target, have = TableId("db", table), TableSchema(columns, (columns[0].name,))
    apply_changes(world.spark, world.catalog, target, plan_changes(None, have), have)
    return target, have


@pytest.mark.parametrize("phrase", PHRASES)
def test_columns_are_called_like_statements(world: World, phrase: str) -> None:
    """SCHEMA-10; the target is called so, too."""
    key, other, gone = column(f"The {phrase.title()}"), column(f"a  `{phrase}`"), column("gone")
    target, _ = made(world, f"the {phrase} table", key, other, gone)
    called = ColumnName(f"{phrase} now")
    more, wide = column(f"more {phrase} --"), replace(other, name=called, iceberg="bigint")
    layout = Layout((PartitionField(Transform.BUCKET, key.name, 4),), (key.name,))
    want = TableSchema((key, wide, more), (key.name,), layout=layout)
    changes: list[SchemaChange] = [
        WidenColumn(wide, "int"),
        DropColumn(gone.name),
        AddColumn(more),
        RenameColumn(other.name, called),
        ChangeKey((called,), (key.name,)),
        ChangeLayout(layout, (), layout.partition, was_sorted=False),
    ]
    apply_changes(world.spark, world.catalog, target, changes, want)
    table = world.catalog.load_table(target.parts)
    shown = {field.name: str(field.field_type) for field in table.schema().fields}
    assert shown.items() >= {(key.name, "int"), (called, "long"), (more.name, "int")}
    assert not table.schema().find_field(key.name).required
    assert len(table.spec().fields) == len(table.sort_order().fields) == 1
    unlaid = ChangeLayout(Layout(), layout.partition, (), was_sorted=True)
    apply_changes(world.spark, world.catalog, target, [unlaid], want)
    head = read_target(world.catalog, target)
    assert head is not None
    assert head.source_schema == want


def test_labels_are_called_like_statements(world: World) -> None:
    """What a target keeps of its source holds the types' own texts."""
    listed = ", ".join(f"'{phrase} /*'" for phrase in PHRASES)
    target, have = made(world, "labels", column("id"))
    more = column("e", "string", f"enum({listed})")
    want = replace(have, columns=(*have.columns, more))
    apply_changes(world.spark, world.catalog, target, [AddColumn(more)], want)
    head = read_target(world.catalog, target)
    assert head is not None
    assert head.source_schema == want


@pytest.mark.parametrize("phrase", PHRASES)
def test_comments_say_what_statements_say(world: World, phrase: str) -> None:
    """SCHEMA-39: whatever a comment holds; one commit, and none where they say so already."""
    target, have = made(world, f"comments {PHRASES.index(phrase)}", column("id"), column("a.b"))
    comments = dict.fromkeys(have.names, f"{phrase} it's \\")
    comment_columns(world.catalog, target, comments)
    table = world.catalog.load_table(target.parts)
    docs = {field.name: field.doc for field in table.schema().fields}
    assert {name: docs[name] for name in have.names} == comments
    comment_columns(world.catalog, target, {**comments, ColumnName("gone"): "it left"})
    assert world.catalog.load_table(target.parts).metadata_location == table.metadata_location
