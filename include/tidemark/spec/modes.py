"""How a Debezium connector was told to write values."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from tidemark.model.modes import (
    BigintUnsignedMode,
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    FieldNameMode,
    HstoreMode,
    IntervalMode,
    TimeMode,
)
from tidemark.spec.base import SpecModel


class ModesSpec(SpecModel):
    """How the Debezium connector was told to write values; the defaults are Debezium's own."""

    decimal: DecimalMode = Field(
        default=DecimalMode.PRECISE, description="the connector's decimal.handling.mode"
    )
    time: TimeMode | None = Field(
        default=None,
        description="the connector's time.precision.mode; null is the connector's own default: "
        "adaptive for PostgreSQL, else adaptive-microseconds",
    )
    bigint_unsigned: BigintUnsignedMode = Field(
        default=BigintUnsignedMode.LONG,
        description="the connector's bigint.unsigned.handling.mode",
    )
    binary: BinaryMode = Field(
        default=BinaryMode.BYTES, description="the connector's binary.handling.mode"
    )

    interval: IntervalMode = Field(
        default=IntervalMode.NUMERIC,
        description="PostgreSQL: the connector's interval.handling.mode",
    )
    hstore: HstoreMode = Field(
        default=HstoreMode.JSON, description="PostgreSQL: the connector's hstore.handling.mode"
    )
    field_names: FieldNameMode | None = Field(
        default=None,
        description="the connector's field.name.adjustment.mode; null is avro for an Avro source, "
        "else none",
    )

    @property
    def connector(self) -> ConnectorModes:
        """The modes as a value, of a MySQL or MariaDB connector where they are not declared."""
        return ConnectorModes(
            self.decimal,
            self.time or TimeMode.ADAPTIVE_MICROSECONDS,
            self.bigint_unsigned,
            self.binary,
            self.interval,
            self.hstore,
        )

    @property
    def postgres(self) -> ConnectorModes:
        """The modes as a value, of a PostgreSQL connector where they are not declared."""
        return replace(self.connector, time=self.time or TimeMode.ADAPTIVE)
