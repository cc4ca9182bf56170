"""What a cut leaves in quarantine, and what tables may lack because of it (POISON-3, POISON-5).

A truncate, with Canal and TiCDC also a schema change, stands between the rows of its topic. While a
record waits that may be one, nobody can vouch for the tables of the topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.lake.quarantine import read_records_waiting
from tidemark.model.quarantine import Entry, State
from tidemark.runs.run import Run
from tidemark.spec import SourceSpec


def codes_of(rows: pa.Table) -> dict[str, int]:
    """Code -> how many of ``rows``, of the quarantine, are quarantined with it."""
    waiting = rows.filter(pc.field("state") == State.WAITING.value)
    return dict(sorted(Counter(waiting["code"].to_pylist()).items()))


def unknown_after(run: Run, rows: pa.Table | None = None) -> dict[str, int]:
    """`unknown_kinds` of what waits once ``rows`` are in the quarantine as well."""
    waiting = read_records_waiting(run.world.catalog, run.system, rows)
    return unknown_kinds(run.pipeline.source, waiting)


def unknown_kinds(source: SourceSpec, entries: Iterable[Entry]) -> dict[str, int]:
    """Data topic -> how many records of it wait that may be statements."""
    counts = Counter(entry.topic for entry in entries if entry.may_be_statement)
    return {topic: number for topic, number in sorted(counts.items()) if source.has_rows(topic)}


def warnings(source: SourceSpec, unknown: Mapping[str, int]) -> tuple[str, ...]:
    """A sentence per topic of ``unknown``, which `unknown_kinds` made."""
    what = "a truncate or a schema change" if source.format.is_canal else "a truncate"
    return tuple(
        f"tables of topic {topic} may lack {what}: nobody can read {number:,} of its records; look "
        "at what is quarantined of it, then replay or drop it"
        for topic, number in unknown.items()
    )
