"""Dates and times in every wire form, against encoders of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.support.readings import Reading, check, column, drawn, encoded, refused
from tidemark.formats.values import typed
from tidemark.model.columns import ValueEncoding

MICRO, HOUR = timedelta(microseconds=1), timedelta(hours=1)
DURATION = 839 * 3600 * 10**6 - 1


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


EPOCH, FIRST, LAST = wall("1970-01-01"), wall("0001-01-01"), wall("9999-12-31 23:59:59.999999")
DAYS = [date.min, date.max, date(1582, 10, 10), date(1900, 2, 28), date(1970, 1, 1)]
DATES = drawn(st.dates(), DAYS)
STAMPS = drawn(st.datetimes(), [FIRST, LAST, EPOCH, EPOCH - MICRO, wall("1582-10-10")])


def test_dates(spark: SparkSession) -> None:
    days, text = column("date", ValueEncoding.DAYS), column("date", ValueEncoding.DATE_TEXT)
    zero_dates = ["0000-00-00", "2026-00-10", "2026-01-00"]
    check(
        spark,
        encoded(days, DATES, lambda value: str((value - date(1970, 1, 1)).days)),
        encoded(text, DATES, date.isoformat),
        encoded(text, DATES, lambda value: f"{value}Z"),
        refused(days, "-719163", "2932897", "2147483648", "x"),
        Reading(text, [(zero, None) for zero in zero_dates]),
        refused(text, "2026-02-30", "0000-01-01", "2026", "2026-1-1", "12026-01-01", ""),
    )


def since_1970(stamp: datetime, unit: int = 1) -> int:
    return (stamp - EPOCH) // MICRO // unit


def test_timestamps_as_numbers(spark: SparkSession) -> None:
    readings = []
    for wire, unit in ((ValueEncoding.TIMESTAMP_MILLIS, 1000), (ValueEncoding.TIMESTAMP_MICROS, 1)):
        of = column("timestamp_ntz", wire)
        stamps = [stamp.replace(microsecond=stamp.microsecond // unit * unit) for stamp in STAMPS]
        first, last = since_1970(FIRST, unit), since_1970(LAST, unit)
        beyond = [first - 1, last + 1, 2**63 - 1, -(2**63), 2**63]
        readings += [
            Reading(of, [(str(since_1970(stamp, unit)), stamp) for stamp in stamps]),
            refused(of, *map(str, beyond), "x"),
        ]
    nanos, limit = column("timestamp_ntz", ValueEncoding.TIMESTAMP_NANOS), 2**63 // 1000 - 1
    micros = drawn(st.integers(-limit, limit), [0, 1, -1, limit, -limit])
    check(
        spark,
        *readings,
        encoded(nanos, micros, lambda n: str(n * 1000), lambda n: EPOCH + n * MICRO),
        refused(nanos, "1", "-1001", str(2**63), "x"),
    )


def test_timestamps_as_text(spark: SparkSession) -> None:
    of = column("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT)
    zero = ["0000-00-00 00:00:00", "2026-02-00 00:00:00"]
    none = ["2026-02-30 00:00:00", "0000-01-01 00:00:00"]
    check(
        spark,
        encoded(of, STAMPS, lambda stamp: stamp.isoformat(" ")),
        encoded(of, STAMPS, lambda stamp: f"{stamp.isoformat()}Z"),
        Reading(of, [(text, None) for text in zero]),
        refused(of, *none, "2026-01-01", "2026-01-01 25:00:00", "12026-01-01 00:00:00"),
    )


def test_timestamps_with_zone(spark: SparkSession) -> None:
    """As instants: collect() would show them in the zone of this machine, and fails at year 1."""
    stamps = [stamp for stamp in STAMPS if stamp not in (FIRST, LAST)]
    local = [stamp.replace(fold=0) for stamp in stamps if 1950 < stamp.year < 2100]
    berlin, berlin_zone = (
        column("timestamp", ValueEncoding.LOCAL_TEXT, zone="Europe/Berlin"),
        ZoneInfo("Europe/Berlin"),
    )
    instants = [
        stamp.replace(tzinfo=berlin_zone).astimezone(UTC).replace(tzinfo=None) for stamp in local
    ]
    zoned, utc = (
        column("timestamp", ValueEncoding.ZONED_TEXT),
        column("timestamp", ValueEncoding.LOCAL_TEXT, zone="UTC"),
    )
    cases = [
        *((zoned, f"{stamp.isoformat()}Z", stamp) for stamp in [FIRST, LAST, *stamps]),
        *((zoned, f"{(stamp + 2 * HOUR).isoformat()}+02:00", stamp) for stamp in stamps),
        *((utc, stamp.isoformat(" "), stamp) for stamp in STAMPS),
        *((berlin, stamp.isoformat(" "), at) for stamp, at in zip(local, instants, strict=True)),
        *((of, "0000-00-00 00:00:00", None) for of in (zoned, utc, berlin)),
        (zoned, "+10000-01-01T00:00:00Z", None),
        (zoned, "infinity", None),
    ]
    rows = spark.createDataFrame(
        [
            (n, ("zoned", "utc", "berlin")[(zoned, utc, berlin).index(of)], text)
            for n, (of, text, _) in enumerate(cases)
        ],
        "n INT, form STRING, raw STRING",
    )
    raw = F.col("raw")
    value = F.when(F.col("form") == "zoned", typed(raw, zoned)).when(
        F.col("form") == "utc", typed(raw, utc)
    )
    shown = rows.select(
        "n", value.otherwise(typed(raw, berlin)).cast("timestamp_ntz").alias("value")
    )
    got = {row["n"]: row["value"] for row in shown.collect()}
    assert [c for n, c in enumerate(cases) if got[n] != c[2]][:5] == []


def clock(micros: int, digits: int) -> str:
    """As the source prints it; a fraction beyond its digits is never cut off."""
    seconds, fraction = divmod(abs(micros), 10**6)
    text = f"{fraction:06d}".rstrip("0").ljust(digits, "0")
    whole = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{'-' if micros < 0 else ''}{whole}{'.' if text else ''}{text}"


TIMES = drawn(
    st.integers(-DURATION, DURATION),
    [0, 1, -1, DURATION, -DURATION, 86_399_999_999, 100 * 3600 * 10**6, 120_000, 10**6],
)
MILLIS = [n // 1000 * 1000 for n in TIMES if n > 0]


@pytest.mark.parametrize("digits", [0, 3, 6])
def test_times(spark: SparkSession, digits: int) -> None:
    millis, micros, nanos, text = (
        column("string", wire, digits)
        for wire in (
            ValueEncoding.TIME_MILLIS,
            ValueEncoding.TIME_MICROS,
            ValueEncoding.TIME_NANOS,
            ValueEncoding.TIME_TEXT,
        )
    )

    def show(n: int) -> str:
        return clock(n, digits)

    beyond = DURATION + 1
    check(
        spark,
        encoded(millis, MILLIS, lambda n: str(n // 1000), show),
        encoded(millis, MILLIS, lambda n: str(-n // 1000), lambda n: show(-n) if n else show(n)),
        encoded(micros, TIMES, str, show),
        encoded(nanos, TIMES, lambda n: str(n * 1000), show),
        encoded(text, TIMES, lambda n: clock(n, 0), show),
        encoded(text, TIMES, lambda n: f"{clock(n, 0)}Z", show),
        refused(millis, str(beyond // 1000), str(-beyond // 1000), str(-(2**63)), "x"),
        refused(micros, str(beyond), str(-beyond), str(-(2**63)), str(2**63 - 1)),
        refused(nanos, str(beyond * 1000), "1", str(-(2**63)), str(2**63 - 1)),
        refused(text, "10:11", "24h", "10:60:00", "10:11:12.1234567", ""),
    )


def test_infinity_is_no_date(spark: SparkSession) -> None:
    """TYPE-22: null, and not misread; of a source without infinity it is."""

    def reading(iceberg: str, wire: ValueEncoding, value: Any, *texts: str) -> Reading:
        of = replace(column(iceberg, wire), has_infinity=value is None)
        return Reading(of, [(text, value) for text in texts])

    ends = ("9223372036825200000", "-9223372036832400000", str(2**63 - 1))
    endless = {
        ("date", ValueEncoding.DAYS): ("2147483647", "-2147483648", ends[0]),
        ("date", ValueEncoding.DATE_TEXT): (
            "infinity",
            "-infinity",
            "+5881580-07-11Z",
            "-5877641-06-23Z",
        ),
        ("timestamp_ntz", ValueEncoding.TIMESTAMP_MILLIS): (
            *ends,
            "9223372036825200",
            "-9223372036832400",
        ),
        ("timestamp_ntz", ValueEncoding.TIMESTAMP_MICROS): ends,
        ("timestamp_ntz", ValueEncoding.TIMESTAMP_NANOS): ends[:2],
        ("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT): ("+294247-01-10T04:00:25.2Z",),
        ("timestamp", ValueEncoding.ZONED_TEXT): ("infinity", "-infinity"),
    }
    micros = replace(column("timestamp_ntz", ValueEncoding.TIMESTAMP_MICROS), has_infinity=True)
    check(spark, Reading(micros, [("9223372036825200", wall("2262-04-11 23:47:16.825200"))]))
    far = {"date": "2932897", "timestamp_ntz": "x", "timestamp": "10000-01-01T00:00:00Z"}
    for (iceberg, wire), texts in endless.items():
        open_ended = reading(iceberg, wire, None, *texts)
        late = refused(open_ended.column, far[iceberg], "soon", "")
        closed = (
            [] if wire is ValueEncoding.TIMESTAMP_NANOS else [reading(iceberg, wire, ..., *texts)]
        )
        check(spark, open_ended, late, *closed)
