"""Tables of what is read of records, from those by which they are read, for docs/formats.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from reference.pages import with_tables
from tidemark.formats.canal_json import envelope as canal
from tidemark.formats.conversion_errors import MAX_CHARACTERS
from tidemark.formats.debezium import envelope as debezium
from tidemark.formats.debezium.position import SourceBlock, binlog_block, postgres_block
from tidemark.formats.refuse import MAX_DIGITS, MAX_NESTING
from tidemark.model.event import Kind, Reason
from tidemark.model.position import BY_POSITION

KINDS: Mapping[Kind, str] = {
    Kind.ROW: "is folded into its table, in the order of positions",
    Kind.TRUNCATE: "ends every row below its position, as `tables[].truncate` says",
    Kind.DDL: "changes columns, ends rows, or stops its table, by what its text does",
    Kind.WATERMARK: "moves the gate `watermark`",
    Kind.BEGIN: "opens a transaction, for the gate `transaction`",
    Kind.END: "says how many events a transaction has, for the gate `transaction`",
    Kind.WINDOW: "opens a window of an incremental snapshot",
    Kind.ORDER: "asks for a blocking snapshot, which removes nothing unasked",
    Kind.SIGNAL: "changes nothing",
    Kind.TOMBSTONE: "changes nothing: the delete in front of it did; on a compacted topic, where "
    "there is none, it is a row that ends",
    Kind.CONTROL: "changes nothing",
    Kind.UNREADABLE: "is quarantined with its reason, and counted as quarantined",
    Kind.ERASED: "changes nothing: an erasure left its place alone",
}
REASONS: Mapping[Reason, str] = {
    Reason.EMPTY_VALUE: "has a value of no bytes, or of blanks",
    Reason.JSON_INVALID: "is not JSON, or has more behind it: it was cut off, or is two records",
    Reason.JSON_NOT_OBJECT: "is JSON, but no object",
    Reason.JSON_NUMBER: "holds a bare `NaN` or `Infinity`, or a number of more than "
    f"{MAX_DIGITS:,} digits",
    Reason.JSON_DUPLICATE_KEY: "has two values for one name of an object",
    Reason.JSON_DEPTH: f"is nested more than {MAX_NESTING} levels deep",
    Reason.RECORD_TOO_LARGE: f"holds a text of more than {MAX_CHARACTERS:,} characters",
    Reason.UTF8_INVALID: "has a key or value with bytes that are no UTF-8, or a key with half of a "
    "pair of `\\u` escapes",
    Reason.AVRO_MAGIC: "has a key or value that is not in Confluent's wire format",
    Reason.AVRO_SCHEMA_UNKNOWN: "names a schema that the registry does not know, that is not Avro, "
    "or that leans on one of these",
    Reason.AVRO_DECODE: "has a key or value that its schema does not fit, or with more behind it",
    Reason.FORMAT_MISMATCH: "can be read, but is not of the declared format or not of its topic's "
    "role",
    Reason.SCHEMA_HISTORY: "is of the topic in which a connector keeps its own history of schemas",
    Reason.ENVELOPE_INVALID: "does not say of which table it is, or what it does to it, or has a "
    "field of another form than its format",
    Reason.OP_UNKNOWN: "has an operation that nobody knows",
    Reason.IMAGE_MISSING: "changes a row and holds no row",
    Reason.CANAL_ARRAY_MISMATCH: "has not as many old images as rows",
    Reason.POSITION_MISSING: "has no position where the source otherwise gives one",
    Reason.HANDLE_KEY_ONLY: "was too large for TiCDC, which sent the key of its row alone",
    Reason.CLAIM_CHECK_MISSING: "was too large for TiCDC, which keeps it in a storage of its own",
    Reason.KEY_UNDECODABLE: "changes a row whose key does not fit the columns of the key, or "
    "cannot be read",
    Reason.KEY_NULL: "changes a row that has null in a column of the key",
    Reason.KEY_MISMATCH: "has a key of other columns than its table, or another one than its row",
    Reason.KEY_UNAVAILABLE: "ends a row, and may hold zero or a default in place of the declared "
    "key",
    Reason.TYPE_MISMATCH: "holds a value that is not of its column's kind, such as a text for a "
    "number",
    Reason.VALUE_OUT_OF_RANGE: "holds a number that its column cannot hold",
    Reason.DECIMAL_OVERFLOW: "holds a decimal with more digits than its column, or none",
    Reason.TEMPORAL_INVALID: "holds no date or time, or one that its column cannot hold",
    Reason.BINARY_INVALID: "holds bytes that are not written as its column's are, or do not fit it",
    Reason.ENUM_UNKNOWN: "holds the number of a label that no schema declares",
    Reason.UNAVAILABLE_UNRESOLVED: "lacks a value that the target cannot supply",
    Reason.TX_SKIPPED: "is of a transaction that an operator skipped",
}

_Rows = Callable[[], Iterable[tuple[str, ...]]]


def with_formats(page: str) -> str:
    """``page`` with a table between each ``<!-- formats: NAME -->`` and ``<!-- end -->``."""
    return with_tables(page, "formats", lambda name: _table(*_TABLES[name]))


def _table(header: tuple[str, ...], rows: _Rows) -> Iterator[str]:
    for cells in (header, tuple("---" for _ in header), *rows()):
        yield f"| {' | '.join(cells)} |"


def _debezium_fields() -> Iterator[tuple[str, ...]]:
    blocks = {
        "MySQL, MariaDB": binlog_block(BY_POSITION),
        "PostgreSQL": postgres_block(BY_POSITION),
    }
    paths = {name: set(_paths(_source(block))) for name, block in blocks.items()}
    common = set.intersection(*paths.values())
    yield "all", _listed(path for path in _paths(_source(blocks["PostgreSQL"])) if path in common)
    for name, block in blocks.items():
        yield name, _listed(path for path in _paths(_source(block)) if path not in common)


def _source(block: SourceBlock) -> Mapping[str, str]:
    return {name: form.format(own=block.fields) for name, form in debezium.FIELDS.items()}


def _canal_fields() -> Iterator[tuple[str, ...]]:
    yield "all", _listed(path for path in _paths(canal.FIELDS) if not path.startswith("_tidb"))
    yield "TiCDC's extension", _listed(p for p in _paths(canal.FIELDS) if p.startswith("_tidb"))


def _paths(forms: Mapping[str, str]) -> Iterator[str]:
    """The fields, those of a struct by their paths."""
    for name, form in forms.items():
        inside = re.fullmatch(r"STRUCT<(.+)>", form)
        if inside is None:
            yield name
        else:
            inner = dict(part.split(" ", 1) for part in inside[1].replace("`", "").split(", "))
            yield from (f"{name}.{path}" for path in _paths(inner))


def _listed(names: Iterator[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _words(field: str, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, ...]]:
    for kind in dict.fromkeys(kinds.values()):
        yield f"`{field}`: {_listed(word for word in kinds if kinds[word] is kind)}", kind.value


def _debezium_kinds() -> Iterator[tuple[str, ...]]:
    yield from _words("op", debezium.OPS)
    yield from _words("status", debezium.BOUNDARIES)


_TABLES: Mapping[str, tuple[tuple[str, ...], _Rows]] = {
    "debezium_fields": (("connector", "fields"), _debezium_fields),
    "canal_fields": (("writer", "fields"), _canal_fields),
    "debezium_kinds": (("word in the record", "kind"), _debezium_kinds),
    "canal_kinds": (("word in the record", "kind"), lambda: _words("type", canal.TYPES)),
    "kinds": (("kind", "the record"), lambda: ((k.value, says) for k, says in KINDS.items())),
    "reasons": (
        ("reason", "the record"),
        lambda: ((f"`{reason}`", says) for reason, says in REASONS.items()),
    ),
}
