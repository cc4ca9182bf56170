"""What Tidemark stores and reads back: one version number, and the steps that lead to it.

Readers know the newest version alone. What an earlier one stored is brought to it step by step, and
is stored in the newest form by whoever writes it next (docs/adr/0020). A step says how documents
were at the time, so it names nothing that may change: no class, no default of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from tidemark.errors import UNCHANGED, StoredStateError

VERSION = 11
Body = dict[str, Any]
Step = Callable[[Body], Body]


class Stored(StrEnum):
    """The kinds of documents; the values name them in errors."""

    PROGRESS = "progress"
    LANDING = "landing mark"
    RESULT = "result of a cut"
    REF_UPDATES = "list of staged tables"
    HISTORY = "summary of earlier cuts"
    SCHEMA = "source schema"
    PUBLISHED = "mark of a published table"
    AUDIT = "record of an audit"
    BASE = "base of a table"
    REMOVED = "list of removed records"


def to_stored(body: Mapping[str, Any]) -> Body:
    """``body``, in the newest form, with its version."""
    return {"version": VERSION, **body}


def from_stored(kind: Stored, document: Mapping[str, Any]) -> Body:
    """The body of ``document`` in the newest form.

    Raises StoredStateError when a newer version of Tidemark wrote it.
    """
    version = document.get("version", 1)
    if version > VERSION:
        raise StoredStateError(
            f"the stored {kind} has version {version}, and this version of Tidemark reads up to "
            f"{VERSION}",
            state=UNCHANGED,
            next_step="install the version of Tidemark that wrote it, or a newer one",
        )
    body = {name: value for name, value in document.items() if name != "version"}
    for step in _STEPS[kind][version - 1 :]:
        body = step(body)
    return body


def _renamed(body: Body, names: Mapping[str, str]) -> Body:
    return {names.get(name, name): value for name, value in body.items()}


def _progress_2(body: Body) -> Body:
    """Of version 1 any field that was added later may be missing."""
    names = {
        "guards": "window_bounds",
        "judged": "acknowledged",
        "judged_records": "acknowledged_records",
        "set_aside": "quarantined",
    }
    added: Body = {
        "newest_ms": 0,
        "epochs": [],
        "snapshots": {"newest": "", "tables": {}},
        "window_bounds": {},
        "blocked": {},
        "skipped": [],
        "acknowledged": {},
        "acknowledged_records": {},
        "renames": [],
        "quiet_settles": False,
        "quarantined": [],
        "replays": [],
        "followed": None,
    }
    filled = added | _renamed(body, names)
    frontier = {"bound": "", "time_ms": 0, "numbers": {}}
    resync = {"below": "", "why": "", "is_ordered": False, "since": ""}
    snapshots = {"is_signalled": False} | filled["snapshots"]
    tables = {table: resync | reconcile for table, reconcile in snapshots["tables"].items()}
    return filled | {
        "frontier": frontier | filled["frontier"],
        "behind": {table: frontier | behind for table, behind in filled["behind"].items()},
        "snapshots": snapshots | {"tables": tables},
        "renames": [[*rename, ""][:4] for rename in filled["renames"]],
    }


def _landing_2(body: Body) -> Body:
    names = {"growths": "expansions", "tails": "fingerprints"}
    added: Body = {
        "ordered_by": None,
        "snapshot_lsn": 0,
        "expansions": {},
        "fingerprints": [],
        "caught_up": {},
    }
    return added | _renamed(body, names)


def _result_2(body: Body) -> Body:
    added: Body = {
        "cut": 0,
        "hold": "",
        "hold_code": "",
        "complete_until_ms": 0,
        "tables": [],
        "buckets": {},
        "quarantined": {},
        "unknown": {},
        "stopped": {},
        "error": "",
        "retryable": False,
    }
    filled = added | _renamed(body, {"set_aside": "quarantined"})
    counts = {"inserted": 0, "updated": 0, "deleted": 0, "truncated": 0, "outcome": ""}
    return filled | {"tables": [counts | table for table in filled["tables"]]}


def _ref_updates_2(body: Body) -> Body:
    return {"forks": {}} | body


def _history_2(body: Body) -> Body:
    return {"at_ms": 0, "held_ms": None, "folded": []} | body


def _schema_2(body: Body) -> Body:
    added: Body = {
        "changed_at": None,
        "column_renames": [],
        "dropped_at": None,
        "layout": {},
        "rules": {},
        "mode": "mirror",
        "rekeyed_at": None,
        "former_key": [],
    }
    filled = added | _renamed(body, {"shifts": "column_renames"})
    rules: Body = dict.fromkeys(("included", "excluded", "renamed", "hashed", "redacted"), [])
    return filled | {
        "columns": [_column_2(column) for column in filled["columns"]],
        "layout": {"partition": [], "sort": []} | filled["layout"],
        "rules": rules | filled["rules"],
    }


def _column_2(column: Body) -> Body:
    added: Body = {
        "digits": 0,
        "zone": "",
        "labels": [],
        "has_infinity": False,
        "may_be_unavailable": False,
        "former": None,
        "changed_at": None,
        "backfill": None,
        "mask": None,
        "forms": [],
    }
    names = {"fill": "backfill", "may_be_left_out": "may_be_unavailable"}
    filled = added | _renamed(column, names)
    former = filled["former"]
    return filled | {
        "former": _column_2(former) if former else None,
        "forms": [[ids, _column_2(form)] for ids, form in filled["forms"]],
    }


def _result_3(body: Body) -> Body:
    return body | {"tables": [{"renamed_from": ""} | table for table in body["tables"]]}


def _ref_updates_3(body: Body) -> Body:
    return {"renames": {}} | body


def _progress_4(body: Body) -> Body:
    return body | {"withheld": {}}


def _schema_4(body: Body) -> Body:
    renames = [{"fills": []} | rename for rename in body["column_renames"]]
    columns = [_column_4(column) for column in body["columns"]]
    return body | {"columns": columns, "column_renames": renames}


def _column_4(column: Body) -> Body:
    former = column["former"]
    return column | {
        "unknown_below": None,
        "is_withheld": False,
        "former": _column_4(former) if former else None,
        "forms": [[ids, _column_4(form)] for ids, form in column["forms"]],
    }


def _history_5(body: Body) -> Body:
    return body | {"changed": {}}


def _progress_6(body: Body) -> Body:
    return body | {"refolds": {}, "void": [], "given_up": []}


def _result_6(body: Body) -> Body:
    added: Body = {"displaced": "", "is_beside": False}
    return body | {"tables": [added | table for table in body["tables"]]}


def _progress_7(body: Body) -> Body:
    refolds = body["refolds"].items()
    return body | {"refolds": {table: {"base": None} | refold for table, refold in refolds}}


def _progress_8(body: Body) -> Body:
    """What came late before is not known any more: tables stand as if they had all of it."""
    paused = {
        table: refold | {"paused": refold["paused"] | {"landing": body["landing"]}}
        for table, refold in body["refolds"].items()
    }
    snapshots = {"contradicting": "", "ended": "", "signalled": ""} | body["snapshots"]
    return body | {"landings": {}, "refolds": paused, "snapshots": snapshots}


def _base_8(body: Body) -> Body:
    """What is folded once more behind a base that has it changes nothing."""
    return body | {"state": body["state"] | {"landing": body["landing"] - 1}}


def _schema_8(body: Body) -> Body:
    columns = [_column_8(column) for column in body["columns"]]
    return _renamed(body, {"rekeyed_at": "key_changed_at"}) | {"columns": columns}


def _column_8(column: Body) -> Body:
    former = column["former"]
    return _renamed(column, {"wire": "encoding", "forms": "by_schema"}) | {
        "former": _column_8(former) if former else None,
        "by_schema": [[ids, _column_8(variant)] for ids, variant in column["forms"]],
    }


def _progress_9(body: Body) -> Body:
    refolds = {
        table: refold
        | {"until": _frontier_9(refold["until"]), "paused": _state_9(refold["paused"])}
        for table, refold in body["refolds"].items()
    }
    return body | {
        "frontier": _frontier_9(body["frontier"]),
        "behind": {table: _frontier_9(behind) for table, behind in body["behind"].items()},
        "refolds": refolds,
        "read_ms": 0,
        "topics": {},
    }


def _base_9(body: Body) -> Body:
    return body | {"state": _state_9(body["state"])}


def _state_9(state: Body) -> Body:
    return state | {"frontier": _frontier_9(state["frontier"])}


def _frontier_9(frontier: Body) -> Body:
    """Rows of snapshots counted as streamed, and each below the frontier as one that came again."""
    added = {"split": {}, "gaps": {}, "streamed": frontier["reached"], "read_at": frontier["bound"]}
    return frontier | added


def _schema_9(body: Body) -> Body:
    """Columns that only snapshots had before are not known: they stand as if changes had them."""
    return body | {"columns": [_column_9(column) for column in body["columns"]]}


def _column_9(column: Body) -> Body:
    former = column["former"]
    return column | {
        "read_at": None,
        "most_chars": 0,
        "is_masked_at_source": False,
        "filled_below": None,
        "former": _column_9(former) if former else None,
        "by_schema": [[ids, _column_9(variant)] for ids, variant in column["by_schema"]],
    }


def _schema_10(body: Body) -> Body:
    """Statements that numbered rows are not known: columns stand as if there had been none."""
    return body | {"columns": [_column_10(column) for column in body["columns"]]}


def _column_10(column: Body) -> Body:
    former = column["former"]
    return column | {
        "numbered_below": None,
        "former": _column_10(former) if former else None,
        "by_schema": [[ids, _column_10(variant)] for ids, variant in column["by_schema"]],
    }


def _progress_11(body: Body) -> Body:
    """What was dropped before is not known, until the source makes a table of that name again."""
    return body | {"dropped": {}}


def _as_it_was(body: Body) -> Body:
    return body


_UNCHANGED: Sequence[Step] = (_as_it_was,) * (VERSION - 2)
"""Of a kind that no version after the second changed."""
_UNCHANGED_SINCE_3: Sequence[Step] = (_as_it_was,) * (VERSION - 3)
_STEPS: Mapping[Stored, Sequence[Step]] = {
    Stored.PROGRESS: (
        *(_progress_2, _as_it_was, _progress_4, _as_it_was, _progress_6, _progress_7),
        *(_progress_8, _progress_9, _as_it_was, _progress_11),
    ),
    Stored.LANDING: (_landing_2, *_UNCHANGED),
    Stored.RESULT: (_result_2, _result_3, *(_as_it_was,) * 2, _result_6, *(_as_it_was,) * 5),
    Stored.REF_UPDATES: (_ref_updates_2, _ref_updates_3, *_UNCHANGED_SINCE_3),
    Stored.HISTORY: (_history_2, *(_as_it_was,) * 2, _history_5, *(_as_it_was,) * 6),
    Stored.SCHEMA: (
        *(_schema_2, _as_it_was, _schema_4, *(_as_it_was,) * 3, _schema_8, _schema_9),
        *(_schema_10, _as_it_was),
    ),
    Stored.PUBLISHED: (_as_it_was, *_UNCHANGED),
    Stored.AUDIT: (_as_it_was, *_UNCHANGED),
    Stored.BASE: (*(_as_it_was,) * 6, _base_8, _base_9, *(_as_it_was,) * 2),
    Stored.REMOVED: (_as_it_was, *_UNCHANGED),
}
"""Of each kind the steps from version 1 on, one per version."""
