"""Whether a column's new type holds every value of its old one, as it is (SCHEMA-13, SCHEMA-16).

A source rewrites its rows when a column's type changes, and no event tells. So a change is followed
only when no row can have come out of it with another value, or with a text that the target's cast
of the old value does not make as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tidemark.schema.type_text import SourceType

_INT_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_BYTES = {"tiny": 2**8 - 1, "": 2**16 - 1, "medium": 2**24 - 1, "long": 2**32 - 1}
_TEXTS = {f"{size}text": most for size, most in _BYTES.items()}
_BLOBS = {f"{size}blob": most for size, most in _BYTES.items()}
_BYTES_A_CHARACTER = 4
_MOST_DIGITS = 6


def is_known(column_type: SourceType) -> bool:
    """Whether it is a type of the source, and not one that a record's schema names."""
    return column_type.base in _FAMILIES


def is_same(new: SourceType, old: SourceType) -> bool:
    """Whether each holds every value of the other, as INT and INT(11) do."""
    pairs = ((new, old), (old, new))
    return is_known(new) and all(
        holds_every_value(*pair, is_numbered=True, tells_sizes=True) for pair in pairs
    )


def holds_every_value(
    new: SourceType, old: SourceType, *, is_numbered: bool, tells_sizes: bool
) -> bool:
    """Whether no value changes when a column of the type ``old`` becomes ``new``.

    is_numbered: records hold the numbers of labels. tells_sizes: what ``old`` does not say is what
    MySQL takes for it; otherwise it is not known.
    """
    family, other = _FAMILIES[old.base], _FAMILIES.get(new.base)
    if other is not family:
        crossing = _CROSSINGS.get((family, other)) if other is not None else None
        return crossing is not None and crossing(new, old, is_numbered)
    if family is _labels and not is_numbered:
        return new.base == old.base and _keeps_texts(new, old)
    if family is _moments and not tells_sizes and not old.parameters:
        return _moments(new, replace(old, parameters=(str(_MOST_DIGITS),)))
    return family(new, old)


def _integers(new: SourceType, old: SourceType) -> bool:
    wide, narrow = _INT_BITS[new.base], _INT_BITS[old.base]
    if new.unsigned == old.unsigned:
        return wide >= narrow
    return old.unsigned and wide > narrow


def _decimals(new: SourceType, old: SourceType) -> bool:
    return _keeps_sign(new, old) and _precision(new, old)


def _precision(new: SourceType, old: SourceType) -> bool:
    """What an unknown precision becomes is judged by the types of the target."""
    if not old.numbers:
        return True
    (wide, scale), (narrow, old_scale) = _digits(new), _digits(old)
    return scale >= old_scale and wide >= narrow


def _digits(known: SourceType) -> tuple[int, int]:
    """Of a decimal: before the point and behind it; MySQL takes 10 for what is not said."""
    digits, scale = (*known.numbers, *(10, 0)[len(known.numbers) :])[:2]
    return digits - scale, scale


def _floats(new: SourceType, old: SourceType) -> bool:
    rounds = len(new.parameters) > 1 and new.parameters != old.parameters
    is_narrower = (old.base, new.base) == ("double", "float")
    return _keeps_sign(new, old) and not is_narrower and not rounds


def _keeps_sign(new: SourceType, old: SourceType) -> bool:
    return old.unsigned or not new.unsigned


def _texts(new: SourceType, old: SourceType) -> bool:
    """An unknown length fits: the source refuses to cut a value, unless it was told not to."""
    if new.base == "char" and old.base != "char":
        return False
    if old.base not in _TEXTS and not old.numbers and old.base != "char":
        return True
    characters = _TEXTS.get(old.base) or _length(old)
    room = _TEXTS.get(new.base)
    if room is None:
        return _length(new) >= characters
    return room >= (characters if old.base in _TEXTS else characters * _BYTES_A_CHARACTER)


def _bytes(new: SourceType, old: SourceType) -> bool:
    """A BINARY is filled up to its length with zeros, so that another length is another value."""
    if "binary" in (new.base, old.base):
        return (new.base, _length(new)) == (old.base, _length(old))
    if old.base not in _BLOBS and not old.numbers:
        return True
    return (_BLOBS.get(new.base) or _length(new)) >= (_BLOBS.get(old.base) or _length(old))


def _length(known: SourceType) -> int:
    return known.numbers[0] if known.numbers else 1


def _moments(new: SourceType, old: SourceType) -> bool:
    digits, had = (known.numbers[0] if known.numbers else 0 for known in (new, old))
    return new.base == old.base and digits >= had


def _to_decimal(new: SourceType, old: SourceType, _: bool) -> bool:
    return _keeps_sign(new, old) and _digits(new)[0] >= _most_digits(old)


def _to_double(new: SourceType, old: SourceType, _: bool) -> bool:
    """A double holds 53 bits; one that is declared with digits may round."""
    is_exact = new.base == "double" and not new.parameters and old.base != "bigint"
    return is_exact and _keeps_sign(new, old)


def _number_to_text(new: SourceType, old: SourceType, _: bool) -> bool:
    """Digits and sign; an unsigned one may be ZEROFILL, and has zeros in front of them then."""
    return not old.unsigned and _room(new) >= _most_digits(old) + len("-")


def _decimal_to_text(new: SourceType, old: SourceType, _: bool) -> bool:
    is_sized = bool(old.numbers) and not old.unsigned
    return is_sized and _room(new) >= sum(_digits(old)) + len("-0.")


def _date_to_text(new: SourceType, old: SourceType, _: bool) -> bool:
    return old.base == "date" and _room(new) >= len("2026-01-01")


def _date_to_moment(new: SourceType, old: SourceType, _: bool) -> bool:
    """Midnight; of a TIMESTAMP that depends on the zone of the session."""
    return (old.base, new.base) == ("date", "datetime")


def _label_to_text(new: SourceType, old: SourceType, is_numbered: bool) -> bool:
    sizes = [len(label) for label in old.parameters]
    if is_numbered or not sizes:
        return False
    longest = sum(sizes) + len(sizes) - 1 if old.base == "set" else max(sizes)
    return _room(new) >= longest


def _most_digits(whole: SourceType) -> int:
    return len(str(2 ** (_INT_BITS[whole.base] - (0 if whole.unsigned else 1))))


def _room(text: SourceType) -> int:
    """How many characters a text holds for sure."""
    most = _TEXTS.get(text.base)
    return _length(text) if most is None else most // _BYTES_A_CHARACTER


def _labels(new: SourceType, old: SourceType) -> bool:
    """Appended ones alone; those that are not known can have had any order (SCHEMA-17)."""
    known = old.parameters
    return new.base == old.base and bool(known) and new.parameters[: len(known)] == known


def _keeps_texts(new: SourceType, old: SourceType) -> bool:
    """Where records hold the labels; those of a SET are written in the order of its type."""
    if old.base == "set":
        left = iter(new.parameters)
        return bool(old.parameters) and all(label in left for label in old.parameters)
    return set(old.parameters) <= set(new.parameters)


def _others(new: SourceType, old: SourceType) -> bool:
    """The same type, with its size or without: YEAR is YEAR(4)."""
    return _sized(new) == _sized(old)


def _bits(new: SourceType, old: SourceType) -> bool:
    """The number stays what it is."""
    return _length(new) >= _length(old)


def _sized(known: SourceType) -> SourceType:
    size = _SIZES.get(known.base)
    return known if known.parameters or size is None else replace(known, parameters=(size,))


_SIZES = {"year": "4"}
_OTHERS = (
    *("json", "uuid", "inet4", "inet6", "date", "year", "vector", "geometry", "point"),
    *("linestring", "polygon", "geometrycollection", "multipoint", "multilinestring"),
    "multipolygon",
)
_FAMILIES: Mapping[str, Callable[[SourceType, SourceType], bool]] = {
    **dict.fromkeys(_INT_BITS, _integers),
    **dict.fromkeys(("decimal",), _decimals),
    **dict.fromkeys(("float", "double"), _floats),
    **dict.fromkeys(("char", "varchar", *_TEXTS), _texts),
    **dict.fromkeys(("binary", "varbinary", *_BLOBS), _bytes),
    **dict.fromkeys(("datetime", "timestamp", "time"), _moments),
    **dict.fromkeys(("enum", "set"), _labels),
    **dict.fromkeys(("bit",), _bits),
    **dict.fromkeys(_OTHERS, _others),
}
_CROSSINGS: Mapping[tuple[object, object], Callable[[SourceType, SourceType, bool], bool]] = {
    (_integers, _decimals): _to_decimal,
    (_integers, _floats): _to_double,
    (_integers, _texts): _number_to_text,
    (_decimals, _texts): _decimal_to_text,
    (_others, _moments): _date_to_moment,
    (_others, _texts): _date_to_text,
    (_labels, _texts): _label_to_text,
}
"""(family of the old type, of the new one) -> whether every value goes over."""
