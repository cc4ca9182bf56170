"""What could not even be looked at, as a finding."""

from __future__ import annotations

from tidemark.errors import RetryableError, TidemarkError
from tidemark.model.finding import Finding, Grade


def finding_of(error: TidemarkError, about: str) -> Finding:
    """``error``, which kept ``about`` from being looked at, and would keep a run from it."""
    again = "each run is tried again until it is over" if isinstance(error, RetryableError) else ""
    cost = f"no cut is published: {again}" if again else "runs fail until somebody acts"
    return Finding(
        Grade.ERROR, about, f"{type(error).__name__}: {error.what}", cost, error.next_step
    )
