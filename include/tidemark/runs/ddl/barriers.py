"""Where a cut ends, as a table goes on otherwise behind a statement (SCHEMA-11)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet

from tidemark.model.cut import Frontier
from tidemark.model.key_change import first_key_change
from tidemark.model.names import TableName, TopicName
from tidemark.model.position import LAST, Place, place_of
from tidemark.model.until import Barrier, Behind
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.runs.targets import is_folded
from tidemark.spec import PipelineSpec


def published_place(frontier: Frontier, topics: Collection[TopicName]) -> Place:
    """The greatest place that was published of ``topics``, for schema changes (POS-20).

    Of what was streamed: statements that a snapshot is ahead of come behind it.
    """
    streamed = (place for at, place in frontier.streamed.items() if at.topic in topics)
    return max(streamed, default=Place(""))


def barrier_of(
    pipeline: PipelineSpec, table: TableName, effects: DdlEffects, before: Place
) -> Barrier | None:
    """The first statement that gives ``table`` another key; one that the file has stays (KEY-1).

    before: as of `published_place`. What stands at it came again, and no cut ends there twice.
    """
    key_changes = effects.key_changes.get(table, ())
    key_change = first_key_change(
        change for change in key_changes if (place_of(change.position) or LAST) > before
    )
    has_declared_key = any(spec.source == table and spec.key for spec in pipeline.tables)
    if (
        key_change is None
        or has_declared_key
        or not is_folded(pipeline, (table.schema, table.table))
    ):
        return None
    return Barrier(table, key_change.position, Behind.OTHER_KEY)


def barriers_of_ended(
    effects: DdlEffects, before: Place, known: AbstractSet[TableName]
) -> Iterator[Barrier]:
    """Statements that made a table which is dropped again in the same cut (SCHEMA-18).

    The rows of one table end at its DROP, and those of another one of its name begin there. A cut
    holds one of the two, so that no row is taken for one of the other. known: tables that have
    targets. before: as of `published_place`; what was made there came again.
    """
    for table, made in effects.ended.items():
        new = (at for at in made if (place_of(at) or Place("")) > before)
        made_at = next(new, None)
        if table in known | effects.remade and made_at is not None:
            yield Barrier(table, made_at, Behind.DROPPED)
