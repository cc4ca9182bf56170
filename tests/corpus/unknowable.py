"""What no record of a case tells: named here one by one, and not compared."""

from __future__ import annotations

from collections.abc import Mapping

_BITS = "records hold whole bytes, and not how many bits there are"
_OF_BITS = dict.fromkeys(("bv", "bvunlimited1", "bvunlimited2"), _BITS)
_NULL_AS_DEFAULT = "a null arrives as the DEFAULT of its column (replace.null.with.default=true)"
_FILLED = "old rows got the DEFAULT of a column that joined, and without schemas no record tells it"

_ADJUSTED = "names are adjusted to those of Avro, and no record has the true ones"
_DOUBLES = "decimal.handling.mode=double: the connector sends doubles"
_DIGITS = "binary.handling.mode=hex: a text, for all that a record shows"
_TYPES = "recorded-debezium-postgres/pg-types"
_NUMBERS = ("d", "dzs", "dvs", "d_nn", "n", "nzs", "nvs", "d_int", "dzs_int", "dvs_int")

UNKNOWABLE: Mapping[tuple[str, str], Mapping[str, Mapping[str, str]]] = {
    ("live-debezium-3p/my-gtid-schema", "json-schema"): {"gt.part": {"status": _NULL_AS_DEFAULT}},
    ("live-debezium-3p/my-gtid-schema", "json-noschema"): {"gt.part": {"status": _NULL_AS_DEFAULT}},
    ("recorded-debezium-postgres/pg-ops", "json-noschema"): {
        "public.evo_default": {"def": _FILLED}
    },
    **{
        (_TYPES, variant): {"public.bitbin_table": _OF_BITS}
        for variant in ("json-schema", "json-noschema")
    },
    (_TYPES, "avro-confluent"): {
        "public.bitbin_table": _OF_BITS,
        'Quoted_" . Schema.Quoted_" . Table': dict.fromkeys(
            ('Quoted_" . Text_Column', "Quoted_____Text_Column"), _ADJUSTED
        ),
    },
    (_TYPES, "json-schema-connect"): {
        "public.bitbin_table": _OF_BITS,
        "public.cash_table": {"csh": _DOUBLES},
        "public.numeric_decimal_table": dict.fromkeys(
            (*_NUMBERS, "n_int", "nzs_int", "nvs_int"), _DOUBLES
        ),
        "public.array_table": {"numeric_array": _DOUBLES},
    },
    (_TYPES, "json-schema-strings"): {
        "public.bitbin_table": {**_OF_BITS, "ba": _DIGITS},
        "public.bytea_binmode_table": dict.fromkeys(("ba", "bytea_array"), _DIGITS),
        "public.string_table": dict.fromkeys(("b", "bnn"), _DIGITS),
    },
}
"""(case, variant) -> table -> column -> why."""

KEPT: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("recorded-debezium-postgres/pg-ops", variant): {
        "trunc_child": "PostgreSQL sends nothing of a DROP TABLE, and its target keeps its rows"
    }
    for variant in ("json-schema", "json-noschema", "avro-confluent")
}
"""(case, variant) -> target of a table that the source drops unseen -> why it is still there."""

QUARANTINED: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("recorded-debezium-postgres/pg-ops", "json-noschema"): {
        "public.evo": "b is a text, then an int: the type is declared, and no record tells either"
    },
    **{
        (_TYPES, variant): {"public.time_table": "years beyond 9999 and before 1 are quarantined"}
        for variant in (
            *("json-schema", "json-noschema", "json-schema-connect", "json-schema-strings"),
            "avro-confluent",
        )
    },
}
"""(case, variant) -> table of which all rows have values that no reader can show -> which."""
