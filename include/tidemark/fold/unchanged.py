"""Values that updates left out, found where their rows had them before (UNAV-3, UNAV-6).

A *need* asks what some columns of one row held at one moment. It is asked for the row ``wanted``,
whose newest change leaves them out, and first under its own key. Where the row came there by a
change of its key, the next need asks under the key that it had before, and so on. Where a target
keeps more of a row than its newest state, ``wanted`` is a row after one change of it.

A null that may stand for a value that did not change (UNAV-11) is looked up like an unavailable
value. It is a null where the row had null before, or a value that is too small to be stored apart;
there is nothing else that it can become.

Every frame of needs has NEEDS: the keys ``wanted`` and ``row_key``, ``before``, an order (null:
now), and ``open``, the names of the columns. What is found is kept by the number of its column, as
names come from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from tidemark.conditions import any_of
from tidemark.fold.computed import computed_once
from tidemark.model.columns import CHANGE as OF_CHANGE
from tidemark.model.columns import CONVERSION_ERROR, UNAVAILABLE, UNRESOLVED
from tidemark.model.event import Op
from tidemark.model.names import SYSTEM_PREFIX, ColumnName, quote
from tidemark.model.position import POSTGRES_DIGITS
from tidemark.model.reduction import EVENT_ID

NEEDS = ("wanted", "row_key", "before", "open")
CHANGE = ("topic", "offset", "position", "part", "partition", "op", "begins", "former_key")
ORDER = ("position", "part", "partition")
_NOW = "struct<position: string, part: int, partition: int>"
_WANTED, _ANSWER = f"{SYSTEM_PREFIX}wanted", f"{SYSTEM_PREFIX}answer"


class Past(Protocol):
    """Where former values of a table's rows are sought."""

    def of(self, needs: DataFrame) -> DataFrame:
        """NEEDS of each change of ``row_key``; CHANGE, ``image``, UNAVAILABLE, CONVERSION_ERROR.

        Beside that of the row that the target has under it, too, as if it were one.
        """
        ...

    def beside(self, rows: DataFrame) -> DataFrame:
        """``rows`` beside ``op``, ``row_key`` and ORDER of every change at their ``event_id``."""
        ...

    def earlier(self) -> Past:
        """Where rows are sought under keys that they had before."""
        ...


def filled(
    partial: DataFrame,
    key: Sequence[ColumnName],
    columns: Sequence[ColumnName],
    past: Past,
    uncertain_nulls: Mapping[ColumnName, int],
) -> DataFrame:
    """The rows of ``partial`` with their unavailable values of ``columns``.

    uncertain_nulls: those of which a null alone is unavailable, as it may be the value (UNAV-11),
    and up to how many bytes no value is stored apart.

    In: typed rows with UNAVAILABLE. Out: the same; UNAVAILABLE, what is unknown still;
    CONVERSION_ERROR, a column whose value did not fit its type; UNRESOLVED, JSON of whether nothing
    tells a value of such a row as it came by a change of its key, where it was read, and a column
    that is unknown; each null where nothing is missing.
    Costs one action, and one more for each change of key that rows went through.
    """
    answered = [computed_once(answers(past.of(needs_of(partial, key)), columns))]
    while not (rest := moved(answered[-1])).isEmpty():
        past = past.earlier()
        needs = F.broadcast(former_needs(past.beside(rest)))
        answered.append(computed_once(answers(past.of(needs), columns)))
    return completed(partial, answered, key, columns, uncertain_nulls)


def needs_of(partial: DataFrame, key: Sequence[ColumnName]) -> DataFrame:
    """What is asked first. In: typed rows with UNAVAILABLE. Out: NEEDS."""
    before = F.lit(None)
    if OF_CHANGE in partial.columns:
        at = F.col(OF_CHANGE)
        after = (at["partition"] + 1).alias("partition")
        before = F.struct(at["position"].alias("position"), at["part"].alias("part"), after)
    return partial.select(
        _wanted(partial, key).alias("wanted"),
        F.struct(*(F.col(quote(name)) for name in key)).alias("row_key"),
        before.cast(_NOW).alias("before"),
        F.col(UNAVAILABLE).alias("open"),
    )


def _wanted(partial: DataFrame, key: Sequence[ColumnName]) -> Column:
    """What tells the rows of ``partial`` apart."""
    key_columns = [F.col(quote(name)) for name in key]
    if OF_CHANGE not in partial.columns:
        return F.struct(*key_columns)
    return F.struct(
        *key_columns, *(F.col(f"{OF_CHANGE}.{name}").alias(f"_{name}") for name in ORDER)
    )


def answers(past: DataFrame, columns: Sequence[ColumnName]) -> DataFrame:
    """What the past of each row tells.

    In: `Past.of`. Out, one row per need: ``wanted``; a value for each column, null where it is not
    known; ``open``, the columns that stay so; ``base``, the change that made or ended the row;
    ``newest``, where the newest change was read.

    A value is that of the newest change that holds it. Behind the change that made or ended the
    row there is nothing of it under this key.
    """
    order = F.struct(*ORDER)
    is_below = F.col("before").isNull() | (order < F.col("before"))
    bounds = (F.col("op") == Op.DELETE.value) | F.col("begins")
    asked = past.groupBy("wanted").agg(
        F.first("open").alias("_asked"),
        *(
            _newest(_state(column, bounds), is_below).alias(f"_{number}")
            for number, column in enumerate(columns)
        ),
        _newest(F.when(bounds, F.struct(*ORDER, "op", "former_key")), is_below).alias("base"),
        _newest(
            F.when(F.col("topic").isNotNull(), F.struct("topic", "partition", "offset")), is_below
        ).alias("newest"),
    )
    is_asked = {c: F.array_contains("_asked", c) for c in columns}
    is_known = {c: F.coalesce(F.col(f"_{n}.known"), F.lit(False)) for n, c in enumerate(columns)}
    still = (F.when(is_asked[c] & ~is_known[c], F.lit(c)) for c in columns)
    return asked.select(
        "wanted",
        *(
            F.when(is_asked[c] & is_known[c], F.col(f"_{n}")).alias(f"value{n}")
            for n, c in enumerate(columns)
        ),
        F.array_compact(F.array(*still)).alias("open"),
        "base",
        "newest",
    )


def _state(column: ColumnName, bounds: Column) -> Column:
    """What one change says of ``column``; null: nothing, so that an older one is to be asked."""
    is_delete = F.col("op") == Op.DELETE.value
    lacks = F.coalesce(F.array_contains(UNAVAILABLE, column), F.lit(False))
    state = F.struct(
        (~is_delete & ~lacks).alias("known"),
        F.col("image")[column].alias("value"),
        F.col(CONVERSION_ERROR).alias("conversion_error"),
    )
    return F.when(bounds | ~lacks, state)


def _newest(value: Column, is_below: Column) -> Column:
    """Aggregate: the newest ``value`` that is not null (POS-13)."""
    return F.max_by(value, F.when(is_below & value.isNotNull(), F.struct(*ORDER)))


def moved(answered: DataFrame) -> DataFrame:
    """The rows of which something is open and that came under their key by a change of it.

    In: `answers`. Out: ``wanted``, ``open``, ``base`` and ``event_id``, where the other half
    stands.
    """
    came = F.col("base.op") == Op.UPSERT.value
    rows = answered.where((F.size("open") > 0) & came)
    placed = rows.select("wanted", "open", "base", "base.position")
    return placed.withColumn("event_id", F.expr(EVENT_ID)).drop("position")


def former_needs(beside: DataFrame) -> DataFrame:
    """What is asked next: the row under the key that it had, before it lost that (KEY-7).

    In: `moved` rows as `Past.beside` gives them. Out: NEEDS; no row where the key is not told, or
    where its end has not been read yet: what came before that may be missing too. An update of one
    record has its other half in the record. Else a header tells the key, or it is plain: an LSN of
    PostgreSQL belongs to one row, while several rows share a place in a binlog.
    """
    is_delete = F.col("op") == Op.DELETE.value
    is_half = (
        (F.col("position") == F.col("base.position"))
        & (F.col("partition") == F.col("base.partition"))
        & (F.col("part") == F.col("base.part") - 1)
    )
    ended = F.when(is_delete, F.struct("row_key", F.struct(*ORDER).alias("at")))
    by_wanted = beside.groupBy("wanted").agg(
        F.first("open").alias("open"),
        (F.length(F.first("base.position")) == POSTGRES_DIGITS).alias("_is_lsn"),
        F.max(F.when(is_delete & is_half, F.col("row_key"))).alias("_half"),
        F.max(F.when(F.col("row_key") == F.col("base.former_key"), F.col("row_key"))).alias(
            "_told"
        ),
        F.collect_set(ended).alias("_ended"),
        F.collect_set(F.when(~is_delete, F.col("row_key"))).alias("_begun"),
    )
    keys = F.array_distinct(F.transform("_ended", lambda end: end["row_key"]))
    is_single = (F.size(keys) == 1) & (F.size("_begun") == 1) & F.col("_is_lsn")
    only = F.when(is_single, F.get(keys, F.lit(0)))
    ends = F.filter("_ended", lambda end: end["row_key"] == F.col("row_key"))
    return (
        by_wanted.withColumn("row_key", F.coalesce("_half", "_told", only))
        .withColumn("before", F.array_min(F.transform(ends, lambda end: end["at"])))
        .where(F.col("before").isNotNull())
        .select(*NEEDS)
    )


def completed(
    partial: DataFrame,
    answered: Sequence[DataFrame],
    key: Sequence[ColumnName],
    columns: Sequence[ColumnName],
    uncertain_nulls: Mapping[ColumnName, int],
) -> DataFrame:
    """The rows with what was found; In: `answers` of all their needs, the first ones first."""
    values = [f"value{number}" for number in range(len(columns))]
    first, *others = answered
    is_moved = F.coalesce(F.col("base.op") == Op.UPSERT.value, F.lit(False))
    together = first.select("wanted", "newest", is_moved.alias("is_moved"), *values)
    for other in others:
        together = together.unionByName(other.select("wanted", *values), allowMissingColumns=True)
    # Of the answers for one row one at most knows a value.
    by_wanted = together.groupBy(F.col("wanted").alias(_WANTED)).agg(
        F.struct(
            *(F.first(name, ignorenulls=True).alias(name) for name in values),
            F.first("newest", ignorenulls=True).alias("newest"),
            F.first("is_moved", ignorenulls=True).alias("is_moved"),
        ).alias(_ANSWER)
    )
    value = {c: F.col(_ANSWER)[f"value{number}"] for number, c in enumerate(columns)}
    lacks = {c: F.array_contains(UNAVAILABLE, c) for c in columns}
    is_known = {c: value[c].isNotNull() for c in columns}
    is_untold = any_of(lacks[c] & ~is_known[c] for c in columns)
    for c, most in uncertain_nulls.items():
        is_array = isinstance(partial.schema[c].dataType, ArrayType)
        is_known[c] &= _is_null_for_sure(value[c]["value"], most, is_array=is_array)
    unknown = F.array_compact(
        F.array(*(F.when(lacks[c] & ~is_known[c], F.lit(c)) for c in columns))
    )
    place = F.struct(
        (F.col(f"{_ANSWER}.is_moved") & is_untold).alias("is_moved"),
        f"{_ANSWER}.newest.*",
        F.get(unknown, F.lit(0)).alias("column"),
    )
    joined = partial.join(by_wanted, _wanted(partial, key) == F.col(_WANTED), "left")
    supplied = {c: value[c]["value"] for c in columns if c not in uncertain_nulls}
    replaced = {
        c: F.when(lacks[c], supplied.get(c, F.lit(None))).otherwise(F.col(quote(c))).alias(c)
        for c in columns
    }
    return joined.select(
        *(
            replaced.get(ColumnName(name), F.col(quote(name)))
            for name in partial.columns
            if name != UNAVAILABLE
        ),
        F.when(F.size(unknown) > 0, unknown).alias(UNAVAILABLE),
        F.coalesce(*(F.when(lacks[c], value[c]["conversion_error"]) for c in columns)).alias(
            CONVERSION_ERROR
        ),
        F.when(F.size(unknown) > 0, F.to_json(place)).alias(UNRESOLVED),
    )


def _is_null_for_sure(before: Column, most: int, *, is_array: bool) -> Column:
    """Whether a null behind the value ``before`` is a null, and not an unavailable value (UNAV-11).

    most: bytes up to which no value is stored apart, 0 where that is unknown, as of shapes, which
    have no text. An empty array never is. The others have 24 bytes in front of their elements, and
    no element takes 24 more than its text does.
    """
    is_nothing = before.isNull() | (F.size(before) == 0) if is_array else before.isNull()
    if not most:
        return is_nothing
    size = F.octet_length(before) + 8
    if is_array:
        size = F.octet_length(F.to_json(before)) + F.size(before) * 24 + 24
    return is_nothing | (size <= most)
