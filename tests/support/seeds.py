"""Random histories: how many of each, and which. Hooks, which a folder's conftest imports."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """``make histories`` asks for many; the first of each runs with every other scenario."""
    parser.addoption("--seeds", type=int, default=1, help="of each test of random histories")
    parser.addoption("--seed", type=int, help="of random histories, that one and no other")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a seed runs once for each; by it the kinds of sources take turns."""
    if "seed" in metafunc.fixturenames:
        seed = metafunc.config.getoption("--seed")
        seeds = range(metafunc.config.getoption("--seeds"))
        metafunc.parametrize("seed", seeds if seed is None else [seed])
