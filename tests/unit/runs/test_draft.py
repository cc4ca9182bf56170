"""`tidemark init` on recorded records of every source: what it sees, and files that are valid."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.corpus.cases import Case, read_case
from tests.support.records import Record, canal_message, ticdc_row, ticdc_watermark
from tidemark.cli.init import show_draft
from tidemark.errors import ActionRefusedError
from tidemark.model.names import PipelineName, TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.runs.draft.draft import MOST, Draft, draft_of
from tidemark.runs.draft.text import Named, Registry
from tidemark.spec import load_pipeline, load_suite
from tidemark.topics.client import TopicFacts
from tidemark.topics.sample import Sample, Samples

CASES = Path(__file__).parents[2] / "corpus" / "cases"
REGISTRY = Registry("https://registry:8081", "tide", "${env:REGISTRY_PASSWORD}")


def samples_of(case: Case) -> Samples:
    records = tuple(
        Sample(TopicPartition(TopicName(one.topic), one.partition), one.key, one.value)
        for one in case.records
        if one.value is not None
    )
    facts = [
        TopicFacts(TopicName(topic), "id", count, False, None)
        for topic, count in case.partitions.items()
    ]
    offsets = {topic.name: len(case.records) for topic in facts}
    return Samples(tuple(facts), offsets, records)


def drafted(
    samples: Samples,
    folder: Path,
    *,
    by_prefix: bool = True,
    schemas: Mapping[int, Any] | None = None,
) -> Draft:
    named = Named(
        PipelineName("drafted"), "tests: #1", by_prefix, REGISTRY if schemas is not None else None
    )
    texts = {number: json.dumps(schema) for number, schema in (schemas or {}).items()}
    folders = folder / "pipelines", folder / "suites"
    return draft_of(named, samples, texts.get if schemas is not None else None, folders)


INVENTORY = {
    "inventory.addresses": ["id"],
    "inventory.customers": ["id"],
    "inventory.geom": ["id"],
    "inventory.orders": ["order_number"],
    "inventory.products": ["id"],
    "inventory.products_on_hand": ["product_id"],
}
SHOP = {
    "shop.customers": ["id"],
    "shop.order_lines": ["order_id", "line_no"],
    "shop.orders": ["id"],
}
PG = {
    "inventory.customers": ["id"],
    "inventory.orders": ["id"],
    "inventory.products": ["id"],
    "inventory.products_on_hand": ["product_id"],
}


@pytest.mark.parametrize(
    ("case", "variant", "expected", "keys"),
    [
        ("flink-json/canal", "canal", "canal-json none", {"inventory.products2": ["id"]}),
        (
            *("flink-json/debezium-avro-confluent", "avro-confluent", "debezium-mysql none"),
            {"test1.person": []},
        ),
        (
            *("flink-json/debezium-mysql-noschema", "json-noschema", "debezium-mysql none"),
            {"inventory.products": []},
        ),
        (
            *("flink-json/debezium-mysql-schema", "json-schema", "debezium-mysql none"),
            {"inventory.products": []},
        ),
        (
            *("flink-json/debezium-postgres-noschema", "json-noschema", "debezium-postgres none"),
            {"inventory.products": []},
        ),
        (
            *("flink-json/debezium-postgres-schema", "json-schema", "debezium-postgres none"),
            {"inventory.products": []},
        ),
        *(
            ("recorded-debezium-mysql/my-inventory", variant, "debezium-mysql transaction", keys)
            for variant, keys in (
                ("json-noschema", INVENTORY),
                ("json-schema", INVENTORY),
                ("avro-confluent", INVENTORY),
            )
        ),
        *(
            (
                "recorded-debezium-postgres/pg-inventory",
                variant,
                "debezium-postgres transaction",
                PG,
            )
            for variant in ("json-noschema", "json-schema", "avro-confluent")
        ),
        ("ticdc-made/shop", "3p", "ticdc-canal-json watermark", SHOP),
        ("ticdc-made/shop", "1p", "ticdc-canal-json watermark", SHOP),
        (
            *("ticdc-canal-json/cdcfresh-recorded", "ticdc", "ticdc-canal-json none"),
            {"demo.readings": ["id"]},
        ),
        (
            *("ticdc-canal-json/tiflow-employee", "ticdc", "ticdc-canal-json none"),
            {"test.employee": ["id"]},
        ),
    ],
)
def test_a_recorded_source_is_known(
    tmp_path: Path, case: str, variant: str, expected: str, keys: Mapping[str, list[str]]
) -> None:
    """What is written is what `tidemark validate` accepts, and nothing is overwritten."""
    recorded = read_case(CASES / case, variant)
    draft = drafted(samples_of(recorded), tmp_path, schemas=recorded.schemas or None)
    source = draft.pipeline.source
    assert f"{source.format} {source.gate}" == expected
    assert (source.avro is not None) is ("avro" in variant)
    assert {str(table): list(key) for table, key in draft.seen.tables.items()} == keys
    assert {str(spec.source): spec.suite is not None for spec in draft.pipeline.tables} == {
        table: bool(key) for table, key in keys.items()
    }
    draft.write()
    suites = tmp_path / "suites"
    assert load_pipeline(tmp_path / "pipelines" / "drafted.yaml", suites=suites) == draft.pipeline
    for spec in draft.pipeline.tables:
        if spec.suite is not None:
            assert (
                len(load_suite(spec.suite, suites).expectations) == len(keys[str(spec.source)]) + 1
            )
    (tmp_path / "pipelines" / "drafted.yaml").unlink()
    before = {file: file.read_text() for file in tmp_path.rglob("*.yaml")}
    if before:
        with pytest.raises(ActionRefusedError, match="is there already"):
            draft.write()
        assert {file: file.read_text() for file in tmp_path.rglob("*.yaml")} == before


@pytest.mark.parametrize("variant", ["json-noschema", "json-schema"])
def test_topics_have_their_roles(tmp_path: Path, variant: str) -> None:
    samples = samples_of(read_case(CASES / "recorded-debezium-mariadb" / "maria-shop", variant))
    topics = drafted(samples, tmp_path).pipeline.source.topics
    assert topics.schema_changes == ("vinylshop",)
    assert topics.transactions == ("vinylshop.transaction",)
    assert topics.data == (r"^vinylshop\.vinyl\.[^.]+$",)
    named = drafted(samples, tmp_path, by_prefix=False).pipeline.source.topics
    assert named.data
    assert all(name.startswith("vinylshop.vinyl.") for name in named.data)


def topic_of(records: Iterable[Record], *, partitions: int = 1, topic: str = "t") -> Samples:
    place = TopicName(topic)
    facts = TopicFacts(place, "id", partitions, False, None)
    listed = [
        Sample(TopicPartition(place, one.partition), one.key, one.value)
        for one in records
        if one.value is not None
    ]
    return Samples((facts,), {place: len(listed)}, tuple(listed))


def test_a_partition_that_sent_no_watermark_is_told(tmp_path: Path) -> None:
    """GATE-4: cuts would wait for it."""
    records = [ticdc_row("INSERT", 1, 100), ticdc_watermark(101)]
    draft = drafted(topic_of(records, partitions=2), tmp_path)
    assert "no watermark has come from partition 1 of t so far" in draft.open


def test_several_partitions_without_positions_are_refused(tmp_path: Path) -> None:
    """POS-11"""
    with pytest.raises(ActionRefusedError, match="has 2 partitions"):
        drafted(topic_of([ticdc_row("INSERT", 1, None)], partitions=2), tmp_path)


FLAT = Record(b'{"id": 1, "name": "a", "__deleted": "false"}')


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([FLAT, Record(b"no json"), Record(b"\x00\x00\x00\x00\x07\x02")], "of 0 formats"),
        ([ticdc_watermark(100)], "no row of a table"),
        ([canal_message("INSERT", id=3), ticdc_row("INSERT", 1, 100)], "of 2 formats"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, records: list[Record], why: str) -> None:
    with pytest.raises(ActionRefusedError, match=why):
        drafted(topic_of(records), tmp_path)
    assert list(tmp_path.iterdir()) == []


def debezium(table: str, after: Mapping[str, Any], **key: Any) -> Record:
    source = {"connector": "mysql", "name": "a", "db": "d", "table": table}
    value = {"before": None, "after": after, "op": "c", "source": source}
    return Record(json.dumps(value).encode(), json.dumps(key).encode() if key else None)


def test_a_signal_table_is_none_that_is_folded(tmp_path: Path) -> None:
    """MSG-28"""
    signal = debezium("signals", {"id": "1", "type": "log", "data": None}, id="1")
    routed = {"__dbz__physicalTableIdentifier": "a.d.items_1"}
    draft = drafted(topic_of([signal, debezium("items", {"n": 1}, n=1, **routed)]), tmp_path)
    assert draft.pipeline.source.signal_table == TableName("d", "signals")
    assert draft.seen.tables == {TableName("d", "items"): ("n",)}
    assert any(sentence.startswith("types: ") for sentence in draft.open)


def test_a_signal_that_was_deleted_makes_no_table(tmp_path: Path) -> None:
    """MSG-28"""
    signal = debezium("signals", {"id": "1", "type": "log", "data": None}, id="1")
    content = json.loads(signal.value or b"")
    gone = {"id": "1", "type": None, "data": None}
    deleted = Record(json.dumps(content | {"op": "d", "after": None, "before": gone}).encode())
    draft = drafted(topic_of([signal, debezium("items", {"n": 1}, n=1), deleted]), tmp_path)
    assert set(draft.seen.tables) == {TableName("d", "items")}


def test_targets_are_numbered_until_they_are_free(tmp_path: Path) -> None:
    """SCHEMA-31: in a catalog that keeps no case."""
    records = [
        Record((debezium(table, {"n": 1}).value or b"").replace(b'"d"', f'"{schema}"'.encode()))
        for schema, table in (
            *(("D", "Orders"), ("D", "orders"), ("d", "orders"), ("e", "d__ORDERS")),
            *(("d", "a.b"), ("e", "A_x002E_b")),
        )
    ]
    draft = drafted(topic_of(records), tmp_path)
    targets = {str(spec.source): spec.target for spec in draft.pipeline.tables}
    assert len({target.casefold() for target in targets.values()}) == len(records)
    assert targets["D.Orders"] == "Orders"
    assert targets["D.orders"] == "D__orders"
    assert targets["d.orders"] == "d__orders_2"


def test_a_fault_of_the_file_names_no_folder_that_is_gone(tmp_path: Path) -> None:
    named = Named(PipelineName("drafted"), " ", by_prefix=False)
    with pytest.raises(ActionRefusedError, match=r"would have faults: drafted\.yaml:4") as refused:
        draft_of(named, topic_of([debezium("t", {"n": 1})]), None, (tmp_path, tmp_path))
    assert tempfile.gettempdir() not in refused.value.what


def test_odd_names_are_written_as_yaml_has_them(tmp_path: Path) -> None:
    """POISON-6: names of others, which may look like anything."""
    records = [
        debezium("yes: #1", {"Null": 1}, Null=1),
        debezium("YES #1", {"a b": 1}, **{"a b": 1}),
        debezium("../x", {"n": 1}, n=1),
        debezium("two\u2028lines", {}, **{"a\n  - source: d.e": 1, "b'\"": 2}),
    ]
    draft = drafted(topic_of(records), tmp_path)
    assert [str(spec.source) for spec in draft.pipeline.tables] == [
        *("d.YES #1", "d.two\u2028lines", "d.yes: #1")
    ]
    assert len({spec.suite for spec in draft.pipeline.tables}) == 3
    draft.write()
    for spec in draft.pipeline.tables:
        (first, *_) = load_suite(spec.suite or "", tmp_path / "suites").expectations
        assert first.arguments["column"] in ("Null", "a b", "a\n  - source: d.e")


def avro_text(text: str) -> bytes:
    return bytes([2 * len(text)]) + text.encode()


def avro_row(
    name: str, schema: str, table: str, *, transaction: str | None = None, ts: int = 1
) -> tuple[bytes, Mapping[str, Any]]:
    """An insert of PostgreSQL's connector of the topic.prefix ``name``, and its schema."""
    texts = {"connector": "postgresql", "name": name, "db": "d", "schema": schema, "table": table}
    adjusted = f"{name}.{schema}.{table}".replace("-", "_")
    image = {"type": "record", "name": "Value", "fields": [{"name": "id", "type": "int"}]}
    source = {
        "type": "record",
        "name": "Source",
        "namespace": "io.debezium.connector.postgresql",
        "fields": [{"name": field, "type": "string"} for field in texts],
    }
    block = {
        "type": "record",
        "name": "block",
        "namespace": "event",
        "fields": [{"name": "id", "type": "string"}],
    }
    fields = {
        "before": ["null", image],
        "after": ["null", "Value"],
        "source": source,
        "transaction": ["null", block],
        "op": "string",
        "ts_ms": ["null", "long"],
    }
    declared = {
        "type": "record",
        "name": "Envelope",
        "namespace": adjusted,
        "fields": [{"name": field, "type": kind} for field, kind in fields.items()],
    }
    body = b"".join(
        (
            b"\0",
            b"\2\2",
            *(avro_text(text) for text in texts.values()),
            b"\2" + avro_text(transaction) if transaction else b"\0",
            avro_text("c"),
            b"\2" + bytes([2 * ts]),
        )
    )
    return b"\0" + (1).to_bytes(4) + body, declared


@pytest.mark.parametrize(
    ("prefix", "table"), [("shop.eu", "orders"), ("my-shop", "my-table"), ("shop", "eu.orders")]
)
def test_a_record_in_avro_names_its_table_itself(tmp_path: Path, prefix: str, table: str) -> None:
    """MSG-19: names of schemas are adjusted, and a prefix may hold dots."""
    value, schema = avro_row(prefix, "public", table)
    seen = drafted(topic_of([Record(value)]), tmp_path, schemas={1: schema}).seen
    assert set(seen.tables) == {TableName("public", table)}
    assert seen.prefixes == {prefix}


def test_a_record_that_its_schema_does_not_fit_is_told(tmp_path: Path) -> None:
    value, schema = avro_row("shop", "public", "orders")
    records = [Record(value), Record(value[:-1])]
    draft = drafted(topic_of(records), tmp_path, schemas={1: schema})
    assert "topic t: 1 of 2 records are in no known form" in draft.open


def change(at_ms: int, fields: Mapping[str, Any], of: str = "a") -> Record:
    source = {"connector": "mysql", "name": of, "db": "d", "table": "t", "snapshot": "false"}
    value = {"before": None, "after": {"n": 1}, "op": "c", "ts_ms": at_ms, "source": source}
    return Record(json.dumps({**value, **fields}).encode(), b'{"n": 1}')


def with_ends(records: Iterable[Record], partitions: int = 1) -> Samples:
    """``records`` in their topic, and the end of a transaction in another."""
    end = Record(b'{"status": "END", "id": "1", "event_count": 1, "data_collections": []}')
    rows, ends = topic_of(records), topic_of([end], topic="ends", partitions=partitions)
    return Samples(
        rows.facts + ends.facts, {**rows.offsets, **ends.offsets}, (*rows.records, *ends.records)
    )


BLOCK: Mapping[str, Any] = {
    "transaction": {"id": "1", "total_order": 1, "data_collection_order": 1}
}
NO_BLOCK: Mapping[str, Any] = {"transaction": None}


@pytest.mark.parametrize(
    ("records", "partitions", "gate", "why"),
    [
        ([change(2, BLOCK), change(1, NO_BLOCK)], 1, "transaction", ""),
        ([change(2, NO_BLOCK), change(1, BLOCK)], 1, "none", "the newest rows name none"),
        ([change(2, BLOCK), change(2, NO_BLOCK)], 1, "none", "the newest rows name none"),
        ([change(2, {**NO_BLOCK, "op": "t"}), change(1, BLOCK)], 1, "transaction", ""),
        ([change(2, {**NO_BLOCK, "op": "r"})], 1, "none", "all rows are of snapshots"),
        ([change(1, BLOCK)], 2, "none", "transaction topic ends has 2 partitions"),
    ],
)
def test_the_gate_is_what_the_newest_change_allows(
    tmp_path: Path, records: list[Record], partitions: int, gate: str, why: str
) -> None:
    """GATE-1: ends stay in their topic when provide.transaction.metadata is switched off."""
    draft = drafted(with_ends(records, partitions), tmp_path)
    assert draft.pipeline.source.gate == gate
    told = [sentence for sentence in draft.open if sentence.startswith("gate: ")]
    assert len(told) == bool(why)
    assert all(why in sentence for sentence in told)


@pytest.mark.parametrize(("transaction", "gate"), [("1:2", "transaction"), (None, "none")])
def test_the_gate_is_what_a_record_in_avro_allows(
    tmp_path: Path, transaction: str | None, gate: str
) -> None:
    value, schema = avro_row("shop", "public", "orders", transaction=transaction)
    draft = drafted(with_ends([Record(value)]), tmp_path, schemas={1: schema})
    assert draft.pipeline.source.gate == gate


def test_two_connectors_are_refused(tmp_path: Path) -> None:
    """A prefix means also the topics of a connector whose prefix goes on behind a dot."""
    records = [change(1, BLOCK, "shop"), change(1, BLOCK, "shop.eu")]
    with pytest.raises(ActionRefusedError, match=r"2 connectors.*: shop, shop\.eu"):
        drafted(topic_of(records), tmp_path)


def test_who_comes_second_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else makes the pipeline's file after it was looked for."""
    draft = drafted(topic_of([debezium("items", {"n": 1}, n=1)]), tmp_path)
    (*suites, pipeline) = draft.files
    pipeline.parent.mkdir()
    pipeline.write_text("theirs")
    monkeypatch.setattr("tidemark.runs.draft.draft.refuse_existing", lambda _: None)
    with pytest.raises(ActionRefusedError, match=r"drafted\.yaml is there already"):
        draft.write()
    assert pipeline.read_text() == "theirs"
    assert suites
    assert not any(suite.exists() for suite in suites)


def test_people_are_shown_what_was_seen_and_what_is_left_to_decide(tmp_path: Path) -> None:
    samples = samples_of(
        read_case(CASES / "recorded-debezium-mysql" / "my-inventory", "json-schema")
    )
    console = Console(width=160, record=True, force_terminal=False)
    show_draft(console, drafted(samples, tmp_path))
    text = console.export_text()
    for words in (
        "drafted: debezium-mysql, gate transaction",
        "JSON with schemas",
        "inventory.orders            order_number  drafted_orders",
        "description, owner and schedule",
        "drafted.yaml",
        "tidemark plan drafted",
    ):
        assert words in text


def test_what_was_not_looked_at_is_told(tmp_path: Path) -> None:
    some = topic_of([ticdc_row("INSERT", 1, 100), ticdc_watermark(101)])
    topic = TopicName("t")
    many = Samples(some.facts, {topic: MOST + 1}, iter(some.records), frozenset({topic}))
    assert not any(sentence.startswith("tables: ") for sentence in drafted(some, tmp_path).open)
    assert any(
        sentence.startswith("tables: 2 of at most 2,001")
        for sentence in drafted(many, tmp_path).open
    )
