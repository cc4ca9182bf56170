"""Shapes: well-known binary to the texts in which cases give them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_KINDS = (
    "",
    *("Point", "LineString", "Polygon"),
    *("MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"),
)
_NESTED_LISTS = {"Point": 0, "LineString": 1, "Polygon": 2}
_HAS_SRID = 0x20000000
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_POINTS_IN_BRACKETS = re.compile(r"MULTIPOINT\(\((.*?)\)\)")


@dataclass(frozen=True, slots=True)
class Shape:
    """A geometry; content: nested tuples of coordinates, or the shapes of a collection."""

    kind: str
    content: tuple[Any, ...]
    srid: int = 0


def parse_wkb(wkb: bytes) -> Shape:
    """The shape in ``wkb``, its SRID if PostGIS put one there; ValueError when it is no shape.

    >>> ewkt(parse_wkb(bytes.fromhex("0101000000000000000000f03f000000000000f03f")))
    'SRID=0;POINT(1 1)'
    """
    reader = _Reader(wkb)
    try:
        shape = reader.shape()
    except (struct.error, IndexError) as error:
        raise ValueError(f"no well-known binary: {error}") from error
    if reader.at != len(wkb):
        raise ValueError(f"{len(wkb) - reader.at} bytes follow the geometry")
    return shape


def parse_geojson(document: Mapping[str, Any]) -> Shape:
    """The shape of a GeoJSON object that may have a field ``srid``."""
    if "geometries" in document:
        content = tuple(map(parse_geojson, document["geometries"]))
    else:
        content = _tuples(document["coordinates"])
    return Shape(document["type"], content, document.get("srid", 0))


def ewkt(shape: Shape) -> str:
    """The shape as ``SRID=n;WKT``, numbers and blanks as MariaDB writes them."""
    return f"SRID={shape.srid};{_wkt(shape)}"


def tidy_ewkt(text: str) -> str:
    """``text`` with numbers, blanks and the points of a MULTIPOINT as `ewkt` writes them.

    >>> tidy_ewkt("SRID=0;MULTIPOINT ((1.0 1), (2 2.50))")
    'SRID=0;MULTIPOINT(1 1,2 2.5)'
    """
    srid, _, shape = text.partition(";")
    numbered = _NUMBER.sub(lambda found: _number(float(found[0])), shape)
    squeezed = re.sub(r"\s*([(),])\s*", r"\1", numbered)
    bare = _POINTS_IN_BRACKETS.sub(
        lambda found: f"MULTIPOINT({found[1].replace('),(', ',')})", squeezed
    )
    return f"{srid};{bare}"


class _Reader:
    """Walks through the bytes once."""

    def __init__(self, wkb: bytes) -> None:
        self.at = 0
        self._wkb = wkb

    def shape(self) -> Shape:
        order = "<" if self._take("B") == 1 else ">"
        code = self._take(f"{order}I")
        srid = self._take(f"{order}I") if code & _HAS_SRID else 0
        kind = _KINDS[code & ~_HAS_SRID]
        if kind in _NESTED_LISTS:
            return Shape(kind, self._points(order, _NESTED_LISTS[kind]), srid)
        parts = tuple(self.shape() for _ in range(self._take(f"{order}I")))
        if kind == "GeometryCollection":
            return Shape(kind, parts, srid)
        return Shape(kind, tuple(part.content for part in parts), srid)

    def _points(self, order: str, depth: int) -> tuple[Any, ...]:
        if depth == 0:
            return self._take(f"{order}d"), self._take(f"{order}d")
        return tuple(self._points(order, depth - 1) for _ in range(self._take(f"{order}I")))

    def _take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._wkb, self.at)
        self.at += struct.calcsize(form)
        return value


def _wkt(shape: Shape) -> str:
    if shape.kind == "GeometryCollection":
        inner = ",".join(map(_wkt, shape.content))
    else:
        inner = _text(shape.content)
    return f"{shape.kind.upper()}({inner})"


def _text(coordinates: tuple[Any, ...]) -> str:
    if _is_point(coordinates):
        return " ".join(map(_number, coordinates))
    return ",".join(_text(part) if _is_point(part) else f"({_text(part)})" for part in coordinates)


def _is_point(coordinates: tuple[Any, ...]) -> bool:
    return bool(coordinates) and isinstance(coordinates[0], float)


def _number(number: float) -> str:
    return repr(number).removesuffix(".0")


def _tuples(coordinates: Any) -> Any:
    if isinstance(coordinates, list):
        return tuple(_tuples(part) for part in coordinates)
    return float(coordinates)
