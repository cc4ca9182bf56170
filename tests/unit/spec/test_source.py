"""What a pipeline file may say of its source, and what a wrong word about it is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pipeline_file import DEBEZIUM, SHOP, faults_of, swapped
from tidemark.model.modes import FieldNameMode
from tidemark.spec import load_pipeline


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            swapped("  topics:", "  shadow-tables: [_new]\n  topics:"),
            "shop.yaml:8 -> source.shadow-tables[0]: got '_new'; expected a name with one *, which "
            "stands for that of the other table: _*_new",
            id="names of shadow tables hold the name of another one",
        ),
        pytest.param(
            swapped("  topics:", "  shadow-tables: []\n  topics:")
            .replace("ticdc-canal-json", "debezium-postgres")
            .replace("gate: watermark", "gate: none"),
            "shop.yaml:8 -> source.shadow-tables: got a list of names; expected no shadow-tables: "
            "the PostgreSQL connector sends no statements",
            id="PostgreSQL has no shadow tables",
        ),
        pytest.param(
            swapped("gate: watermark", "gate: watermarks"),
            "shop.yaml:7 -> source.gate: got 'watermarks'; expected one of watermark, "
            "transaction, none; did you mean 'watermark'",
            id="mode that does not exist",
        ),
        pytest.param(
            swapped("data: [shop]", "data: shop"),
            "shop.yaml:9 -> source.topics.data: got 'shop'; expected a list",
            id="text for a list",
        ),
        pytest.param(
            swapped("data: [shop]", "data: []"),
            "shop.yaml:9 -> source.topics.data: got an empty list; expected at least 1 entry",
            id="no data topic",
        ),
        pytest.param(
            swapped("data: [shop]", "data: ['^shop(']"),
            "shop.yaml:9 -> source.topics.data[0]: got '^shop('; expected a regular expression: "
            "missing ), unterminated subpattern at position 5",
            id="broken regular expression",
        ),
        pytest.param(
            swapped("data: [shop]", "data: [shop.*]"),
            "shop.yaml:9 -> source.topics.data[0]: got 'shop.*'; expected the name of a topic "
            "(letters, digits, '.', '_', '-'), or a regular expression that starts with ^",
            id="pattern without its mark",
        ),
        pytest.param(
            swapped("data: [shop]", "data: [shop, shop]"),
            "shop.yaml:9 -> source.topics.data[1]: got 'shop'; expected each topic once, "
            "in one role",
            id="topic twice",
        ),
        pytest.param(
            swapped("data: [shop]", "data: ['^db.*']\n    transactions: [db.tx]", DEBEZIUM),
            "shop.yaml:10 -> source.topics.transactions[0]: got 'db.tx'; expected a topic with "
            "one role: the data pattern '^db.*' matches it too",
            id="topic with two roles",
        ),
        pytest.param(
            swapped("gate: none", "gate: watermark", DEBEZIUM),
            "shop.yaml:7 -> source.gate: got 'watermark'; expected another gate: TiCDC "
            "alone sends watermarks",
            id="watermark gate on Debezium",
        ),
        pytest.param(
            swapped("gate: watermark", "gate: transaction"),
            "shop.yaml:7 -> source.gate: got 'transaction'; expected another gate: Debezium "
            "alone sends BEGIN and END",
            id="transaction gate on TiCDC",
        ),
        pytest.param(
            swapped("ticdc-canal-json\n  gate: watermark", "debezium-mysql\n  gate: transaction"),
            "shop.yaml:7 -> source.gate: got 'transaction'; expected topics.transactions beside "
            "it; the connector writes that topic with provide.transaction.metadata=true",
            id="transaction gate without its topic",
        ),
        pytest.param(
            swapped("data: [shop]", "data: [shop]\n    schema-changes: [ddl]"),
            "shop.yaml:10 -> source.topics.schema-changes: got a list of topics; expected no "
            "schema-change topics: Canal-JSON has DDL in its data topics",
            id="schema-change topic with TiCDC",
        ),
        pytest.param(
            swapped("data: [shop]", "data: [shop]\n    transactions: [tx]"),
            "shop.yaml:10 -> source.topics.transactions: got a list of topics; expected no "
            "transaction topics: only Debezium has them",
            id="transaction topic with TiCDC",
        ),
        pytest.param(
            swapped("  topics:", "  modes: {decimal: string}\n  topics:"),
            "shop.yaml:8 -> source.modes: got modes; expected no modes: they are settings of a "
            "Debezium connector",
            id="connector modes with TiCDC",
        ),
        pytest.param(
            swapped("  topics:", "  untyped: infer\n  topics:"),
            "shop.yaml:8 -> source.untyped: got 'infer'; expected refuse: Canal's and TiCDC's "
            "records have types",
            id="types of TiCDC guessed",
        ),
        pytest.param(
            swapped("data: [shop]", "data: [shop]\n    schema-changes: [ddl]", DEBEZIUM).replace(
                "  topics:", "  untyped: string\n  topics:"
            ),
            "shop.yaml:8 -> source.untyped: got 'string'; expected refuse: schema changes have "
            "types",
            id="types guessed beside schema changes",
        ),
        pytest.param(
            swapped("  topics:", "  zone: UTC\n  topics:", DEBEZIUM),
            "shop.yaml:8 -> source.zone: got 'UTC'; expected no zone: Debezium writes TIMESTAMP "
            "values in UTC",
            id="zone with Debezium",
        ),
        pytest.param(
            swapped("  topics:", "  zone: Mars/Olympus\n  topics:"),
            "shop.yaml:8 -> source.zone: got 'Mars/Olympus'; expected a time zone such as UTC or "
            "Europe/Berlin, or null",
            id="zone that does not exist",
        ),
        pytest.param(
            swapped("  topics:", "  zero-dates: quarantine\n  topics:", DEBEZIUM),
            "shop.yaml:8 -> source.zero-dates: got 'quarantine'; expected no zero-dates: Debezium "
            "writes null or 1970-01-01 for them, as for other values",
            id="zero dates of Debezium",
        ),
    ],
)
def test_fault(tmp_path: Path, text: str, fault: str) -> None:
    assert faults_of(tmp_path, text) == [fault]


def compacted(text: str = DEBEZIUM) -> str:
    """``text`` with source.compacted: allow."""
    return swapped("  topics:", "  compacted: allow\n  topics:", text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            swapped("allow", "allowed", compacted()),
            "shop.yaml:8 -> source.compacted: got 'allowed'; expected one of refuse, allow; did "
            "you mean 'allow'",
            id="another word",
        ),
        pytest.param(
            swapped(
                "gate: none",
                "gate: transaction",
                compacted().replace("[shop]", "[shop]\n    transactions: [tx]"),
            ),
            "shop.yaml:7 -> source.gate: got 'transaction'; expected none beside compacted: counts "
            "prove nothing",
            id="gate transaction",
        ),
        pytest.param(
            compacted().replace("[shop]", "[shop]\n    schema-changes: [ddl]"),
            "shop.yaml:11 -> source.topics.schema-changes: got a list of topics; expected no "
            "schema-change topics beside compacted: rows are ordered by the offsets of their own "
            "topic, which say nothing of the order of statements in another one",
            id="statements of another topic",
        ),
        pytest.param(
            swapped("  topics:", "  avro: {folder: /schemas}\n  topics:", compacted()),
            "shop.yaml:9 -> source.avro: got avro; expected no avro beside compacted: JSON alone "
            "is read so",
            id="avro",
        ),
        pytest.param(
            compacted(SHOP),
            "shop.yaml:8 -> source.compacted: got 'allow'; expected refuse: only Debezium's topics "
            "have a record per row",
            id="TiCDC",
        ),
        *(
            pytest.param(
                compacted() + f"    mode: {mode}\n",
                f"shop.yaml:14 -> tables[0].mode: got '{mode}'; expected mirror: a compacted topic "
                "does not show when rows changed or ended",
                id=mode,
            )
            for mode in ("soft-delete", "history", "append")
        ),
    ],
)
def test_compacted_topics_are_no_log(tmp_path: Path, text: str, fault: str) -> None:
    """KEY-13: what needs history is refused before anything runs."""
    assert faults_of(tmp_path, text) == [fault]


def test_compacted_topics_are_refused_unless_allowed(tmp_path: Path) -> None:
    """KEY-13."""
    file = tmp_path / "shop.yaml"
    (tmp_path / "orders.yaml").touch()
    file.write_text(DEBEZIUM)
    assert not load_pipeline(file, suites=tmp_path).source.is_compacted
    file.write_text(compacted())
    assert load_pipeline(file, suites=tmp_path).source.is_compacted


def avro(lines: str) -> str:
    """A Debezium pipeline with ``lines`` below source.avro."""
    block = "".join(f"    {line}\n" for line in lines.splitlines())
    return DEBEZIUM.replace("  topics:", f"  avro:\n{block}  topics:")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            avro("{}"),
            "shop.yaml:8 -> source.avro: got neither; expected a registry or a folder",
            id="schemas from nowhere",
        ),
        pytest.param(
            avro("folder: /schemas\nregistry: {url: http://r:1}"),
            "shop.yaml:8 -> source.avro: got both; expected a registry or a folder",
            id="schemas from two places",
        ),
        pytest.param(
            avro("folder: schemas"),
            "shop.yaml:9 -> source.avro.folder: got 'schemas'; expected an absolute path",
            id="a folder somewhere",
        ),
        pytest.param(
            avro("registry: {}"),
            "shop.yaml:9 -> source.avro.registry.url: got nothing; expected this key: address of "
            "a registry with Confluent's interface, such as https://registry:8081; may hold "
            "${env:NAME}",
            id="a registry without address",
        ),
        pytest.param(
            avro("registry:\n  url: registry:8081"),
            "shop.yaml:10 -> source.avro.registry.url: got 'registry:8081'; expected "
            "http://host:port or https://host:port, with a path if there is one",
            id="an address without scheme",
        ),
        pytest.param(
            avro("registry:\n  url: http://tide:hunter2@r:1"),
            "shop.yaml:10 -> source.avro.registry.url: got 'http://...@r:1'; expected an address "
            "without credentials: they are user and password",
            id="an address with a password",
        ),
        pytest.param(
            avro("registry:\n  url: http://${env:}"),
            "shop.yaml:10 -> source.avro.registry.url: got 'http://${env:}'; expected a reference "
            "of the form ${env:NAME}, ${env:NAME:-default}, ${file:/path} or ${conn:ID.field}",
            id="a reference to nothing",
        ),
        pytest.param(
            avro("registry:\n  url: http://r:1\n  user: tide\n  password: hunter2"),
            "shop.yaml:12 -> source.avro.registry.password: got a literal secret; expected a "
            "reference: ${env:NAME} or ${file:/path}",
            id="a literal password",
        ),
        pytest.param(
            avro("registry:\n  url: http://r:1\n  user: tide\n  password: ${env:A:-hunter2}"),
            "shop.yaml:12 -> source.avro.registry.password: got a literal secret; expected a "
            "reference: ${env:NAME} or ${file:/path}",
            id="a literal password as a default",
        ),
        pytest.param(
            avro("registry:\n  url: http://r:1\n  user: tide"),
            "shop.yaml:9 -> source.avro.registry.password: got nothing; expected password beside "
            "user",
            id="a user without password",
        ),
        pytest.param(
            avro("registry:\n  url: http://r:1\n  token: t0ken"),
            "shop.yaml:11 -> source.avro.registry.token: got a literal secret; expected a "
            "reference: ${env:NAME} or ${file:/path}",
            id="a literal token",
        ),
        pytest.param(
            avro(
                "registry:\n  url: http://r:1\n  user: tide\n  password: ${env:A}\n"
                "  token: ${env:B}"
            ),
            "shop.yaml:13 -> source.avro.registry.token: got user and password beside it; "
            "expected one of the two ways",
            id="two ways to say who asks",
        ),
        pytest.param(
            avro(
                "registry:\n  url: http://r:1\n  oauth:\n    token-endpoint-url: http://t/token\n"
                "    client-id: tide\n    client-secret: hunter2"
            ),
            "shop.yaml:14 -> source.avro.registry.oauth.client-secret: got a literal secret; "
            "expected a reference: ${env:NAME} or ${file:/path}",
            id="a literal secret of a client",
        ),
        pytest.param(
            avro(
                "registry:\n  url: http://r:1\n  oauth:\n    token-endpoint-url: t:80/token\n"
                "    client-id: tide\n    client-secret: ${env:A}"
            ),
            "shop.yaml:12 -> source.avro.registry.oauth.token-endpoint-url: got 't:80/token'; "
            "expected http://host:port/path or https://host:port/path",
            id="a token server without scheme",
        ),
        pytest.param(
            avro(
                "registry:\n  url: http://r:1\n  oauth:\n    token-endpoint-url: http://a:hunter2@t"
                "\n    client-id: tide\n    client-secret: ${env:A}"
            ),
            "shop.yaml:12 -> source.avro.registry.oauth.token-endpoint-url: got 'http://...@t'; "
            "expected an address without credentials: they are client-id and client-secret",
            id="a token server with a password",
        ),
        pytest.param(
            avro(
                "registry:\n  url: http://r:1\n  token: ${env:B}\n  oauth:\n"
                "    token-endpoint-url: http://t/token\n    client-id: tide\n"
                "    client-secret: ${env:A}"
            ),
            "shop.yaml:12 -> source.avro.registry.oauth: got token beside it; expected one of the "
            "two ways",
            id="a token, and where one is had",
        ),
        pytest.param(
            avro("registry:\n  url: https://r:1\n  key: /etc/key.pem"),
            "shop.yaml:9 -> source.avro.registry.certificate: got nothing; expected certificate "
            "beside key",
            id="a key without its certificate",
        ),
        pytest.param(
            avro(
                "registry:\n  url: https://r:1\n  certificate: /etc/c.pem\n  key-password: hunter2"
            ),
            "shop.yaml:12 -> source.avro.registry.key-password: got a literal secret; expected a "
            "reference: ${env:NAME} or ${file:/path}",
            id="a literal password of a key",
        ),
        pytest.param(
            avro("registry:\n  url: https://r:1\n  certificate: c.pem"),
            "shop.yaml:11 -> source.avro.registry.certificate: got 'c.pem'; expected an absolute "
            "path",
            id="a certificate somewhere",
        ),
        pytest.param(
            swapped("  topics:", "  avro: {folder: /schemas}\n  topics:"),
            "shop.yaml:8 -> source.avro: got avro; expected no avro: Canal and TiCDC write JSON",
            id="Avro of what writes none",
        ),
    ],
)
def test_where_schemas_are_is_checked(tmp_path: Path, text: str, fault: str) -> None:
    """MSG-19"""
    assert faults_of(tmp_path, text) == [fault]


def test_a_registry_is_read_without_its_secrets(tmp_path: Path) -> None:
    """MSG-20: what Airflow parses resolves nothing; names are those that Avro allows."""
    (tmp_path / "orders.yaml").touch()
    file = tmp_path / "shop.yaml"
    lines = "registry:\n  url: ${env:NOT_SET}\n  user: tide\n  password: ${env:NOT_SET_EITHER}"
    file.write_text(avro(lines))
    source = load_pipeline(file, suites=tmp_path).source
    assert source.avro is not None
    assert source.avro.registry is not None
    assert source.avro.registry.password == "${env:NOT_SET_EITHER}"  # noqa: S105  no password
    assert source.written_names is FieldNameMode.AVRO
    file.write_text(avro(lines).replace("  topics:", "  modes: {field-names: none}\n  topics:"))
    assert load_pipeline(file, suites=tmp_path).source.written_names is FieldNameMode.NONE
    file.write_text(DEBEZIUM)
    assert load_pipeline(file, suites=tmp_path).source.written_names is FieldNameMode.NONE
