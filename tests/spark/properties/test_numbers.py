"""Integers, decimals and floats of every width, in every form and mode."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from tests.spark.properties.canal import old_ticdc_float
from tests.spark.properties.cases import (
    ALL,
    MYSQL,
    POSTGRES,
    Canal,
    Case,
    Form,
    Values,
    mysql,
    postgres,
)
from tests.spark.properties.connect import Connect
from tests.spark.properties.connectors import SPECIAL, Sent
from tests.spark.properties.draws import decimals, floats, of_any_scale, one_of, whole
from tests.spark.properties.runner import check_families
from tests.spark.properties.shown import plain_shown
from tidemark.model.modes import BigintUnsignedMode, DecimalMode
from tidemark.runs.world import World

BYTE, SHORT, MEDIUM, INT, LONG = (2**n for n in (7, 15, 23, 31, 63))
SIGNED = {"tinyint": BYTE, "smallint": SHORT, "mediumint": MEDIUM, "int": INT, "bigint": LONG}
DOUBLE = replace(MYSQL, decimal=DecimalMode.DOUBLE)
TEXT = replace(MYSQL, decimal=DecimalMode.STRING)
POSTGRES_DOUBLE = replace(POSTGRES, decimal=DecimalMode.DOUBLE)
POSTGRES_TEXT = replace(POSTGRES, decimal=DecimalMode.STRING)


def integers() -> list[Case]:
    """TYPE-9, TYPE-10"""
    unsigned = [mysql(f"{kind} unsigned", whole(0, 2 * n - 1)) for kind, n in SIGNED.items()]
    precise = replace(MYSQL, bigint_unsigned=BigintUnsignedMode.PRECISE)
    cases: list[Case] = [
        *(mysql(kind, whole(-n, n - 1)) for kind, n in SIGNED.items()),
        *unsigned,
        mysql("bigint unsigned", whole(0, 2 * LONG - 1), modes=precise),
        mysql("tinyint", whole(-BYTE, BYTE - 1), sent=Sent(Connect("int8")), note="as int8"),
        mysql("tinyint(1)", one_of(0, 1), sent=Sent(Connect("boolean"), bool), note="as boolean"),
        mysql("int(8) unsigned zerofill", whole(0, 2 * INT - 1), sent=Sent(Connect("int64"))),
        mysql("year", one_of(1901, 1970, 2026, 2155)),
        postgres("smallint", whole(-SHORT, SHORT - 1)),
        postgres("integer", whole(-INT, INT - 1)),
        postgres("bigint", whole(-LONG, LONG - 1)),
        postgres("bigserial", whole(1, LONG - 1)),
        postgres("oid", whole(0, 2 * INT - 1)),
        postgres("boolean", one_of(True, False)),
    ]
    return cases


def java_text(number: Decimal) -> str:
    """As BigDecimal's ``toString``, which some connectors send: 0.0000001 has an exponent."""
    return str(number)


def like_base64() -> Values:
    """Numbers of so many digits that they are base64 as well, and those whose base64 is digits."""
    texts = ("1234", "0000", "9999", "12345678", "99999999")
    numbers = [int.from_bytes(b64decode(text), "big", signed=True) for text in texts]
    edges = [Decimal(n) for n in (*numbers, 1234, 12345678, 9999, -9999, 12)]
    return Values(edges, lambda rng: Decimal(rng.choice((1000, 10**7)) * rng.randint(1, 9)))


def test_decimals(world: World, tmp_path: Path) -> None:
    """TYPE-2, TYPE-4, TYPE-21, TYPE-33, MSG-4: as bytes, as texts and as numbers."""
    sizes = [(5, 2), (10, 0), (18, 18), (19, 4), (30, 10), (38, 0), (38, 38), (40, 3), (65, 30)]
    unsized = of_any_scale(40, 30)
    special = Values([*SPECIAL, *unsized.edges], unsized.draw)
    twelve = Values([*SPECIAL, *decimals(12, 2).edges], decimals(12, 2).draw)
    text = decimals(30, 10)
    cases = [
        *(mysql(f"decimal({p},{s})", decimals(p, s)) for p, s in sizes),
        mysql("decimal(18,0)", like_base64()),
        mysql("decimal(15,4)", decimals(15, 4), modes=DOUBLE),
        mysql("decimal(30,10)", text, modes=TEXT),
        mysql("decimal(30,10)", text, modes=TEXT, sent=Sent(Connect("string"), java_text)),
        mysql(
            "decimal(40,20)", decimals(40, 20), modes=TEXT, sent=Sent(Connect("string"), java_text)
        ),
        mysql(
            "decimal(12,2)",
            decimals(12, 2),
            note="that TiCDC's DDL does not tell",
            ticdc=Canal("decimal", lambda n: f"{n:f}", plain_shown),
        ),
        postgres("numeric(12,4)", decimals(12, 4)),
        postgres("numeric(65,20)", decimals(65, 20)),
        postgres("numeric", unsized),
        postgres("numeric", special, modes=POSTGRES_TEXT),
        postgres("numeric(12,2)", twelve, modes=POSTGRES_TEXT),
        postgres("numeric(15,4)", decimals(15, 4), modes=POSTGRES_DOUBLE),
        postgres("numeric", of_any_scale(15, 9), modes=POSTGRES_DOUBLE),
        postgres("money", decimals(19, 2)),
    ]
    check_families(
        world,
        tmp_path,
        {"decimals": cases},
        (*ALL, *(form for form in Form if form.has_numbers or form.is_mixed)),
    )


def floating() -> list[Case]:
    """TYPE-5"""
    mysql_single = floats(is_single=True, has_special=False)
    return [
        mysql("float", mysql_single),
        mysql(
            "float",
            mysql_single,
            sent=Sent(Connect("double")),
            note="as double",
            ticdc=Canal("float", old_ticdc_float, float),
        ),
        mysql("double", floats(is_single=False, has_special=False)),
        postgres("real", floats(is_single=True, has_special=True)),
        postgres("double precision", floats(is_single=False, has_special=True)),
    ]


def test_integers_and_floats(world: World, tmp_path: Path) -> None:
    check_families(world, tmp_path, {"integers": integers(), "floats": floating()})
