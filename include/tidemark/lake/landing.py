"""The changelog: every record as it came, its envelope beside it, appended landing by landing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog, delete_files
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    NotNull,
    Or,
    StartsWith,
)
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.errors import UNCHANGED, AccountingError, ForeignChangeError
from tidemark.gate.epoch import LandedChange
from tidemark.lake import ledger
from tidemark.lake.catalog import SystemTables, catalog_errors, commit_errors
from tidemark.lake.commits import Branch, append_files_on, begin_branch
from tidemark.lake.filters import within
from tidemark.lake.ledger import ensure_table
from tidemark.lake.marks import ANEW, FIRST_SEQUENCE, IN_PROPERTY, read_checked
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import (
    RefUpdate,
    ancestors,
    attempt_ref,
    drop_refs,
    main_head,
    summary_value,
)
from tidemark.model.event import ENVELOPE_COLUMNS, RECORD_COLUMNS, Kind
from tidemark.model.names import AttemptId, TopicName, quote
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import EPOCH, EPOCH_DIGITS, Place, Position, place_of
from tidemark.model.progress import LandingMark
from tidemark.model.quarantine import RecordPlace

MARK = "tidemark.landing"
NUMBER = "tidemark.landing-number"
PAYLOAD = "tidemark.payload"
"""The property of a changelog that has masked records."""
_HIDDEN = "tidemark.masked."
"""What the property of each column begins with whose values may be masked there."""
COLUMNS = ("landing", *RECORD_COLUMNS, *ENVELOPE_COLUMNS)

SCHEMA = pa.schema(
    [
        pa.field("landing", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("kafka_time", pa.timestamp("us", tz="UTC")),
        pa.field(
            "headers",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
        ),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("kind", pa.string()),
        pa.field("source_schema", pa.string()),
        pa.field("source_table", pa.string()),
        pa.field("op", pa.string()),
        pa.field("position", pa.string()),
        pa.field("commit_time", pa.timestamp("us", tz="UTC")),
        pa.field("transaction_id", pa.string()),
        pa.field("event_order", pa.int64()),
        pa.field("snapshot", pa.string()),
        pa.field("watermark", pa.int64()),
        pa.field("schema_id", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
PROPERTIES = {
    **ledger.PROPERTIES,
    "write.distribution-mode": "none",
    "write.target-file-size-bytes": str(256 * 1024 * 1024),
    "write.parquet.compression-codec": "zstd",
    # Payloads and positions are unique: more effort and larger dictionaries win nothing.
    "write.parquet.compression-level": "1",
    "write.parquet.dict-size-bytes": str(64 * 1024),
    "write.metadata.metrics.column.position": "full",
    "write.metadata.metrics.column.topic": "full",
    "write.metadata.metrics.column.key": "none",
    "write.metadata.metrics.column.value": "none",
    "write.metadata.metrics.column.headers": "none",
}


@dataclass(frozen=True, slots=True)
class ChangelogHead:
    """Where ``main`` stood, and how far the topics were landed there; at first not at all.

    hidden: columns whose values records may be there without (MASK-1), each with its table as the
    file called it.
    """

    snapshot: int | None = None
    mark: LandingMark = field(default_factory=LandingMark)
    hidden: frozenset[tuple[str, str]] = frozenset()


def read_landed(catalog: Catalog, tables: SystemTables) -> ChangelogHead:
    """How far the topics are landed, and where that stands.

    `ForeignChangeError`: as `read_checked`.
    """
    with catalog_errors("the reading of the changelog"):
        try:
            changelog = catalog.load_table(tables.changelog.parts)
        except NoSuchTableError:
            return ChangelogHead()
    published = read_checked(changelog, tables.changelog)
    text = published.marks.get(MARK) if published else None
    mark = LandingMark.from_json(text) if text else LandingMark()
    return ChangelogHead(main_head(changelog), mark, _hidden_in(changelog))


def _hidden_in(changelog: Table) -> frozenset[tuple[str, str]]:
    named = (
        json.loads(name.removeprefix(_HIDDEN))
        for name in changelog.properties
        if name.startswith(_HIDDEN)
    )
    return frozenset((table, column) for table, column in named)


def read_mark(catalog: Catalog, tables: SystemTables) -> LandingMark:
    """How far the topics are landed; a fresh mark when nothing ever was."""
    return read_landed(catalog, tables).mark


def refuse_lost(tables: SystemTables, mark: LandingMark, landing: int) -> None:
    """Raise `ForeignChangeError` when ``landing``, which a cut has published, is in no changelog.

    Landings would start over below it, and none of their records would ever count (PUB-10).
    """
    if mark.number < landing:
        raise ForeignChangeError(
            f"{tables.changelog} has {mark.number} landings, and the ledger says that landing "
            f"{landing} is published: somebody dropped the changelog or put it back",
            state=UNCHANGED,
            next_step=f"put the changelog back; else {ANEW}",
        )


def records_since(catalog: Catalog, tables: SystemTables, head: int | None, landing: int) -> int:
    """How many records the landings after ``landing`` hold, by their snapshots' summaries.

    head: the newest snapshot that counts. Where some of those are expired, the records are counted.
    """
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
    total = 0
    for snapshot in ancestors(changelog, head):
        number, added = summary_value(snapshot, NUMBER), summary_value(snapshot, "added-records")
        if number is not None and int(number) <= landing:
            return total
        if number is None and added is not None:
            break  # Somebody rewrote files, or an older version landed this.
        total += int(added or 0)
        if snapshot.sequence_number == FIRST_SEQUENCE:
            return total
    return changelog.scan(
        row_filter=GreaterThan(term="landing", value=landing), snapshot_id=head
    ).count()


def landed_ms(catalog: Catalog, tables: SystemTables, head: int | None, landing: int) -> int:
    """When the first of the landings from ``landing`` on was made, in ms since 1970; 0 without one.

    head: the newest snapshot that counts. Of those that are expired nobody knows any more.
    """
    if head is None:
        return 0
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
    at_ms = 0
    for snapshot in ancestors(changelog, head):
        number = summary_value(snapshot, NUMBER)
        if number is not None and int(number) < landing:
            break
        at_ms = snapshot.timestamp_ms if number is not None else at_ms
    return at_ms


def branch_landing(
    catalog: Catalog,
    tables: SystemTables,
    head: ChangelogHead,
    attempt: AttemptId,
    *,
    hidden: Collection[tuple[str, str]] | None = None,
) -> Branch:
    """The attempt's own branch for the landing behind ``head``, the changelog as it was read.

    hidden: what the changelog is to say for good that it has no values of; None where it has all.
    """
    properties = dict(PROPERTIES)
    if hidden is not None:
        properties |= {PAYLOAD: "masked"}
        properties |= {f"{_HIDDEN}{json.dumps(column)}": "true" for column in hidden}
    changelog = ensure_table(catalog, tables.changelog, SCHEMA, properties)
    return begin_branch(changelog, head.snapshot, attempt_ref(head.mark.number + 1, attempt))


def write_landing(
    catalog: Catalog, branch: Branch, records: DataFrame, mark: LandingMark
) -> RefUpdate:
    """Append ``records`` (COLUMNS) on ``branch``.

    The move that makes them count is returned, not made: the caller looks at them first.
    """
    writer = records.writeTo(quote(catalog.name, *branch.table.parts, f"branch_{branch.name}"))
    for name, value in landing_summary(mark).items():
        writer = writer.option(f"snapshot-property.{name}", value)
    writer.append()
    with catalog_errors("the staging of a landing"):
        return branch.ref_update(catalog.load_table(branch.table.parts))


def commit_landing(
    catalog: Catalog, branch: Branch, files: Iterable[DataFile], mark: LandingMark
) -> RefUpdate:
    """As `write_landing`, of records that are in ``files``."""
    with commit_errors("the staging of a landing"):
        changelog = catalog.load_table(branch.table.parts)
        append_files_on(changelog, branch.name, files, landing_summary(mark))
        return branch.ref_update(changelog)


def landing_summary(mark: LandingMark) -> dict[str, str]:
    """What the snapshot of a landing says; the mark itself is in the table's property."""
    return {**IN_PROPERTY, NUMBER: str(mark.number)}


def staged_records(
    session: SparkSession, catalog: Catalog, ref_update: RefUpdate, landing: int
) -> DataFrame:
    """The records of a staged landing. Out: COLUMNS."""
    return _staged(session, catalog, ref_update).where(F.col("landing") == landing)


def staged_and_landed(
    session: SparkSession, catalog: Catalog, ref_update: RefUpdate, landing: int, place: str
) -> DataFrame:
    """As `staged_records`, and what earlier ones landed at positions that start with ``place``."""
    wanted = (F.col("landing") == landing) | F.col("position").startswith(place)
    return _staged(session, catalog, ref_update).where(wanted)


def _staged(session: SparkSession, catalog: Catalog, ref_update: RefUpdate) -> DataFrame:
    name = quote(catalog.name, *ref_update.table.parts)
    staged = session.read.option("versionAsOf", ref_update.snapshot).table(name)
    return staged.select(*COLUMNS)


def publish_landing(
    catalog: Catalog, ref_update: RefUpdate, landed: int, mark: LandingMark
) -> ChangelogHead:
    """Make a staged landing count; of two landings of one range only the first can.

    Returns the changelog as it is for the run that landed, whatever others land behind it.

    landed: records that were read; what was written must be as many. mark: as it is now that the
    records are known.
    """
    with catalog_errors("the publishing of a landing"):
        changelog = catalog.load_table(ref_update.table.parts)
    snapshot = changelog.snapshot_by_id(ref_update.snapshot)
    written = int(summary_value(snapshot, "added-records") or 0) if snapshot else 0
    if written != landed:
        raise AccountingError(
            f"{landed} records were read from the topics but {written} were written",
            state="the landing stays on its branch and does not count",
            next_step="run again; if this repeats, the files of the changelog are not sound",
        )
    update_mains(catalog, [replace(ref_update, marks=((MARK, mark.to_json()),))])
    return ChangelogHead(ref_update.snapshot, mark, _hidden_in(changelog))


def drop_landing(catalog: Catalog, ref_update: RefUpdate) -> None:
    """Throw a staged landing away."""
    drop_refs(catalog.load_table(ref_update.table.parts), ref_update.drops)


def discard_landing(catalog: Catalog, ref_update: RefUpdate) -> None:
    """As `drop_landing`, with the files that it has written: what is in them may not stay."""
    with catalog_errors("the removal of a landing"):
        changelog = catalog.load_table(ref_update.table.parts)
        snapshot = changelog.snapshot_by_id(ref_update.snapshot)
        written = {
            entry.data_file.file_path
            for manifest in (snapshot.manifests(changelog.io) if snapshot else ())
            for entry in manifest.fetch_manifest_entry(changelog.io)
            if entry.snapshot_id == ref_update.snapshot
        }
    drop_landing(catalog, ref_update)
    delete_files(changelog.io, written, "data")


def changes_since(
    catalog: Catalog, tables: SystemTables, landing: int, time_ms: int
) -> Iterator[LandedChange]:
    """What was landed after ``landing``, and of the rest what is not older than ``time_ms``.

    No JVM.
    """
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    wanted = And(
        NotNull(term="commit_time"),
        Or(
            GreaterThan(term="landing", value=landing),
            GreaterThanOrEqual(term="commit_time", value=moment),
        ),
    )
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
    fields = ("landing", "topic", "partition", "offset", "kind", "snapshot", "position")
    scan = changelog.scan(row_filter=wanted, selected_fields=(*fields, "commit_time"))
    for batch in scan.to_arrow_batch_reader():
        for row in batch.to_pylist():
            is_streamed = row["kind"] in (Kind.ROW, Kind.TRUNCATE) and row["snapshot"] is None
            yield LandedChange(
                TopicPartition(TopicName(row["topic"]), row["partition"]),
                row["offset"],
                Place(place_of(Position(row["position"] or "")) or "")
                if is_streamed
                else Place(""),
                int(row["commit_time"].timestamp() * 1000),
                row["landing"] <= landing,
            )


@dataclass(frozen=True, slots=True)
class LandedStatement:
    """A schema change in the changelog: where it stands, and its value as it came."""

    landing: int
    at: TopicPartition
    offset: int
    position: Position
    schema: str
    value: bytes


def landed_statements(
    catalog: Catalog, tables: SystemTables, spans: Collection[tuple[int, int]]
) -> tuple[LandedStatement, ...]:
    """The schema changes of the landings in ``spans``, both ends included, in position order.

    No JVM.
    """
    wanted = And(EqualTo(term="kind", value=Kind.DDL.value), within("landing", spans))
    fields = ("landing", "topic", "partition", "offset", "position", "source_schema", "value")
    with catalog_errors("the reading of the changelog"):
        try:
            changelog = catalog.load_table(tables.changelog.parts)
        except NoSuchTableError:
            return ()
        rows = changelog.scan(row_filter=wanted, selected_fields=fields).to_arrow().to_pylist()
    statements = (
        LandedStatement(
            row["landing"],
            TopicPartition(TopicName(row["topic"]), row["partition"]),
            row["offset"],
            Position(row["position"] or ""),
            row["source_schema"] or "",
            row["value"] or b"",
        )
        for row in rows
    )
    return tuple(sorted(statements, key=lambda statement: (statement.position, statement.offset)))


def newest_statements(
    catalog: Catalog, tables: SystemTables, spans: Collection[tuple[int, int]], most: int
) -> tuple[int, int]:
    """From which landing on ``spans`` have at most ``most`` schema changes, and how many before.

    Reads no values. No JVM.
    """
    wanted = And(EqualTo(term="kind", value=Kind.DDL.value), within("landing", spans))
    landed: Counter[int] = Counter()
    with catalog_errors("the reading of the changelog"):
        try:
            changelog = catalog.load_table(tables.changelog.parts)
        except NoSuchTableError:
            return 0, 0
        scan = changelog.scan(row_filter=wanted, selected_fields=("landing",))
        for batch in scan.to_arrow_batch_reader():
            landed.update(batch.column("landing").to_pylist())
    first, number = 0, 0
    for landing in sorted(landed, reverse=True):
        number += landed[landing]
        if number > most:
            first = landing + 1
            break
    return first, sum(count for landing, count in landed.items() if landing < first)


def holds_statement(catalog: Catalog, tables: SystemTables, position: Position) -> bool:
    """Whether a schema change was landed that stands at ``position``, in any epoch. No JVM."""
    landed = f"{EPOCH:0{EPOCH_DIGITS}X}{position[EPOCH_DIGITS:]}"
    return _holds(catalog, tables, _all_of(kind=Kind.DDL.value, position=landed))


def holds_transaction(catalog: Catalog, tables: SystemTables, key: str) -> bool:
    """Whether an event or a boundary of the transaction ``key`` was landed. No JVM."""
    same = EqualTo(term="transaction_id", value=key)
    return _holds(catalog, tables, Or(same, StartsWith(term="transaction_id", value=f"{key}:")))


def holds_unreadable(catalog: Catalog, tables: SystemTables, place: RecordPlace) -> bool:
    """Whether a record was landed that stands at ``place`` and cannot be read. No JVM."""
    return _holds(catalog, tables, _all_of(kind=Kind.UNREADABLE.value, **asdict(place)))


def _all_of(**columns: Any) -> BooleanExpression:
    wanted: BooleanExpression = AlwaysTrue()
    for name, value in columns.items():
        wanted = And(wanted, EqualTo(term=name, value=value))
    return wanted


def _holds(catalog: Catalog, tables: SystemTables, wanted: BooleanExpression) -> bool:
    """Whether a record was landed that is ``wanted``."""
    with catalog_errors("the reading of the changelog"):
        try:
            changelog = catalog.load_table(tables.changelog.parts)
        except NoSuchTableError:
            return False
    scan = changelog.scan(row_filter=wanted, selected_fields=("offset",), limit=1)
    return bool(scan.to_arrow().num_rows)


def read_changelog(
    session: SparkSession, catalog: Catalog, tables: SystemTables, head: int, since_landing: int
) -> DataFrame:
    """Records of the landings from ``since_landing`` on, up to those that are known at ``head``.

    Out: COLUMNS, one row per record.
    """
    name = quote(catalog.name, *tables.changelog.parts)
    known = session.read.option("versionAsOf", head).table(name)
    return known.where(F.col("landing") >= since_landing).select(*COLUMNS)
