"""Pipeline files, right ones and wrong ones, and what is said about the wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemark.errors import SpecError
from tidemark.spec import load_pipeline

SHOP = """\
name: shop
description: Orders of the shop.
owner: data-platform
schedule: "*/10 * * * *"
source:
  format: ticdc-canal-json
  gate: watermark
  topics:
    data: [shop]
tables:
  - source: shop.orders
    expectations: orders
"""
DEBEZIUM = SHOP.replace("ticdc-canal-json", "debezium-mysql").replace(
    "gate: watermark", "gate: none"
)


def faults_of(folder: Path, text: str) -> list[str]:
    """What is said about ``text`` in the file shop.yaml, without the folder."""
    (folder / "orders.yaml").touch()
    file = folder / "shop.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_pipeline(file, suites=folder)
    return caught.value.what.replace(f"{folder}/", "").splitlines()


def swapped(old: str, new: str, text: str = SHOP) -> str:
    """``text`` with ``new`` for ``old``, which it holds."""
    assert old in text
    return text.replace(old, new)
