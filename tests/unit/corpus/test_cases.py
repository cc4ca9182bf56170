"""The kept cases are read as they are, each in every variant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.cases import Case, find_cases
from tests.corpus.compare import differences
from tests.corpus.pipeline import laid_over
from tests.corpus.source import Format, source_of

WRITTEN_BY = {
    "debezium-mysql": Format.DEBEZIUM_MYSQL,
    "debezium-avro": Format.DEBEZIUM_MYSQL,
    "debezium-mariadb": Format.DEBEZIUM_MARIADB,
    "debezium-postgres": Format.DEBEZIUM_POSTGRES,
    "ticdc": Format.TICDC,
    "flink-json/canal": Format.CANAL,
}
KEPT = find_cases([Path(__file__).parents[2] / "corpus" / "cases"])


def test_every_variant_is_found() -> None:
    assert [case.title for case in KEPT] == [
        "flink-json/canal canal",
        "flink-json/debezium-avro-confluent avro-confluent",
        "flink-json/debezium-mysql-noschema json-noschema",
        "flink-json/debezium-mysql-schema json-schema",
        "flink-json/debezium-postgres-noschema json-noschema",
        "flink-json/debezium-postgres-schema json-schema",
        "recorded-debezium-mariadb/maria-shop json-noschema",
        "recorded-debezium-mariadb/maria-shop json-schema",
        "recorded-debezium-mysql/my-inventory avro-confluent",
        "recorded-debezium-mysql/my-inventory json-noschema",
        "recorded-debezium-mysql/my-inventory json-schema",
        "recorded-debezium-postgres/pg-flinkcdc-types json-noschema",
        "recorded-debezium-postgres/pg-flinkcdc-types json-schema",
        "recorded-debezium-postgres/pg-inventory avro-confluent",
        "recorded-debezium-postgres/pg-inventory json-noschema",
        "recorded-debezium-postgres/pg-inventory json-schema",
        "ticdc-canal-json/cdcfresh-recorded ticdc",
        "ticdc-canal-json/tiflow-employee ticdc",
        "ticdc-made/shop 1p",
        "ticdc-made/shop 3p",
        "ticdc-made/shop 3p-redelivered",
    ]


def test_one_variant_can_be_named() -> None:
    folder = Path(__file__).parents[2] / "corpus" / "cases"
    assert [case.name for case in find_cases([folder], "3p")] == ["ticdc-made/shop"]


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.title)
def test_case_is_whole(case: Case) -> None:
    assert case.stages[-1].end == len(case.records)
    assert [stage.end for stage in case.stages] == sorted(stage.end for stage in case.stages)
    source = source_of(case)
    wanted = next(form for name, form in WRITTEN_BY.items() if name in case.name)
    assert source.format is wanted
    assert case.is_gated == (case.name == "ticdc-made/shop")
    tells_offsets_alone = "ticdc-canal-json" in case.name or source.format is Format.CANAL
    assert source.has_positions != tells_offsets_alone
    is_postgres = source.format is Format.DEBEZIUM_POSTGRES
    for table in case.tables.values():
        assert len(list(differences(table, None, is_postgres=is_postgres))) == len(table.rows)


def test_an_operator_lays_fields_over_what_a_recording_tells() -> None:
    told = {"name": "c", "source": {"gate": "none", "topics": {"data": ["a"]}}}
    written = {"source": {"gate": "transaction", "topics": {"data": ["b"]}}, "on-drop": "keep"}
    assert laid_over(told, written) == {
        "name": "c",
        "source": {"gate": "transaction", "topics": {"data": ["b"]}},
        "on-drop": "keep",
    }
    assert told["source"] == {"gate": "none", "topics": {"data": ["a"]}}
