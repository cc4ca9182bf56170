from __future__ import annotations

import pytest

from tidemark.schema.postgres_widening import keeps_every_value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("integer", "bigint"),
        ("bigint", "smallint"),
        ("bigint", "numeric(8,2)"),
        ("integer", "text"),
        ("integer", "character varying(3)"),
        ("numeric(10,2)", "numeric(8,2)"),
        ("numeric(10,2)", "numeric(12,4)"),
        ("numeric(10,2)", "numeric"),
        ("numeric(8,0)", "integer"),
        ("numeric", "text"),
        ("real", "double precision"),
        ("integer", "double precision"),
        ("timestamp(3) without time zone", "timestamp without time zone"),
        ("timestamp(0) with time zone", "timestamp(3) with time zone"),
        ("time(2) without time zone[]", "time without time zone[]"),
        ("date", "timestamp(0) without time zone"),
        ("character varying(10)", "character varying(20)"),
        ("character varying(10)", "text"),
        ("text", "character varying"),
        ("uuid", "text"),
        ("jsonb", "json"),
    ],
)
def test_types_that_keep_every_value(old: str, new: str) -> None:
    """SCHEMA-13: what does not fit is refused by the source."""
    assert keeps_every_value(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("numeric(10,2)", "numeric(8,1)"),
        ("numeric(10,2)", "numeric(12,0)"),
        ("numeric", "numeric(10,2)"),
        ("numeric(10,2)", "integer"),
        ("numeric", "bigint"),
        ("integer", "numeric(4,-2)"),
        ("numeric(10,2)", "double precision"),
        ("double precision", "real"),
        ("double precision", "integer"),
        ("bigint", "double precision"),
        ("integer", "real"),
        ("timestamp without time zone", "timestamp(0) without time zone"),
        ("timestamp(6) with time zone", "timestamp(3) with time zone"),
        ("time without time zone", "time(3) without time zone"),
        ("timestamp without time zone", "timestamp with time zone"),
        ("timestamp without time zone", "date"),
        ("date", "timestamp with time zone"),
        ("date", "text"),
        ("interval", "interval(0)"),
        ("interval", "interval day"),
        ("text", "character varying(5)"),
        ("character varying(9)", "character varying(5)"),
        ("character varying", "character varying(5)"),
        ("text", "character(5)"),
        ("character(5)", "text"),
        ("character(5)", "character(9)"),
        ("json", "jsonb"),
        ("inet", "text"),
        ("text", "shop.code"),
        ("mood", "text"),
        ("integer[]", "integer"),
        ("numeric(10,2)[]", "numeric(10,1)[]"),
    ],
)
def test_types_that_may_give_rows_other_values(old: str, new: str) -> None:
    """SCHEMA-16."""
    assert not keeps_every_value(new, old)
