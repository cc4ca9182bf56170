"""What a person may write to cap a run, and what is refused with what would do."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidemark.errors import ActionRefusedError
from tidemark.model.position import Position
from tidemark.model.until import Coordinate, Until
from tidemark.spec import PipelineSpec
from tidemark.spec.until import cap_below, until_of

NOON_MS = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()) * 1000
TSO = 458911423758336001
TIDB, MYSQL, MARIADB, POSTGRES, CANAL, TICDC = SOURCES = (
    "ticdc-canal-json watermark",
    "debezium-mysql transaction",
    "debezium-mariadb none",
    "debezium-postgres none",
    "canal-json none",
    "ticdc-canal-json none",
)


def pipeline(source: str) -> PipelineSpec:
    kind, gate = source.split()
    topics = {"data": ["t"]} | ({"transactions": ["x"]} if gate == "transaction" else {})
    return PipelineSpec.model_validate(
        {
            "name": "shop",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {"format": kind, "gate": gate, "topics": topics},
            "tables": [{"source": "shop.items", "expectations": "none"}],
        }
    )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00",
        "2026-01-31 13:00:00.000+01:00",
        "20260131T120000Z",
    ],
)
def test_every_source_takes_a_time(source: str, text: str) -> None:
    until = until_of(pipeline(source), text)
    assert until is not None
    assert (until.coordinate, until.number) == (Coordinate.TIME, NOON_MS)


@pytest.mark.parametrize("text", [None, ""])
def test_nothing_caps_nothing(text: str | None) -> None:
    assert until_of(pipeline(CANAL), text) is None


@pytest.mark.parametrize(
    ("source", "text", "coordinate", "number"),
    [
        pytest.param(TIDB, str(TSO), Coordinate.COMMIT, TSO, id="commitTs"),
        pytest.param(TIDB, "9" * 19, Coordinate.COMMIT, 10**19 - 1, id="above all commits"),
        pytest.param(MYSQL, "binlog.000003:1547", Coordinate.BINLOG, 3 * 2**64 + 1547, id="MySQL"),
        pytest.param(MARIADB, "db-1.bin.001000:4", Coordinate.BINLOG, 1000 * 2**64 + 4, id="dots"),
        pytest.param(POSTGRES, "0/16B3748", Coordinate.LSN, 0x16B3748, id="LSN"),
        pytest.param(POSTGRES, "2a/f", Coordinate.LSN, 0x2A0000000F, id="LSN above 32 bits"),
        pytest.param(POSTGRES, "FFFFFFFF/FFFFFFFF", Coordinate.LSN, 2**64 - 1, id="highest LSN"),
    ],
)
def test_a_source_takes_its_own_positions(
    source: str, text: str, coordinate: Coordinate, number: int
) -> None:
    assert until_of(pipeline(source), text) == Until(coordinate, number, text)


@pytest.mark.parametrize(
    ("source", "text"),
    [(TIDB, str(TSO)), (MYSQL, "b.3:4"), (POSTGRES, "0/4"), (CANAL, "2026-01-31T12:00:00.25")],
)
def test_what_is_handed_on_means_the_same(source: str, text: str) -> None:
    until = until_of(pipeline(source), text)
    assert until is not None
    assert until_of(pipeline(source), until.text) == until


@pytest.mark.parametrize(
    ("source", "position", "text"),
    [
        pytest.param(TIDB, f"{1:04X}{TSO:016X}1{7:020X}", str(TSO), id="TiDB"),
        pytest.param(
            MYSQL, f"{1:04X}{3:08X}{1547:016X}1{7:016X}", "binlog.000003:1547", id="MySQL"
        ),
        pytest.param(
            MYSQL,
            f"{1:04X}{7:016X}",
            "TIME, later than those changes and earlier than the statement",
            id="no positions",
        ),
        pytest.param(
            CANAL,
            f"{1:04X}{7:016X}",
            "TIME, later than those changes and earlier than the statement",
            id="Canal",
        ),
    ],
)
def test_a_statement_that_is_to_wait_is_named_as_its_source_shows_it(
    source: str, position: str, text: str
) -> None:
    assert cap_below(pipeline(source).source, Position(position)) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param(TIDB, "binlog.000003:1547", id="TiDB, a binlog"),
        pytest.param(TIDB, "20260131", id="TiDB, a number that ISO takes for a day"),
        pytest.param(TIDB, str(TSO)[:-3], id="TiDB, digits are lost"),
        pytest.param(TIDB, f"{TSO}00", id="TiDB, too many digits"),
        pytest.param(TIDB, f"0{TSO}", id="TiDB, a zero in front"),
        pytest.param(TIDB, f"{TSO}' OR 'x' = 'x", id="TiDB, more than a number"),
        pytest.param(TIDB, "٤٥٨٩١١٤٢٣٧٥٨٣٣٦٠٠١", id="TiDB, other digits"),
        pytest.param(MYSQL, str(TSO), id="MySQL, a commitTs"),
        pytest.param(MYSQL, "binlog.000003", id="MySQL, no position"),
        pytest.param(MYSQL, "000003:1547", id="MySQL, no file"),
        pytest.param(MYSQL, "binlog.000003:-1", id="MySQL, below the file"),
        pytest.param(MYSQL, "binlog.0000000003:4", id="MySQL, too long a number"),
        pytest.param(MYSQL, "binlog.000003:1547\n", id="MySQL, a line end"),
        pytest.param(MARIADB, "0/16B3748", id="MariaDB, an LSN"),
        pytest.param(POSTGRES, "binlog.000003:1547", id="PostgreSQL, a binlog"),
        pytest.param(POSTGRES, "16B3748", id="PostgreSQL, half an LSN"),
        pytest.param(POSTGRES, "0/16B37481F", id="PostgreSQL, too long a half"),
        pytest.param(POSTGRES, "0/16G3748", id="PostgreSQL, no hexadecimal digit"),
        pytest.param(CANAL, "binlog.000003:1547", id="Canal, a binlog"),
        pytest.param(TICDC, str(TSO), id="TiCDC by offset, a commitTs"),
        pytest.param(CANAL, "noon", id="no time"),
        pytest.param(CANAL, "2026-02-30T12:00:00Z", id="no day"),
    ],
)
def test_what_a_source_does_not_show_is_refused(source: str, text: str) -> None:
    with pytest.raises(ActionRefusedError, match="cannot cap a run of pipeline shop") as refused:
        until_of(pipeline(source), text)
    assert repr(text) in refused.value.what
    assert refused.value.state == "nothing was written; every table is as it was"


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        (TIDB, "a commitTs such as 458911423758336001"),
        (MYSQL, "FILE:POS as SHOW BINARY LOG STATUS shows it, such as binlog.000003:1547"),
        (POSTGRES, "an LSN as pg_current_wal_lsn() shows it, such as 0/16B3748"),
    ],
)
def test_the_refusal_says_what_the_source_takes(source: str, takes: str) -> None:
    with pytest.raises(ActionRefusedError) as refused:
        until_of(pipeline(source), "noon")
    example = takes.rsplit(" ", 1)[1]
    assert refused.value.what.endswith(f"an ISO time such as 2026-01-31T12:00:00Z, or {takes}")
    assert until_of(pipeline(source), example) is not None


@pytest.mark.parametrize("source", [CANAL, TICDC])
def test_the_refusal_says_that_there_are_no_positions(source: str) -> None:
    with pytest.raises(ActionRefusedError, match="; it has no positions"):
        until_of(pipeline(source), "0/16B3748")
