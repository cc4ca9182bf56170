"""What no record of a case tells: named here one by one, and not compared."""

from __future__ import annotations

from collections.abc import Mapping

_BITS = "records hold whole bytes, and not how many bits there are"
_NULL_AS_DEFAULT = "a null arrives as the DEFAULT of its column (replace.null.with.default=true)"
_FILLED = "old rows got the DEFAULT of a column that joined, and without schemas no record tells it"

UNKNOWABLE: Mapping[tuple[str, str], Mapping[str, Mapping[str, str]]] = {
    ("live-debezium-3p/my-gtid-schema", "json-schema"): {"gt.part": {"status": _NULL_AS_DEFAULT}},
    ("live-debezium-3p/my-gtid-schema", "json-noschema"): {"gt.part": {"status": _NULL_AS_DEFAULT}},
    ("recorded-debezium-postgres/pg-ops", "json-noschema"): {
        "public.evo_default": {"def": _FILLED}
    },
    **{
        ("recorded-debezium-postgres/pg-types", variant): {
            "public.bitbin_table": dict.fromkeys(("bv", "bvunlimited1", "bvunlimited2"), _BITS),
        }
        for variant in ("json-schema", "json-noschema", "json-schema-connect", "avro-confluent")
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
