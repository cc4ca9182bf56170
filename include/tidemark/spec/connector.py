"""Settings of a Debezium connector beside what a pipeline file says: which cost what.

`RULES` is the one list of them: docs/sources.md is made from it, and `tidemark doctor` goes by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tidemark.model.cut import GateMode
from tidemark.model.finding import Finding, Grade
from tidemark.model.modes import Untyped
from tidemark.model.names import TableName
from tidemark.spec.references import is_secret
from tidemark.spec.source import SourceFormat, SourceSpec
from tidemark.spec.topics import is_pattern, selects

CLASSES: Mapping[str, SourceFormat] = {
    "MySql": SourceFormat.DEBEZIUM_MYSQL,
    "MariaDb": SourceFormat.DEBEZIUM_MARIADB,
    "Postgres": SourceFormat.DEBEZIUM_POSTGRES,
}
"""What Kafka Connect lets a connector's class be called, of which it takes longer names too."""
BINLOG = frozenset({SourceFormat.DEBEZIUM_MYSQL, SourceFormat.DEBEZIUM_MARIADB})
POSTGRES = frozenset({SourceFormat.DEBEZIUM_POSTGRES})
ALL = BINLOG | POSTGRES
JSON, AVRO = "Json", "Avro"
_COMMA = re.compile(r"(?<!\\),")
_GROUP = re.compile(r"\((?:\?:)?([^()?*+{}][^()]*)\)(?![?*+{])")
_PLAIN = re.compile(r"\[\\([^A-Za-z0-9])\]|\\([^A-Za-z0-9])|\[([^\\])\]")
RENAMING = ("RegexRouter", "ByLogicalTableRouter", "TopicNameNormalizer")
"""Transformations that give topics other names than the connector would."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as Kafka Connect has it; config: setting -> value, secrets among them."""

    name: str
    config: Mapping[str, str] = field(repr=False)

    @property
    def format(self) -> SourceFormat | None:
        """What it writes; None where it is no connector whose records are read."""
        named = _last_part(self.config.get("connector.class", ""))
        return CLASSES.get(named.removesuffix("Connector"))

    @property
    def prefix(self) -> str:
        """With which its topics begin."""
        return self.config.get("topic.prefix", "")

    @property
    def delimiter(self) -> str:
        """What stands between the parts of its topics' names."""
        return self.config.get("topic.delimiter", ".")

    @property
    def transforms(self) -> Mapping[str, str]:
        """Transformation of records -> the last part of its class, in their order."""
        names = [name.strip() for name in self.config.get("transforms", "").split(",")]
        types = {name: self.config.get(f"transforms.{name}.type", "") for name in names if name}
        return {name: _last_part(text) for name, text in types.items()}

    @property
    def converter(self) -> str:
        """In which form values are written; empty where the worker says it."""
        return _form_of(self.config.get("value.converter", ""))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that nobody is shown."""
        return tuple(value for name, value in self.config.items() if is_secret(name) and value)

    def captures(self, table: TableName) -> bool:
        """Whether the connector's lists of databases or schemas, and of tables, have ``table``.

        Their expressions match whole names, whatever the case; one that Python does not know has
        each name.
        """
        space = "schema" if self.format in POSTGRES else "database"
        return all(
            _is_listed(self.config.get(f"{kind}.include.list", ""), name, of_nothing=True)
            and not _is_listed(self.config.get(f"{kind}.exclude.list", ""), name, of_nothing=False)
            for kind, name in ((space, table.schema), ("table", str(table)))
        )


Applies = Callable[[str, Connector, SourceSpec], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A setting that costs something as it is.

    name: of the setting; ``*`` stands for anything. default: Debezium's own. when: of which values
    it is said, in words; applies: the same of one connector. {value} in cost and fix is the value.
    """

    name: str
    default: str
    grade: Grade
    when: str
    cost: str
    fix: str
    applies: Applies
    formats: Collection[SourceFormat] = ALL

    def judge(self, connector: Connector, source: SourceSpec) -> Iterator[Finding]:
        """What it finds of ``connector``."""
        if connector.format not in self.formats:
            return
        named = [name for name in connector.config if fnmatchcase(name, self.name)]
        for name in named or ([] if "*" in self.name else [self.name]):
            value = connector.config.get(name, self.default)
            if self.applies(value, connector, source):
                # The salt of a hash stands in the name of its setting.
                shown = f"{self.name}={value}" if value else f"no {self.name}"
                is_default = "" if name in connector.config or not value else ", its default"
                yield Finding(
                    self.grade,
                    f"connector {connector.name}",
                    shown + is_default,
                    self.cost.format(value=value),
                    self.fix.format(value=value),
                )


def writers(source: SourceSpec, connectors: Sequence[Connector]) -> tuple[Connector, ...]:
    """Those of ``connectors`` that write topics of ``source``, by their prefixes.

    Of a topic that begins with several, shop and shop.eu, the longest tells whose it is.
    """
    topics = source.topics
    writing: set[str] = set()
    for name in (*topics.data, *topics.schema_changes, *topics.transactions):
        able = [one for one in connectors if one.prefix and _may_begin(name, one)]
        longest = max((len(one.prefix) for one in able), default=0)
        writing |= {one.name for one in able if len(one.prefix) == longest}
    return tuple(one for one in connectors if one.name in writing)


def judge_connector(connector: Connector, source: SourceSpec) -> Iterator[Finding]:
    """What the settings of ``connector`` cost a pipeline that reads ``source``."""
    if connector.format is None:
        named = connector.config.get("connector.class", "")
        yield Finding(
            Grade.WARNING,
            f"connector {connector.name}",
            f"connector.class={named}" if named else "no connector.class",
            "it is no connector that is known here: nothing is said of its settings",
            "compare what it writes with docs/sources.md, or name another one: --connector",
        )
        return
    if connector.format is not source.format:
        yield Finding(
            Grade.ERROR,
            f"connector {connector.name}",
            f"connector.class={connector.config.get('connector.class', '')}",
            f"source.format is {source.format}: its records are read as another database's",
            "set source.format to what the connector is, in a new pipeline",
        )
        return
    for rule in RULES:
        yield from rule.judge(connector, source)
    yield from _judge_side_topics(connector, source)


def _judge_side_topics(connector: Connector, source: SourceSpec) -> Iterator[Finding]:
    """Topics whose names the prefix fixes, unless a transformation renames them."""
    if any(kind in RENAMING for kind in connector.transforms.values()):
        return
    ends = connector.config.get("topic.transaction", "transaction")
    transactions = f"{connector.prefix}{connector.delimiter}{ends}"
    wanted = {"transactions": (source.topics.transactions, transactions)}
    if connector.format in BINLOG:
        wanted["schema-changes"] = (source.topics.schema_changes, connector.prefix)
    for role, (names, topic) in wanted.items():
        if names and not any(selects(name, topic) for name in names):
            yield Finding(
                Grade.ERROR,
                f"connector {connector.name}",
                f"topic.prefix={connector.prefix}, so its topic is {topic}",
                f"source.topics.{role} names {', '.join(names)}, which it does not write",
                f"name {topic} in source.topics.{role}",
            )


def _last_part(name: str) -> str:
    return name.rpartition(".")[2].partition("$")[0]


def _form_of(converter: str) -> str:
    return _last_part(converter).removesuffix("Converter")


def _is_listed(listed: str, name: str, *, of_nothing: bool) -> bool:
    """Whether one of the expressions ``listed`` means ``name``; of_nothing: where there is none."""
    patterns = [pattern.strip() for pattern in _COMMA.split(listed) if pattern.strip()]
    return any(_means(pattern, name) for pattern in patterns) if patterns else of_nothing


def _means(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name, re.IGNORECASE) is not None
    except re.error:
        return True


def _may_begin(selector: str, connector: Connector) -> bool:
    """Whether a topic of ``selector`` may begin with the connector's prefix.

    >>> shop = Connector("c", {"topic.prefix": "shop"})
    >>> _may_begin("^(shop|store)[.]db[.].*", shop), _may_begin("shopping.db.t", shop)
    (True, False)
    """
    start = f"{connector.prefix}{connector.delimiter}"
    names = _alternatives(selector, len(start)) if is_pattern(selector) else (selector,)
    starts = (start, f"{connector.prefix}.*")
    return any(name == connector.prefix or name.startswith(starts) for name in names)


def _alternatives(pattern: str, length: int) -> tuple[str, ...]:
    """What ``pattern`` may mean, each as plain text in its first ``length`` characters."""
    group = _GROUP.search(pattern)
    before = pattern[: group.start()] if group is not None else pattern
    if group is None or len(_plain(before.rpartition("|")[2])) >= length:
        return tuple(_plain(text) for text in pattern.split("|"))
    after = pattern[group.end() :]
    either = (_alternatives(f"{before}{part}{after}", length) for part in group[1].split("|"))
    return tuple(text for texts in either for text in texts)


def _plain(pattern: str) -> str:
    """``pattern`` without what has characters stand for themselves."""
    return _PLAIN.sub(r"\1\2\3", pattern.removeprefix("^"))


def _is(*values: str) -> Applies:
    return lambda value, _, __: value.strip().lower() in values


def _is_not(*values: str) -> Applies:
    return lambda value, _, __: value.strip().lower() not in values


def _is_set(value: str, _: Connector, __: SourceSpec) -> bool:
    return bool(value.strip())


def _with_gate(gate: GateMode, applies: Applies) -> Applies:
    return lambda value, of, source: source.gate is gate and applies(value, of, source)


def _differs(declared: Callable[[SourceSpec], str]) -> Applies:
    """The mode of a connector is another one than the file declares; Debezium writes _ for -."""

    def applies(value: str, _: Connector, source: SourceSpec) -> bool:
        return value.lower().replace("_", "-") != declared(source)

    return applies


def _time_differs(value: str, _: Connector, source: SourceSpec) -> bool:
    written = value.strip().lower()
    return _TIME_MODES.get(written, written) != _modes(source)["time"]


def _names_differ(value: str, of: Connector, source: SourceSpec) -> bool:
    """Debezium's default beside Avro is avro."""
    is_default = "field.name.adjustment.mode" not in of.config and source.avro is not None
    return not is_default and value.lower().replace("_", "-") != source.written_names


def _in_json(applies: Applies) -> Applies:
    return lambda value, of, source: of.converter == JSON and applies(value, of, source)


def _is_converter_of_another_form(value: str, _: Connector, source: SourceSpec) -> bool:
    wanted = JSON if source.avro is None else AVRO
    return bool(value) and _form_of(value) != wanted


def _is_of_the_worker(value: str, _: Connector, source: SourceSpec) -> bool:
    return not value and source.avro is None


def _lacks_types(value: str, of: Connector, source: SourceSpec) -> bool:
    is_untold = source.untyped is Untyped.REFUSE and not source.has_table_states
    return of.converter == JSON and value.lower() != "true" and is_untold


def _is_other_signal_table(value: str, _: Connector, source: SourceSpec) -> bool:
    return source.signal_table is not None and str(source.signal_table) != value


def _is_undeclared_signal_table(value: str, _: Connector, source: SourceSpec) -> bool:
    return source.signal_table is None and bool(value)


def _is_deaf(value: str, _: Connector, source: SourceSpec) -> bool:
    channels = {channel.strip() for channel in value.split(",")}
    return source.signal_topic is not None and "kafka" not in channels


def _hears_another_topic(value: str, of: Connector, source: SourceSpec) -> bool:
    """Where nothing is set, Debezium names the topic of signals after its prefix."""
    heard = value or f"{of.prefix}-signal"
    return source.signal_topic is not None and heard != source.signal_topic


def _is_another_prefix(value: str, _: Connector, source: SourceSpec) -> bool:
    return source.topic_prefix is not None and value != source.topic_prefix


def _compacted(applies: Applies) -> Applies:
    return lambda value, of, source: source.is_compacted and applies(value, of, source)


def _transforms_by(*kinds: str) -> Applies:
    return lambda _, of, __: any(kind in kinds for kind in of.transforms.values())


def _transforms_by_unknown(_: str, of: Connector, __: SourceSpec) -> bool:
    known = (*_FLATTENING, *_DROPPING, *RENAMING)
    return any(kind not in known for kind in of.transforms.values())


def _modes(source: SourceSpec) -> Mapping[str, str]:
    """What the file says of the connector's modes, or what holds where it says nothing."""
    is_postgres = source.format is SourceFormat.DEBEZIUM_POSTGRES
    modes = source.modes.postgres if is_postgres else source.modes.connector
    return {
        "decimal": modes.decimal,
        "time": modes.time,
        "bigint-unsigned": modes.bigint_unsigned,
        "binary": modes.binary,
        "interval": modes.interval,
        "hstore": modes.hstore,
    }


def _mode_rule(
    name: str, default: str, mode: str, formats: Collection[SourceFormat], applies: Applies
) -> Rule:
    return Rule(
        name,
        default,
        Grade.ERROR,
        f"another one than `source.modes.{mode}`",
        "values are written in one form and read as another: they are quarantined, or wrong",
        f"set source.modes.{mode} to {{value}}, in a new pipeline",
        applies,
        formats,
    )


def _mode(name: str, default: str, mode: str, formats: Collection[SourceFormat]) -> Rule:
    return _mode_rule(name, default, mode, formats, _differs(lambda source: _modes(source)[mode]))


def _converter_rule(name: str) -> Rule:
    return Rule(
        name,
        "",
        Grade.ERROR,
        "not JSON, or with `source.avro` not Avro",
        "records are in a form that the file does not declare: they are unreadable",
        "use org.apache.kafka.connect.json.JsonConverter, or declare source.avro in a new pipeline",
        _is_converter_of_another_form,
    )


_FLATTENING = ("ExtractNewRecordState", "EventRouter")
_DROPPING = ("Filter",)
_SKIPPING = ("skip", "warn", "ignore")
_TIME_MODES: Mapping[str, str] = {"adaptive_time_microseconds": "adaptive-microseconds"}
_PLACEHOLDER = "__debezium_unavailable_value"
_ROUNDED = "decimals are rounded to what a double holds"

RULES: tuple[Rule, ...] = (
    Rule(
        "skipped.operations",
        "t",
        Grade.ERROR,
        "anything but `none`",
        "the operations {value} never arrive (t is TRUNCATE): targets keep rows that are gone, and "
        "nothing shows it",
        "set skipped.operations=none, then re-snapshot tables that were truncated",
        _is_not("none"),
    ),
    Rule(
        "event.processing.failure.handling.mode",
        "fail",
        Grade.ERROR,
        "`skip`, `warn` or `ignore`",
        "changes that the connector cannot read never arrive, and nothing but its log shows it",
        "set event.processing.failure.handling.mode=fail, then re-snapshot",
        _is(*_SKIPPING),
    ),
    Rule(
        "inconsistent.schema.handling.mode",
        "fail",
        Grade.ERROR,
        "`skip`, `warn` or `ignore`",
        "changes of tables whose columns the connector does not know never arrive, and nothing but "
        "its log shows it",
        "set inconsistent.schema.handling.mode=fail, then re-snapshot",
        _is(*_SKIPPING),
        BINLOG,
    ),
    Rule(
        "schema.history.internal.skip.unparseable.ddl",
        "false",
        Grade.ERROR,
        "`true`",
        "statements that the connector cannot parse change no columns: the rows after them are "
        "read by the columns before",
        "set schema.history.internal.skip.unparseable.ddl=false, then re-snapshot",
        _is("true"),
        BINLOG,
    ),
    Rule(
        "errors.tolerance",
        "none",
        Grade.ERROR,
        "`all`",
        "records that a transformation, a converter or the broker refuses never arrive, and "
        "nothing shows it",
        "set errors.tolerance=none, then re-snapshot",
        _is("all"),
    ),
    Rule(
        "event.converting.failure.handling.mode",
        "warn",
        Grade.NOTE,
        "`warn` or `skip`",
        "a value that the connector cannot convert arrives as null, and nothing but its log shows "
        "it",
        "set event.converting.failure.handling.mode=fail",
        _is(*_SKIPPING),
    ),
    Rule(
        "converters",
        "",
        Grade.WARNING,
        "set",
        "they write values in forms of their own, which may be read as another type, or wrong",
        "take them out, then re-snapshot; have the target's columns changed in their stead: "
        "target-columns",
        _is_set,
    ),
    Rule(
        "provide.transaction.metadata",
        "false",
        Grade.ERROR,
        "`false` beside gate `transaction`",
        "no END ever comes, so cuts go no further",
        "set provide.transaction.metadata=true",
        _with_gate(GateMode.TRANSACTION, _is_not("true")),
    ),
    Rule(
        "provide.transaction.metadata",
        "false",
        Grade.NOTE,
        "`false` beside gate `none`",
        "only gate none is possible: tables are consistent each by itself, and half transactions "
        "can be seen",
        "set provide.transaction.metadata=true before you start a pipeline with gate transaction",
        _with_gate(GateMode.NONE, _is_not("true")),
    ),
    Rule(
        "include.schema.changes",
        "true",
        Grade.ERROR,
        "`false`",
        "columns that are dropped or renamed, defaults of new columns, and, without record "
        "schemas, all types are unknown",
        "set include.schema.changes=true, and name its topic in source.topics.schema-changes",
        _is_not("true"),
        BINLOG,
    ),
    Rule(
        "decimal.handling.mode",
        "precise",
        Grade.ERROR,
        "`double`",
        _ROUNDED,
        "set decimal.handling.mode=precise, then re-snapshot",
        _is("double"),
    ),
    _mode("decimal.handling.mode", "precise", "decimal", ALL),
    _mode_rule("time.precision.mode", "adaptive_time_microseconds", "time", BINLOG, _time_differs),
    _mode_rule("time.precision.mode", "adaptive", "time", POSTGRES, _time_differs),
    _mode("bigint.unsigned.handling.mode", "long", "bigint-unsigned", BINLOG),
    _mode("binary.handling.mode", "bytes", "binary", ALL),
    _mode("interval.handling.mode", "numeric", "interval", POSTGRES),
    _mode("hstore.handling.mode", "json", "hstore", POSTGRES),
    _mode_rule("field.name.adjustment.mode", "none", "field-names", ALL, _names_differ),
    _converter_rule("key.converter"),
    _converter_rule("value.converter"),
    Rule(
        "value.converter",
        "",
        Grade.WARNING,
        "not set, without `source.avro`: the worker's own, whose settings are not told here",
        "unless the worker sets replace.null.with.default=false, a null in a nullable column with "
        "a default arrives as the default, and nothing shows it",
        "set value.converter=org.apache.kafka.connect.json.JsonConverter and "
        "value.converter.replace.null.with.default=false",
        _is_of_the_worker,
    ),
    Rule(
        "value.converter.schemas.enable",
        "true",
        Grade.WARNING,
        "`false`, no schema-change topic tells columns, and `source.untyped` is `refuse`",
        "types are unknown",
        "set value.converter.schemas.enable=true, or declare every column under columns",
        _lacks_types,
    ),
    Rule(
        "value.converter.replace.null.with.default",
        "true",
        Grade.ERROR,
        "`true`, with the JSON converter",
        "a null in a nullable column with a default arrives as the default: the target is wrong, "
        "and nothing shows it",
        "set value.converter.replace.null.with.default=false, then re-snapshot such tables",
        _in_json(_is("true")),
    ),
    Rule(
        "signal.data.collection",
        "",
        Grade.ERROR,
        "another one than `source.signal-table`",
        "windows of incremental snapshots are not seen to open, and no row of the file's table is "
        "a signal",
        "make the two equal",
        _is_other_signal_table,
    ),
    Rule(
        "signal.data.collection",
        "",
        Grade.WARNING,
        "set, and no `source.signal-table`",
        "windows of incremental snapshots are not seen to open",
        "set source.signal-table to {value}, and name its topic in source.topics.data",
        _is_undeclared_signal_table,
    ),
    Rule(
        "signal.enabled.channels",
        "source",
        Grade.ERROR,
        "without `kafka` beside `source.signal-topic`",
        "the connector does not hear the signals that are sent: no table is read again",
        "set signal.enabled.channels=source,kafka",
        _is_deaf,
    ),
    Rule(
        "signal.kafka.topic",
        "",
        Grade.ERROR,
        "another one than `source.signal-topic`; where it is not set, `<topic.prefix>-signal`",
        "the connector does not hear the signals that are sent: no table is read again",
        "make the two equal",
        _hears_another_topic,
    ),
    Rule(
        "topic.prefix",
        "",
        Grade.ERROR,
        "another one than `source.topic-prefix`",
        "the connector takes no signal for its own: no table is read again",
        "set source.topic-prefix to {value}",
        _is_another_prefix,
    ),
    Rule(
        "snapshot.mode",
        "initial",
        Grade.ERROR,
        "`initial_only`",
        "the connector ends once it has read the tables: no change arrives",
        "set snapshot.mode=initial",
        _is("initial_only"),
    ),
    Rule(
        "snapshot.mode",
        "initial",
        Grade.WARNING,
        "`no_data`, `never`, `recovery` and their former names",
        "rows that are older than the connector arrive only once they are changed",
        "have the tables read: tidemark resync",
        _is("no_data", "never", "recovery", "schema_only", "schema_only_recovery"),
    ),
    Rule(
        "snapshot.select.statement.overrides",
        "",
        Grade.WARNING,
        "set",
        "a later snapshot lacks the rows that it leaves out, and they look deleted",
        "set snapshots.reconcile: ask, and do not confirm such a snapshot",
        _is_set,
    ),
    Rule(
        "heartbeat.interval.ms",
        "0",
        Grade.WARNING,
        "`0`",
        "while the captured tables are quiet the slot keeps the whole log of the server, until its "
        "disk is full",
        "set heartbeat.interval.ms=10000, and heartbeat.action.query where others write much",
        _is("0"),
        POSTGRES,
    ),
    Rule(
        "heartbeat.interval.ms",
        "0",
        Grade.NOTE,
        "`0`",
        "while the captured tables are quiet the connector's place in the binlog stays, and may be "
        "purged: it then has to read all tables again",
        "set heartbeat.interval.ms=10000",
        _is("0"),
        BINLOG,
    ),
    Rule(
        "tombstones.on.delete",
        "true",
        Grade.ERROR,
        "`false` beside `source.compacted: allow`",
        "a delete that compaction cleaned leaves no trace: the row stays",
        "set tombstones.on.delete=true",
        _compacted(_is_not("true")),
    ),
    Rule(
        "unavailable.value.placeholder",
        _PLACEHOLDER,
        Grade.ERROR,
        "not Debezium's own",
        "values that an update did not carry are stored as the text of the placeholder",
        f"set unavailable.value.placeholder={_PLACEHOLDER}, then re-snapshot",
        _is_not(_PLACEHOLDER),
        POSTGRES,
    ),
    Rule(
        "publish.via.partition.root",
        "false",
        Grade.NOTE,
        "`false`",
        "rows of a partitioned table come under the names of its partitions, each a table",
        "set publish.via.partition.root=true in the publication if they are to be one table",
        _is_not("true"),
        POSTGRES,
    ),
    Rule(
        "message.key.columns",
        "",
        Grade.NOTE,
        "set",
        "these columns tell rows apart: they have to be unique and not null, and a table stops "
        "when they change",
        "with PostgreSQL set REPLICA IDENTITY FULL, or to a unique index on them",
        _is_set,
    ),
    Rule(
        "column.include.list",
        "",
        Grade.NOTE,
        "set",
        "schema changes may describe the other columns: the target then has them too, with null",
        "leave them out of the target as well: target-columns with exclude",
        _is_set,
    ),
    Rule(
        "column.exclude.list",
        "",
        Grade.NOTE,
        "set",
        "schema changes may describe these columns: the target then has them too, with null",
        "leave them out of the target as well: target-columns with exclude",
        _is_set,
    ),
    Rule(
        "column.truncate.to.*",
        "",
        Grade.WARNING,
        "set",
        "longer texts are cut off, and placeholders of large values look like values where records "
        "have no schemas",
        "set REPLICA IDENTITY FULL on tables with such columns",
        _is_set,
        POSTGRES,
    ),
    Rule(
        "column.mask.*",
        "",
        Grade.WARNING,
        "set",
        "placeholders of large values are masked as well, and are stored as values",
        "set REPLICA IDENTITY FULL on tables with such columns; or hash in target-columns",
        _is_set,
        POSTGRES,
    ),
    Rule(
        "transforms",
        "",
        Grade.ERROR,
        "with `ExtractNewRecordState` or `EventRouter`",
        "records are flattened, and cannot be read",
        "take the transformation out",
        _transforms_by(*_FLATTENING),
    ),
    Rule(
        "transforms",
        "",
        Grade.WARNING,
        "with `Filter`",
        "what it drops is in no target; with gate transaction counts never add up, and cuts go no "
        "further",
        "leave tables out by table.include.list, columns by target-columns",
        _transforms_by(*_DROPPING),
    ),
    Rule(
        "transforms",
        "",
        Grade.WARNING,
        "with another one that is not known to keep records as they are",
        "records are changed on their way, which nothing here knows of",
        "have the target's columns changed in its stead: target-columns",
        _transforms_by_unknown,
    ),
)
"""A setting may have several, for several values."""
