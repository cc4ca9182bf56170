"""Random histories through the whole engine."""

from __future__ import annotations

from tests.support.seeds import pytest_addoption, pytest_generate_tests

__all__ = ["pytest_addoption", "pytest_generate_tests"]
