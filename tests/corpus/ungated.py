"""Cases without BEGIN and END, as connectors record by default: their gate is ``none``."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from tests.corpus.cases import Case
from tests.corpus.source import Role, source_of


def without_boundaries(case: Case) -> Case:
    """``case`` without its topics of transactions; the rows still name theirs."""
    topics = source_of(case).topics(Role.TRANSACTIONS)
    if not topics:
        return case
    is_kept = [record.topic not in topics for record in case.records]
    before = [0, *accumulate(is_kept)]
    return replace(
        case,
        records=tuple(r for r, kept in zip(case.records, is_kept, strict=True) if kept),
        stages=tuple(replace(stage, end=before[stage.end]) for stage in case.stages),
        partitions={topic: n for topic, n in case.partitions.items() if topic not in topics},
    )
