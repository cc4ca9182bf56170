"""Numbers of JSON as texts of the same digits (MSG-4).

Spark reads a number with a fraction into a text through a double, and one without a fraction into a
text that may be base64 as well. So where a decimal may have been written as a number, the record is
read once more, with its numbers made texts beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.formats.once import once
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName

DOUBLE_DIGITS = 15
"""Of any decimal that a double holds, and gives back."""

# Texts are passed over as a whole. Every loop is possessive, which Java runs without recursion.
_UP_TO_NUMBER = r'(?s)\G((?:[^"0-9-]++|-(?![0-9])|"(?:[^"\\]++|\\.)*+")*+)'
_WHOLE, _EXPONENT = r"-?[0-9]++", r"[eE][-+]?[0-9]++"
_NUMBER = rf"{_UP_TO_NUMBER}({_WHOLE}(?:\.[0-9]++)?+(?:{_EXPONENT})?+)"
_NUMBER_IN_PARTS = rf"{_UP_TO_NUMBER}({_WHOLE})(?:\.([0-9]++))?+({_EXPONENT})?+"
_ROUNDED = r'"\s*:\s*-?[0-9]+[.eE]'
"""What a number with a fraction begins with; a text that looks so costs time and nothing else."""

_LIKE_NUMBER = r"^-?[0-9]+([.E]|$)"


def unrounded(text: Column) -> Column:
    """JSON whose numbers are texts if one behind a name has a fraction; readers take both."""
    return F.when(text.rlike(_ROUNDED), F.regexp_replace(text, _NUMBER, '$1"$2"')).otherwise(text)


def pointed(text: Column) -> Column:
    """JSON with a text for each number, in which a point is, as in no base64: ``1234.`` of 1234."""
    return F.regexp_replace(text, _NUMBER_IN_PARTS, '$1"$2.$3$4"')


def exact_numbers(
    image: Column, again: Column, schema: TableSchema, names: Iterable[ColumnName]
) -> Column:
    """``image``, in which decimals that were numbers have a point and all their digits.

    image: a struct of the texts of the columns ``names``. again: the same of the `pointed` record;
    it is read where a text looks like a number, which base64 hardly ever does.
    """
    columns = [schema[name] for name in names]
    warnings = {
        c.name: warnings
        for c in columns
        if (warnings := [*filter(None, map(_warning, c.variants))])
    }
    if not warnings:
        return image

    def exact(image: Column) -> Column:
        return once(
            again,
            lambda numbers: F.struct(
                *((numbers if c.name in warnings else image)[c.name].alias(c.name) for c in columns)
            ),
        )

    def corrected(image: Column) -> Column:
        looks = (warning(image[name]) for name, of_ways in warnings.items() for warning in of_ways)
        is_uncertain = any_of(F.coalesce(look, F.lit(False)) for look in looks)
        return F.when(is_uncertain, exact(image)).otherwise(image)

    return once(image, corrected)


def _warning(column: SourceColumn) -> Callable[[Column], Column] | None:
    """Whether a text of ``column`` may be a number, and not what Spark makes of it.

    None where no text may. What records hold as text by the file may be a number all the same; then
    it is exact if a double holds every number of its size and scale.
    """
    if column.encoding is ValueEncoding.DECIMAL_BASE64:
        if column.element is not None:
            return lambda raw: ~raw.contains('"') & raw.rlike("[0-9]")
        return lambda raw: raw.rlike(_LIKE_NUMBER)
    sizes = column.decimal_sizes if column.encoding is ValueEncoding.DECIMAL_TEXT else None
    if sizes is None or sizes[0] <= DOUBLE_DIGITS:
        return None
    digits = max(1, DOUBLE_DIGITS + 1 - sizes[1])
    return lambda raw: raw.rlike(rf"E|^-?[0-9]{{{digits}}}")
