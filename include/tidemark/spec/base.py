"""What all declarations share: frozen, kebab-case in YAML, no unknown keys, rules beside fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from tidemark.model.layout import PartitionField
from tidemark.model.names import ColumnName, TableName, refusal

BROKEN_RULE = "broken_rule"


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule between several fields that a file breaks.

    at: the field to fix, from the model that knows the rule. got: what the rule found there.
    """

    at: tuple[str | int, ...]
    got: str
    expected: str
    hint: str = ""


def kebab_case(name: str) -> str:
    """The YAML key of a field."""
    return name.replace("_", "-")


class SpecModel(BaseModel):
    """Something an operator declares; rules between its fields stand in `broken_rules`."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=kebab_case,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
    )

    def broken_rules(self) -> Iterable[BrokenRule]:
        """The rules between fields that are not kept; asked once every field is good by itself."""
        return ()

    @model_validator(mode="after")
    def _keeps_its_rules(self) -> Self:
        broken = [
            InitErrorDetails(
                type=PydanticCustomError(
                    BROKEN_RULE,
                    "got {got}; expected {expected}",
                    {"got": rule.got, "expected": rule.expected, "hint": rule.hint},
                ),
                loc=rule.at,
                input=None,
            )
            for rule in self.broken_rules()
        ]
        if broken:
            raise ValidationError.from_exception_data(type(self).__name__, broken)
        return self


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("text that is not blank")
    return text


def _table_name(name: object) -> TableName:
    if isinstance(name, TableName):
        return name
    if not isinstance(name, str) or not all(name.partition(".")):
        raise ValueError("database and table, such as shop.orders")
    schema, _, table = name.partition(".")
    for part in (schema, table):
        _usable(part)
    return TableName.parse(name)


def _usable(name: str) -> str:
    reason = refusal(name)
    if reason is not None:
        raise ValueError(f"another name: {reason}")
    return name


def _iceberg_name(name: str) -> str:
    if "." in name:
        raise ValueError("one name without dots")
    return _usable(name)


def _partition(field: object) -> PartitionField:
    return field if isinstance(field, PartitionField) else PartitionField.parse(str(field))


def _setting(value: object) -> object:
    """A YAML number or boolean as the text that Spark and Kafka take."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, AfterValidator(_not_blank), Field(json_schema_extra={"minLength": 1})]
IcebergName = Annotated[
    str, AfterValidator(_iceberg_name), Field(json_schema_extra={"pattern": "^[^.]+$"})
]
SourceColumnName = Annotated[ColumnName, AfterValidator(_usable)]
_TableText = Annotated[str, Field(json_schema_extra={"pattern": r"^[^.]+\..+$"})]
SourceTableName = Annotated[
    TableName,
    PlainValidator(_table_name, json_schema_input_type=_TableText),
    PlainSerializer(str, return_type=str),
]
Partition = Annotated[
    PartitionField,
    PlainValidator(_partition, json_schema_input_type=str),
    PlainSerializer(str, return_type=str),
]
Setting = Annotated[str, BeforeValidator(_setting, json_schema_input_type=str | int | float | bool)]
