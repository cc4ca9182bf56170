"""Dates, times and timestamps in every precision, mode and form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from tests.spark.properties.cases import ALL, MYSQL, POSTGRES, Canal, Case, Values, mysql, postgres
from tests.spark.properties.connect import Connect
from tests.spark.properties.connectors import FOREVER, NEVER, Sent, zoned
from tests.spark.properties.draws import (
    FIRST_MOMENT,
    LAST_MOMENT,
    durations,
    moments,
    spread,
    times_of_day,
)
from tests.spark.properties.numerals import (
    DAY,
    EPOCH,
    MICRO,
    in_iso,
    micros_of,
    wall,
)
from tests.spark.properties.runner import check_families
from tests.spark.properties.shown import instant_shown
from tidemark.model.modes import ConnectorModes, TimeMode
from tidemark.runs.world import World

FIRST_NANOS, LAST_NANOS = (n // 1000 + (n < 0) for n in (-(2**63), 2**63 - 1))
FIRST_STAMP, LAST_STAMP = (
    micros_of(t) for t in ("1970-01-01T00:00:01", "2038-01-19T03:14:07.999999")
)
BEYOND = (
    LAST_MOMENT + 1,
    LAST_MOMENT + 290_000 * 365 * DAY,
    FIRST_MOMENT - 1,
    FIRST_MOMENT - 999 * DAY,
)
"""What PostgreSQL holds and Iceberg's readers do not: years from 10000 on, and those BC."""
COARSE = {TimeMode.CONNECT}
DIGITS = (0, 3, 6)
JSON = tuple(form for form in ALL if not form.is_avro)
"""In Avro, numbers and texts are what they are in families of their own."""


def columns(own: ConnectorModes) -> Iterator[tuple[ConnectorModes, int, int]]:
    """Modes, declared digits of the fraction, and how many the mode keeps: each with each once.

    Modes that look at the digits have all of them, the others one.
    """
    for number, mode in enumerate(TimeMode):
        looks = mode in (TimeMode.ADAPTIVE, TimeMode.ADAPTIVE_MICROSECONDS)
        for digits in DIGITS if looks else (DIGITS[number % len(DIGITS)],):
            kept = min(digits, 3) if mode is TimeMode.CONNECT else digits
            yield replace(own, time=mode), digits, kept


def times() -> list[Case]:
    """TYPE-1, TYPE-13: a duration in MySQL, which `isostring` keeps within a day."""
    cases: list[Case] = []
    for modes, digits, kept in columns(MYSQL):
        is_iso = modes.time is TimeMode.ISOSTRING
        values = (times_of_day if is_iso else durations)(kept)
        cases.append(mysql(f"time({digits})" if digits else "time", values, modes=modes))
    for modes, digits, kept in columns(POSTGRES):
        values = times_of_day(kept)
        if modes.time is not TimeMode.ISOSTRING:
            values = Values([*values.edges, DAY], values.draw)
        cases.append(postgres(f"time({digits})", values, modes=modes))
    return cases


def dates() -> list[Case]:
    """TYPE-12, TYPE-22"""
    first, last = FIRST_MOMENT // DAY, LAST_MOMENT // DAY
    days = spread(first, last, 0, -1, -141_428, 11_016)
    endless = Values(
        [*days.edges, FOREVER, NEVER, *(micros // DAY for micros in BEYOND)], days.draw
    )
    zero = Values([*days.edges, "0000-00-00", "2026-00-10", "2026-02-00"], days.draw)
    return [
        mysql("date", days),
        *(mysql("date", days, modes=replace(MYSQL, time=mode)) for mode in COARSE),
        mysql("date", days, modes=replace(MYSQL, time=TimeMode.ISOSTRING)),
        postgres("date", endless),
        *(postgres("date", endless, modes=replace(POSTGRES, time=mode)) for mode in COARSE),
        postgres("date", endless, modes=replace(POSTGRES, time=TimeMode.ISOSTRING)),
        replace(zero_dates(mysql("date", days), zero), note="and zero dates"),
    ]


def zero_dates(case: Case, values: Values) -> Case:
    """``case`` in Canal-JSON alone, where texts among its values are sent as they are."""

    def canal(own: Canal | None) -> Canal:
        assert own is not None
        return replace(
            own,
            text=lambda day: day if isinstance(day, str) else own.text(day),
            shown=lambda day: None if isinstance(day, str) else own.shown(day),
        )

    return replace(
        case, values=values, canal=canal(case.canal), ticdc=canal(case.ticdc), in_debezium=False
    )


def datetimes() -> list[Case]:
    """TYPE-7, TYPE-11, TYPE-22: wall clocks, which no zone moves."""
    cases: list[Case] = []
    for modes, digits, kept in columns(MYSQL):
        text = f"datetime({digits})" if digits else "datetime"
        cases.append(mysql(text, in_mode(modes, kept), modes=modes))
    for modes, digits, kept in columns(POSTGRES):
        values, unit = in_mode(modes, kept), 10 ** (6 - kept)
        beyond = () if modes.time is TimeMode.NANOSECONDS else BEYOND
        endless = [*values.edges, FOREVER, NEVER, *(n // unit * unit for n in beyond)]
        cases.append(postgres(f"timestamp({digits})", Values(endless, values.draw), modes=modes))
    return cases


def in_mode(modes: ConnectorModes, digits: int) -> Values:
    """Moments that ``modes`` can write: nanoseconds reach from 1677 to 2262."""
    if modes.time is TimeMode.NANOSECONDS:
        return moments(digits, low=FIRST_NANOS, high=LAST_NANOS)
    return moments(digits)


def timestamps() -> list[Case]:
    """TYPE-7, TYPE-22, TYPE-34: instants, however their zone is written."""
    cases: list[Case] = []
    for digits in (0, 3, 6):
        text = f"timestamp({digits})" if digits else "timestamp"
        stamps = moments(digits, low=FIRST_STAMP, high=LAST_STAMP)
        of_text = Connect("string", "io.debezium.time.ZonedTimestamp")
        cases += [
            mysql(
                text,
                stamps,
                shown=instant_shown,
                canal=local(text, digits),
                ticdc=local(text, digits),
            ),
            mysql(text, stamps, sent=Sent(of_text, zoned(0)), note="without zeros at its end"),
            mysql(text, stamps, sent=Sent(of_text, with_offset), note="at +05:30"),
            mysql(
                text,
                unambiguous(stamps, "Europe/Berlin"),
                canal=local(text, digits, "Europe/Berlin"),
                ticdc=local(text, digits, "Europe/Berlin"),
            ),
            mysql(text, stamps, canal=local(text, digits, "UTC"), ticdc=local(text, digits, "UTC")),
        ]
        unit = 10 ** (6 - digits)
        every = moments(digits)
        endless = [*every.edges, FOREVER, NEVER, *(n // unit * unit for n in BEYOND)]
        cases.append(postgres(f"timestamp({digits}) with time zone", Values(endless, every.draw)))
    cases.append(postgres("time with time zone", times_of_zone()))
    return cases


def with_offset(micros: int) -> str:
    ahead = (5 * 60 + 30) * 60_000_000
    return f"{in_iso(micros + ahead, 6, strip=True)}+05:30"


def local(text: str, digits: int, zone: str | None = None) -> Canal:
    """TIMESTAMP as text in ``zone``; where none is declared, what it says is all that is known."""

    def written(micros: int) -> str:
        moment = (EPOCH + micros * MICRO).replace(tzinfo=UTC)
        there = moment.astimezone(ZoneInfo(zone)) if zone else moment
        return in_iso((there.replace(tzinfo=None) - EPOCH) // MICRO, digits, between=" ")

    return Canal(text, written, instant_shown if zone else wall, text, zone)


def unambiguous(values: Values, zone: str) -> Values:
    """Without the hours that come twice when a clock is put back."""
    there = ZoneInfo(zone)

    def comes_once(micros: int) -> bool:
        moment = (EPOCH + micros * MICRO).replace(tzinfo=UTC).astimezone(there)
        return moment.utcoffset() == moment.replace(fold=1 - moment.fold).utcoffset()

    def draw(rng: Random) -> int:
        while not comes_once(micros := int(values.draw(rng))):
            pass
        return micros

    return Values([n for n in values.edges if comes_once(n)], draw)


def times_of_zone() -> Values:
    texts = ("10:15:30Z", "00:00:00Z", "23:59:59.999999Z", "24:00:00Z", "10:15:30.5Z")
    return Values(texts, lambda rng: rng.choice(texts))


def test_dates_and_times(world: World, tmp_path: Path) -> None:
    check_families(world, tmp_path, {"dates": dates(), "times": times()}, JSON)


def test_datetimes_and_timestamps(world: World, tmp_path: Path) -> None:
    families = {"datetimes": datetimes(), "timestamps": timestamps()}
    check_families(world, tmp_path, families, JSON)
