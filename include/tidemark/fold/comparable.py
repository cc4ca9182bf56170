"""Values of any type as ones that Spark hashes and compares."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType


def comparable(column: Column, kind: DataType) -> Column:
    """``column`` of type ``kind``; of a map its entries in the order of their keys."""
    if isinstance(kind, MapType):
        return F.array_sort(F.map_entries(column))
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda element: comparable(element, kind.elementType))
    return column
