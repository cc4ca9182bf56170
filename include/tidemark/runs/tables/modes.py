"""What a table's mode asks of it, and of its target."""

from __future__ import annotations

from tidemark.errors import REFOLD, WAITING, TableStoppedError
from tidemark.model.columns import TableSchema
from tidemark.spec import TableSpec


def refuse_other_mode(spec: TableSpec, have: TableSchema | None) -> None:
    """Raise where the target was made in another mode: its rows mean something else."""
    if have is not None and have.mode is not spec.mode:
        raise TableStoppedError(
            f"{spec.source} is declared with mode {spec.mode}, but its target {spec.target} was "
            f"made with mode {have.mode}, and rows of the one cannot become rows of the other",
            state=WAITING,
            next_step=f"set mode: {have.mode} again; or {REFOLD}",
        )


def refuse_without_key(spec: TableSpec) -> None:
    """Raise where rows cannot be found again that the mode is to go on with."""
    if spec.mode.needs_key:
        raise TableStoppedError(
            f"{spec.source} has no key, and mode {spec.mode} needs one",
            state=WAITING,
            next_step=f"declare key: of {spec.source} in the pipeline file, if columns are there "
            "that tell rows apart; else set mode: mirror or mode: append",
        )
