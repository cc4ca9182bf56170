"""Tables of sources without positions that come by another topic: POS-11."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.unit.runs.test_without_key import SPEC, STREAMED, UNPLACED, at
from tidemark.errors import TableStoppedError
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.position import Position
from tidemark.model.profile import ProfileEntry
from tidemark.runs.ddl.effects import DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.runs.tables.topic_change import refuse_other_topic, topics_by_offset
from tidemark.spec import SourceFormat, SourceSpec

FIRST, SECOND = TopicName("s.a"), TopicName("s.b")
CANAL = SourceSpec.model_validate(
    {"format": "canal-json", "gate": "none", "topics": {"data": ["s.a", "s.b"]}}
)


@pytest.mark.parametrize(
    ("entries", "before"),
    [
        pytest.param([at("s.a", UNPLACED), at("s.a", UNPLACED)], FIRST, id="the same topic"),
        pytest.param([at("s.a", UNPLACED)], None, id="the first rows"),
        pytest.param([at("s.a", STREAMED), at("s.b", STREAMED)], None, id="placed in their log"),
        pytest.param([at("s.b", replace(UNPLACED, kind=Kind.DDL))], FIRST, id="a statement"),
        pytest.param([], FIRST, id="nothing"),
    ],
)
def test_rows_of_a_single_topic_are_ordered(
    entries: list[ProfileEntry], before: TopicName | None
) -> None:
    refuse_other_topic(SPEC, entries, before)
    assert topics_by_offset(entries) in ([], [FIRST])


@pytest.mark.parametrize(
    ("topics", "before"), [(["s.b"], FIRST), (["s.a"], SECOND), (["s.b", "s.a"], None)]
)
def test_offsets_of_two_topics_order_nothing(topics: list[str], before: TopicName | None) -> None:
    """POS-11: a change of the other topic would be lost as an older one."""
    with pytest.raises(TableStoppedError, match="topics s.a and s.b have rows of shop.a"):
        refuse_other_topic(SPEC, [at(topic, UNPLACED) for topic in topics], before)


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        pytest.param("TRUNCATE a", ["s.b"], id="a truncate"),
        pytest.param("DROP TABLE c, a", ["s.b"], id="a list of tables"),
        pytest.param("DROP DATABASE shop", ["s.b"], id="a database"),
        pytest.param("RENAME TABLE a TO d", ["s.b"], id="a new name"),
        pytest.param("ALTER TABLE a ADD INDEX (x)", [], id="nothing that is followed"),
        pytest.param("TRUNCATE c", [], id="another table"),
    ],
)
def test_statements_that_offsets_order_have_a_topic(text: str, topics: list[str]) -> None:
    """POS-11, SCHEMA-21: their place among the rows is unknown where those come by another one."""
    content = json.dumps({"isDdl": True, "sql": text})
    record = DdlRecord(UNPLACED.highest or Position(""), "shop", content, SECOND)
    effects = add_up(CANAL, [record])
    assert sorted(effects.topics_of(SPEC.source)) == topics
    refuse_other_topic(SPEC, [at("s.b", UNPLACED)], SECOND, effects.topics_of(SPEC.source))
    refuse_other_topic(SPEC, [], None, effects.topics_of(SPEC.source))
    if topics:
        with pytest.raises(TableStoppedError, match="topic s.b has a statement about shop.a"):
            refuse_other_topic(SPEC, [], FIRST, effects.topics_of(SPEC.source))


def test_statements_that_positions_order_come_by_any_topic() -> None:
    """POS-11: TiCDC with its extension."""
    position = Position(f"0001{7:016X}2{0:020X}")
    content = json.dumps({"isDdl": True, "sql": "TRUNCATE a"})
    ticdc = CANAL.model_copy(update={"format": SourceFormat.TICDC_CANAL_JSON})
    effects = add_up(ticdc, [DdlRecord(position, "shop", content, SECOND)])
    assert not effects.topics_of(SPEC.source)


def test_one_text_at_one_offset_of_two_topics_is_two_statements() -> None:
    """SCHEMA-25, POS-11: an offset is a place in one topic."""
    content = json.dumps({"isDdl": True, "sql": "TRUNCATE a"})
    position = Position("0001" + "0" * 16)
    records = [DdlRecord(position, "shop", content, topic) for topic in (FIRST, SECOND)]
    assert sorted(add_up(CANAL, records).topics_of(SPEC.source)) == [FIRST, SECOND]
