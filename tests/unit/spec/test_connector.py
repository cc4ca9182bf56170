"""What settings of a connector cost, of real configurations (tests/unit/topics/connect)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.connect import RECORDED
from tidemark.model.finding import Finding, Grade
from tidemark.model.names import TableName
from tidemark.spec import SourceSpec
from tidemark.spec.connector import Connector, writers
from tidemark.spec.connector_rules import judge_connector

ANSWERS = json.loads(RECORDED.read_text("utf-8"))
MYSQL, MARIADB, POSTGRES, BARE = (
    Connector(name, ANSWERS[f"/connectors/{name}/config"]["body"])
    for name in ("mysql_plain_1", "mariadb_plain_1", "postgres_plain_1", "bare")
)


def source(connector: Connector, **fields: Any) -> SourceSpec:
    """What a file that fits ``connector`` says; fields: what it says otherwise."""
    binlog, prefix = connector is not POSTGRES and connector is not BARE, connector.prefix
    tables: dict[str, Any] = {}
    topics = {"data": [rf"^{prefix}\..*\..*"], "transactions": [f"{prefix}.transaction"]}
    if connector is POSTGRES:
        tables["signal-table"] = "app.signals"
    if binlog:
        topics["schema-changes"] = [prefix]
        tables["signal-table"] = connector.config["signal.data.collection"]
        tables["modes"] = {"bigint-unsigned": "precise"}
    declared = {
        "format": connector.format,
        "gate": "transaction",
        "topics": topics,
        **tables,
        **fields,
    }
    return SourceSpec.model_validate({k: v for k, v in declared.items() if v is not None})


def judged(connector: Connector, spec: SourceSpec, **settings: str) -> list[Finding]:
    """Findings of ``connector`` with other ``settings``, _ for a point; empty: without it."""
    changed = {name.replace("_", "."): value for name, value in settings.items()}
    config = {**connector.config, **changed}
    return list(
        judge_connector(
            Connector(connector.name, {k: v for k, v in config.items() if v != ""}), spec
        )
    )


def bad(findings: list[Finding]) -> dict[str, Grade]:
    """Of which setting there is an error or a warning."""
    worse = [f for f in findings if f.grade in (Grade.ERROR, Grade.WARNING)]
    return {finding.what.partition("=")[0]: finding.grade for finding in worse}


@pytest.mark.parametrize("connector", [MYSQL, MARIADB, POSTGRES], ids=lambda c: c.name)
def test_connectors_of_the_live_lane_are_as_they_should_be(connector: Connector) -> None:
    heartbeat = {"heartbeat.interval.ms": Grade.WARNING} if connector is POSTGRES else {}
    assert bad(judged(connector, source(connector))) == heartbeat


def test_one_that_was_left_to_its_defaults() -> None:
    """TRUNC-15: truncates are dropped unless somebody says otherwise."""
    findings = judged(BARE, source(BARE))
    assert bad(findings) == {
        "skipped.operations": Grade.ERROR,
        "provide.transaction.metadata": Grade.ERROR,
        "decimal.handling.mode": Grade.ERROR,
        "value.converter.replace.null.with.default": Grade.ERROR,
        "snapshot.mode": Grade.WARNING,
        "transforms": Grade.WARNING,
    }
    (truncates,) = (f for f in findings if f.what.startswith("skipped.operations"))
    assert truncates.what == "skipped.operations=t, its default"
    flattened = [f.grade for f in findings if f.what.startswith("transforms=")]
    assert flattened == [Grade.ERROR, Grade.WARNING]
    assert "not-for-print" not in str(findings)


@pytest.mark.parametrize(
    ("setting", "value", "is_bad"),
    [
        ("skipped_operations", "u", True),
        ("include_schema_changes", "false", True),
        ("include_schema_changes", "", False),
        ("decimal_handling_mode", "string", True),
        ("time_precision_mode", "connect", True),
        ("time_precision_mode", "", False),
        ("time_precision_mode", " ADAPTIVE_time_microseconds", False),
        ("bigint_unsigned_handling_mode", "", True),
        ("binary_handling_mode", "hex", True),
        ("field_name_adjustment_mode", "avro", True),
        ("field_name_adjustment_mode", "none", False),
        ("value_converter", "io.confluent.connect.avro.AvroConverter", True),
        ("value_converter", "", True),
        ("value_converter", "Json", False),
        ("key_converter", "JsonConverter", False),
        ("header_converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter", False),
        ("key_converter", "org.apache.kafka.connect.storage.StringConverter", True),
        ("value_converter_schemas_enable", "true", False),
        ("signal_data_collection", "", True),
        ("signal_data_collection", "app.others", True),
        ("snapshot_mode", "initial_only", True),
        ("snapshot_mode", "when_needed", False),
        ("snapshot_select_statement_overrides", "app.t1", True),
        ("tombstones_on_delete", "false", False),
        ("topic_prefix", "another", True),
    ],
)
def test_of_mysql(setting: str, value: str, is_bad: bool) -> None:
    assert bool(bad(judged(MYSQL, source(MYSQL), **{setting: value}))) is is_bad


APICURIO = "value.converter.apicurio.registry"
FOUR_BYTES = {
    "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
    f"{APICURIO}.id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler",
    f"{APICURIO}.use-id": "contentId",
}


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        pytest.param({}, None, id="ids of four bytes"),
        pytest.param({"headers.enabled": "true"}, "headers.enabled", id="ids in headers"),
        pytest.param({"id-handler": ""}, "no id-handler", id="ids of eight bytes"),
        pytest.param(
            {"id-handler": "io.apicurio.registry.serde.Legacy8ByteIdHandler"},
            "id-handler",
            id="ids of eight bytes by name",
        ),
        pytest.param({"id-handler": "", "as-confluent": "true"}, None, id="as Confluent's"),
        pytest.param({"use-id": "globalId"}, "use-id", id="ids of another kind"),
        pytest.param({"use-id": ""}, "no use-id", id="ids of a kind that the version decides"),
    ],
)
def test_of_apicurios_converter(settings: dict[str, str], setting: str | None) -> None:
    spec = source(MYSQL, avro={"folder": "/schemas"})
    changed = {f"{APICURIO}.{name}": value for name, value in settings.items()}
    found = {
        what.replace(f"{APICURIO}.", ""): grade
        for what, grade in bad(judged(MYSQL, spec, **FOUR_BYTES | changed)).items()
        if APICURIO in what
    }
    is_unset = (setting or "").startswith("no ")  # The version of the converter decides.
    assert found == ({setting: Grade.WARNING if is_unset else Grade.ERROR} if setting else {})


@pytest.mark.parametrize(
    ("setting", "value", "is_bad"),
    [
        ("interval_handling_mode", "string", True),
        ("hstore_handling_mode", "map", True),
        ("time_precision_mode", "adaptive_time_microseconds", True),
        ("value_converter_schemas_enable", "false", True),
        ("unavailable_value_placeholder", "?", True),
        ("column_mask_hash_SHA-256_with_salt_x", "app.t1.c1", True),
        ("column_truncate_to_20_chars", "app.t1.c1", True),
        ("message_key_columns", "app.t1:c1", False),
    ],
)
def test_of_postgres(setting: str, value: str, is_bad: bool) -> None:
    beats = {"heartbeat_interval_ms": "1000", setting: value}
    assert bool(bad(judged(POSTGRES, source(POSTGRES), **beats))) is is_bad


@pytest.mark.parametrize(
    ("connector", "settings", "captured"),
    [
        (MYSQL, {"database.include.list": ""}, True),
        (MYSQL, {"database.include.list": "other, app"}, True),
        (MYSQL, {"database.include.list": "other"}, False),
        (MYSQL, {"table.include.list": r"app\.items,app\.t[0-9]"}, True),
        (MYSQL, {"table.include.list": r"APP\.T.*"}, True),
        (MYSQL, {"table.include.list": "app.t"}, False),
        (MYSQL, {"table.exclude.list": r"app\.t\d{1}"}, False),
        (MYSQL, {"table.exclude.list": r"app\.u.*"}, True),
        (MYSQL, {"table.include.list": "(?<x"}, True),
        (POSTGRES, {"schema.include.list": "public", "table.include.list": ""}, False),
        (POSTGRES, {"schema.include.list": "app", "database.include.list": "other"}, True),
    ],
)
def test_lists_of_a_connector_have_tables(
    connector: Connector, settings: dict[str, str], captured: bool
) -> None:
    plain = {k: v for k, v in connector.config.items() if not k.endswith(".list")}
    changed = Connector(connector.name, {**plain, **settings})
    assert changed.captures(TableName("app", "t1")) is captured


def test_the_salt_of_a_hash_is_not_shown() -> None:
    salted = {"column_mask_hash_SHA-256_with_salt_s3cret": "app.t1.c1"}
    findings = judged(POSTGRES, source(POSTGRES), **salted)
    assert [f.what for f in findings if "mask" in f.what] == ["column.mask.*=app.t1.c1"]
    assert "s3cret" not in str(findings)


@pytest.mark.parametrize(
    ("connector", "setting", "value", "grade"),
    [
        (POSTGRES, "event.processing.failure.handling.mode", "skip", Grade.ERROR),
        (MYSQL, "event.processing.failure.handling.mode", "WARN", Grade.ERROR),
        (MYSQL, "event.processing.failure.handling.mode", "ignore", Grade.ERROR),
        (MYSQL, "event.processing.failure.handling.mode", "fail", None),
        (MARIADB, "inconsistent.schema.handling.mode", "warn", Grade.ERROR),
        (MYSQL, "inconsistent.schema.handling.mode", "skip", Grade.ERROR),
        (MYSQL, "inconsistent.schema.handling.mode", "fail", None),
        (POSTGRES, "inconsistent.schema.handling.mode", "skip", None),
        (POSTGRES, "errors.tolerance", "all", Grade.ERROR),
        (POSTGRES, "errors.tolerance", "none", None),
        (MYSQL, "schema.history.internal.skip.unparseable.ddl", "true", Grade.ERROR),
        (MYSQL, "schema.history.internal.skip.unparseable.ddl", "false", None),
        (MYSQL, "converters", "boolean", Grade.WARNING),
    ],
)
def test_settings_that_drop_changes_are_named(
    connector: Connector, setting: str, value: str, grade: Grade | None
) -> None:
    found = bad(judged(connector, source(connector), **{setting: value}))
    assert found.get(setting) is grade


def test_values_that_cannot_be_converted_are_null() -> None:
    setting = "event.converting.failure.handling.mode"
    (finding,) = (f for f in judged(MYSQL, source(MYSQL)) if f.what.startswith(setting))
    assert (finding.grade, finding.what) == (Grade.NOTE, f"{setting}=warn, its default")
    assert setting not in str(judged(MYSQL, source(MYSQL), **{setting: "fail"}))


def test_the_converter_of_the_worker_is_not_known() -> None:
    """Settings of a converter that the connector does not name are nobody's."""
    of_worker = {"value_converter": "", "value.converter.replace.null.with.default": "false"}
    found = bad(judged(MYSQL, source(MYSQL), **of_worker))
    assert found == {"no value.converter": Grade.WARNING}


def test_signals_reach_the_connector() -> None:
    signals = {"signal-topic": "asked", "topic-prefix": "mysql_plain_1"}
    spec = source(MYSQL, **signals)
    assert bad(judged(MYSQL, spec)).keys() == {"signal.enabled.channels", "no signal.kafka.topic"}
    heard = {"signal_enabled_channels": "source,kafka", "signal_kafka_topic": "asked"}
    assert bad(judged(MYSQL, spec, **heard)) == {}
    other = source(MYSQL, **{**signals, "topic-prefix": "another"})
    assert bad(judged(MYSQL, other, **heard)).keys() == {"topic.prefix"}


def test_the_topic_of_signals_is_named_after_the_prefix_unless_it_is_set() -> None:
    usual = {"signal-topic": "mysql_plain_1-signal", "topic-prefix": "mysql_plain_1"}
    channels = {"signal_enabled_channels": "source,kafka"}
    assert bad(judged(MYSQL, source(MYSQL, **usual), **channels)) == {}


def test_tables_that_no_signal_table_stands_beside() -> None:
    undeclared = source(MYSQL, **{"signal-table": None})
    assert bad(judged(MYSQL, undeclared)) == {"signal.data.collection": Grade.WARNING}


def test_another_database_is_one_error() -> None:
    (finding,) = judge_connector(MYSQL, source(POSTGRES))
    assert (finding.grade, finding.what) == (
        Grade.ERROR,
        "connector.class=io.debezium.connector.mysql.MySqlConnector",
    )


def test_the_transaction_topic_may_have_another_name() -> None:
    topics = {"data": [r"^mysql_plain_1\..*\..*"], "transactions": ["mysql_plain_1.tx"]}
    spec = source(MYSQL, topics={**topics, "schema-changes": ["mysql_plain_1"]})
    assert bad(judged(MYSQL, spec)) == {"topic.prefix": Grade.ERROR}
    assert bad(judged(MYSQL, spec, topic_transaction="tx")) == {}


def test_topics_may_be_joined_by_another_delimiter() -> None:
    config = {**MYSQL.config, "topic.delimiter": "-"}
    joined = Connector("joined", config)
    topics = {"data": ["^mysql_plain_1-.*-.*"], "transactions": ["mysql_plain_1-transaction"]}
    spec = source(MYSQL, topics={**topics, "schema-changes": ["mysql_plain_1"]})
    assert bad(list(judge_connector(joined, spec))) == {}
    assert writers(source(MYSQL, gate="none", topics={"data": topics["data"]}), [joined])


def test_the_time_mode_is_read_whatever_its_case() -> None:
    spec = source(MYSQL, modes={"bigint-unsigned": "precise", "time": "connect"})
    assert bad(judged(MYSQL, spec, time_precision_mode="CONNECT")) == {}


@pytest.mark.parametrize("untyped", ["infer", "string"])
def test_types_may_be_inferred(untyped: str) -> None:
    spec = source(POSTGRES, untyped=untyped)
    found = judged(POSTGRES, spec, value_converter_schemas_enable="false")
    assert "value.converter.schemas.enable" not in bad(found)


@pytest.mark.parametrize("router", ["RegexRouter", "ByLogicalTableRouter"])
def test_routers_may_rename_side_topics(router: str) -> None:
    topics = {"data": ["^all.*"], "transactions": ["tx"], "schema-changes": ["ddl"]}
    spec = source(MYSQL, topics=topics)
    assert [f.grade for f in judged(MYSQL, spec) if f.what.startswith("topic.prefix")] == [
        Grade.ERROR,
        Grade.ERROR,
    ]
    routed = {"transforms": "route", "transforms_route_type": f"a.b.{router}"}
    assert bad(judged(MYSQL, spec, **routed)) == {}


@pytest.mark.parametrize(
    ("selector", "writes"),
    [
        (r"^mysql_plain_1\.test\..*", True),
        ("mysql_plain_1.test.t1", True),
        ("mysql_plain_10.test.t1", False),
        ("^other[.].*", False),
        ("^(mysql_plain_1)[.].*", True),
        ("^(?:shop|mysql_plain_1)[.](test|app)[.].*", True),
        (r"^shop\..*|mysql_plain_1\..*", True),
        (r"^mysql\_plain\_1[\.]test\..*", True),
        ("^mysql_plain_1.*", True),
        ("^(mysql_plain_1)0[.].*", False),
        ("^(mysql_plain_1[.])?other[.].*", False),
    ],
)
def test_a_connector_is_known_by_its_prefix(selector: str, writes: bool) -> None:
    spec = source(MYSQL, gate="none", topics={"data": [selector]})
    assert bool(writers(spec, [MYSQL])) is writes


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (["shop.eu.db.t"], ["eu"]),
        ([r"^shop\.eu\..*"], ["eu"]),
        (["shop.db.t"], ["all"]),
        (["shop.eu.db.t", "shop.db.t"], ["all", "eu"]),
        (["shop.euro.db.t"], ["all"]),
    ],
)
def test_the_longest_prefix_tells_whose_a_topic_is(
    selectors: list[str], expected: list[str]
) -> None:
    names = {"all": "shop", "eu": "shop.eu", "none": ""}
    connectors = [Connector(name, {"topic.prefix": prefix}) for name, prefix in names.items()]
    spec = source(MYSQL, gate="none", topics={"data": selectors})
    assert [one.name for one in writers(spec, connectors)] == expected


@pytest.mark.parametrize(
    ("name", "grade"),
    [
        ("MySqlConnector", None),
        ("MySql", None),
        ("com.example.VitessConnector", Grade.WARNING),
        ("", Grade.WARNING),
        ("PostgresConnector", Grade.ERROR),
        ("io.debezium.connector.mariadb.MariaDbConnector", Grade.ERROR),
    ],
)
def test_a_class_may_be_named_in_short(name: str, grade: Grade | None) -> None:
    found = bad(judged(MYSQL, source(MYSQL), connector_class=name))
    what = "connector.class" if name else "no connector.class"
    assert found == ({what: grade} if grade else {})
