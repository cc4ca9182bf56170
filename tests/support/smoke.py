"""Which kinds of a scenario `make test` runs: docs/adr/0021."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def first_in_smoke(*kinds: str) -> Sequence[Any]:
    """Parameters of a scenario: `make test` runs the first kind, `make scenarios` the others."""
    first, *others = kinds
    return [pytest.param(first, marks=pytest.mark.smoke), *others]
