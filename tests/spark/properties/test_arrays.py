"""PostgreSQL's arrays of all that can be in one, in every mode and form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.spark.properties.cases import POSTGRES, Case, Form, Values, postgres
from tests.spark.properties.connectors import FOREVER, NEVER, SPECIAL
from tests.spark.properties.draws import (
    contents,
    decimals,
    floats,
    lists,
    moments,
    of_any_scale,
    one_of,
    spread,
    texts,
    times_of_day,
    whole,
)
from tests.spark.properties.runner import check_families
from tests.spark.properties.test_texts import documents, uuids
from tidemark.model.modes import BinaryMode, DecimalMode, TimeMode
from tidemark.runs.world import World

FORMS = [form for form in Form if form.is_postgres]


def test_arrays(world: World, tmp_path: Path) -> None:
    """TYPE-24: elements are what columns of their type are; null ones stay."""
    as_text = replace(POSTGRES, decimal=DecimalMode.STRING)
    cases = [
        postgres("integer[]", lists(whole(-(2**31), 2**31 - 1))),
        postgres("bigint[]", lists(whole(-(2**63), 2**63 - 1))),
        postgres("boolean[]", lists(one_of(True, False))),
        postgres("real[]", lists(floats(is_single=True, has_special=True))),
        postgres("double precision[]", lists(floats(is_single=False, has_special=True))),
        postgres("numeric(12,2)[]", lists(decimals(12, 2))),
        postgres("numeric(12,2)[]", lists(decimals(12, 2), [*SPECIAL]), modes=as_text),
        postgres("numeric[]", lists(of_any_scale(40, 20))),
        postgres("text[]", lists(texts())),
        postgres("uuid[]", lists(uuids())),
        postgres("jsonb[]", lists(documents())),
        postgres("shop.mood[]", lists(one_of("sad", "it's", 'a"b'))),
        postgres("bytea[]", lists(contents())),
        postgres("bytea[]", lists(contents()), modes=replace(POSTGRES, binary=BinaryMode.HEX)),
        *temporal_arrays(),
    ]
    check_families(world, tmp_path, {"arrays": cases}, FORMS)


def temporal_arrays() -> list[Case]:
    """Of dates and times; an infinite element is null, as a column would be."""
    ends = [FOREVER, NEVER]
    iso = replace(POSTGRES, time=TimeMode.ISOSTRING)
    days = spread(-719_162, 2_932_896, 0)
    zoned: Values = moments(6)
    return [
        postgres("date[]", lists(days, ends)),
        postgres("time(6)[]", lists(times_of_day(6))),
        postgres("timestamp(6)[]", lists(moments(6), ends)),
        postgres("timestamp(3)[]", lists(moments(3), ends)),
        postgres("timestamp(6)[]", lists(moments(6), ends), modes=iso),
        postgres("timestamp(6) with time zone[]", lists(zoned, ends)),
    ]
