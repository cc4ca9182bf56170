"""Which tables without a key can be followed: POS-14."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.gate.test_window_bound import place, profile_entry
from tidemark.errors import TableStoppedError
from tidemark.model.event import Kind
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Position
from tidemark.model.profile import ProfileEntry
from tidemark.runs.tables.without_key import refuse_without_identity
from tidemark.spec import SourceSpec, TableSpec

SOURCE = SourceSpec.model_validate(
    {"format": "debezium-postgres", "gate": "none", "topics": {"data": ["s.shop"]}}
)
SPEC = TableSpec(source=TableName("shop", "a"), expectations="none")
STREAMED = replace(profile_entry(Kind.ROW, 7), without_key=1)
READ = replace(STREAMED, read_at=place(7))
UNPLACED = replace(STREAMED, highest=Position("0001" + "0" * 16))


def at(topic: str, entry: ProfileEntry) -> ProfileEntry:
    return replace(entry, at=TopicPartition(TopicName(topic), 0))


def test_what_was_streamed_may_come_by_several_topics() -> None:
    entries = [at("s.a", STREAMED), at("s.b", STREAMED), at("s.a", READ)]
    refuse_without_identity(SOURCE, SPEC, entries)


@pytest.mark.parametrize("entry", [READ, UNPLACED])
def test_what_its_offset_alone_identifies_comes_by_one_topic(entry: ProfileEntry) -> None:
    refuse_without_identity(SOURCE, SPEC, [at("s.a", entry), at("s.a", entry)])
    with pytest.raises(TableStoppedError, match="2 topics have rows of it .* among them s.a and"):
        refuse_without_identity(SOURCE, SPEC, [at("s.b", entry), at("s.a", entry)])
