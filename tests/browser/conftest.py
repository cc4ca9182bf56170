"""Where the pictures of the page go: beside the test, or into the docs."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", default="", help="folder for the pictures of the docs")
