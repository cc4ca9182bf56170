"""Bits and bytes in every mode and form."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from tests.spark.properties.cases import MYSQL, POSTGRES, Canal, Case, Values, mysql, postgres
from tests.spark.properties.connectors import Sent, mysql_sent
from tests.spark.properties.draws import bits, contents, one_of, sized
from tests.spark.properties.numerals import least_first
from tests.spark.properties.runner import check_families
from tidemark.model.modes import BinaryMode
from tidemark.runs.world import World


def numbered(size: int) -> Values:
    """Bits as the number that MySQL has them for."""
    edges = (0, 1, 2**size - 1, 2 ** (size - 1), 2 ** (size // 2))
    return Values(edges, sized(0, 2**size - 1))


def bit_strings() -> list[Case]:
    """TYPE-14, TYPE-23"""
    varying = Values(["", "0", "1", "1" * 20, "0" * 20, "1" + "0" * 15], bits(20).draw)
    return [
        mysql("bit(1)", one_of(True, False)),
        *(mysql(f"bit({size})", numbered(size)) for size in (2, 8, 9, 33, 63, 64)),
        mysql(
            "bit(33)",
            numbered(33),
            sent=Sent(mysql_sent("bit(33)", MYSQL).connect, least_first),
            note="without zero bytes at its end",
            ticdc=Canal("bit", str, Decimal),
        ),
        postgres("bit(1)", bits(1)),
        postgres("bit", bits(1)),
        *(postgres(f"bit({size})", bits(size)) for size in (2, 8, 12, 64, 100)),
        postgres("bit varying(1)", bits(1)),
        postgres("bit varying(20)", varying),
        postgres("bit varying", varying),
    ]


def byte_strings() -> list[Case]:
    """TYPE-14: of BINARY alone Canal lacks the zero bytes at the end."""
    kinds = ("varbinary(99)", "tinyblob", "blob", "mediumblob", "longblob")
    fixed = mysql("binary(16)", contents(exactly=16))
    assert fixed.canal is not None
    return [
        replace(fixed, canal=replace(fixed.canal, shown=lambda content: content.rstrip(b"\0"))),
        *(mysql(kind, contents()) for kind in kinds),
        *(mysql("blob", contents(), modes=replace(MYSQL, binary=mode)) for mode in BinaryMode),
        *(
            postgres("bytea", contents(), modes=replace(POSTGRES, binary=mode))
            for mode in BinaryMode
        ),
    ]


def test_bits_and_bytes(world: World, tmp_path: Path) -> None:
    check_families(world, tmp_path, {"bits": bit_strings(), "bytes": byte_strings()})
