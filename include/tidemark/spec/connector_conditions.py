"""When a setting of a connector costs something beside what a pipeline file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidemark.model.cut import GateMode
from tidemark.model.modes import Untyped
from tidemark.spec.connector import AVRO, JSON, RENAMING, Connector, form_of
from tidemark.spec.source import SourceFormat, SourceSpec

FLATTENING = ("ExtractNewRecordState", "EventRouter")
DROPPING = ("Filter",)
APICURIO = "io.apicurio."
_TIME_MODES: Mapping[str, str] = {"adaptive_time_microseconds": "adaptive-microseconds"}

Applies = Callable[[str, Connector, SourceSpec], bool]
"""Of the setting's value, the connector and the source: whether it costs something."""


def is_one_of(*values: str) -> Applies:
    """It is one of ``values``."""
    return lambda value, _, __: value.strip().lower() in values


def is_none_of(*values: str) -> Applies:
    """It is none of ``values``."""
    return lambda value, _, __: value.strip().lower() not in values


def is_set(value: str, _: Connector, __: SourceSpec) -> bool:
    """It has a value."""
    return bool(value.strip())


def with_gate(gate: GateMode, applies: Applies) -> Applies:
    """``applies``, where the file has ``gate``."""
    return lambda value, of, source: source.gate is gate and applies(value, of, source)


def differs(declared: Callable[[SourceSpec], str]) -> Applies:
    """The mode of a connector is another one than the file declares; Debezium writes _ for -."""

    def applies(value: str, _: Connector, source: SourceSpec) -> bool:
        return value.lower().replace("_", "-") != declared(source)

    return applies


def time_differs(value: str, _: Connector, source: SourceSpec) -> bool:
    """Times are written otherwise than the file declares."""
    written = value.strip().lower()
    return _TIME_MODES.get(written, written) != modes(source)["time"]


def names_differ(value: str, of: Connector, source: SourceSpec) -> bool:
    """Debezium's default beside Avro is avro."""
    is_default = "field.name.adjustment.mode" not in of.config and source.avro is not None
    return not is_default and value.lower().replace("_", "-") != source.written_names


def in_json(applies: Applies) -> Applies:
    """``applies``, where the connector names the converter to JSON."""
    return lambda value, of, source: of.converter == JSON and applies(value, of, source)


def is_converter_of_another_form(value: str, _: Connector, source: SourceSpec) -> bool:
    """Records are in a form that the file does not declare."""
    wanted = JSON if source.avro is None else AVRO
    return bool(value) and form_of(value) != wanted


def of_apicurio(converter: str, applies: Applies) -> Applies:
    """``applies``, where ``converter`` is Apicurio's."""
    return lambda value, of, source: (
        of.config.get(converter, "").startswith(APICURIO) and applies(value, of, source)
    )


def writes_long_ids(instead: str) -> Applies:
    """Neither a handler of short ids is named, nor is ``instead`` set, which takes one."""

    def applies(value: str, of: Connector, _: SourceSpec) -> bool:
        return "4Byte" not in value and of.config.get(instead, "").lower() != "true"

    return applies


def is_of_the_worker(value: str, _: Connector, source: SourceSpec) -> bool:
    """Nothing is set, so that the worker's own converter writes what is to be JSON."""
    return not value and source.avro is None


def lacks_types(value: str, of: Connector, source: SourceSpec) -> bool:
    """Records have no schemas, and the file needs them for types."""
    is_untold = source.untyped is Untyped.REFUSE and not source.has_table_states
    return of.converter == JSON and value.lower() != "true" and is_untold


def is_other_signal_table(value: str, _: Connector, source: SourceSpec) -> bool:
    """The file has another signal table."""
    return source.signal_table is not None and str(source.signal_table) != value


def is_undeclared_signal_table(value: str, _: Connector, source: SourceSpec) -> bool:
    """There is a signal table, and the file has none."""
    return source.signal_table is None and bool(value)


def is_deaf(value: str, _: Connector, source: SourceSpec) -> bool:
    """The file has a topic of signals, and the connector reads none."""
    channels = {channel.strip() for channel in value.split(",")}
    return source.signal_topic is not None and "kafka" not in channels


def hears_another_topic(value: str, of: Connector, source: SourceSpec) -> bool:
    """Where nothing is set, Debezium names the topic of signals after its prefix."""
    heard = value or f"{of.prefix}-signal"
    return source.signal_topic is not None and heard != source.signal_topic


def is_another_prefix(value: str, _: Connector, source: SourceSpec) -> bool:
    """The file has another prefix of topics."""
    return source.topic_prefix is not None and value != source.topic_prefix


def compacted(applies: Applies) -> Applies:
    """``applies``, where the file allows compacted topics."""
    return lambda value, of, source: source.is_compacted and applies(value, of, source)


def transforms_by(*kinds: str) -> Applies:
    """A transformation is one of ``kinds``."""
    return lambda _, of, __: any(kind in kinds for kind in of.transforms.values())


def transforms_by_unknown(_: str, of: Connector, __: SourceSpec) -> bool:
    """A transformation is none that is known here."""
    known = (*FLATTENING, *DROPPING, *RENAMING)
    return any(kind not in known for kind in of.transforms.values())


def modes(source: SourceSpec) -> Mapping[str, str]:
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
