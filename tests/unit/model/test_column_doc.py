"""SCHEMA-39: what a column says of itself."""

from __future__ import annotations

import pytest

from tidemark.model.columns import column_doc


@pytest.mark.parametrize(
    ("comment", "doc"),
    [
        ("when it was made", "when it was made"),
        ("a\0b\tc\nd\re\x7f", "a b\tc\nd e"),
        ("half \ud83d of a sign", "half   of a sign"),
        ("الإسم می\u200cشود 👩\u200d🔧", "الإسم می\u200cشود 👩\u200d🔧"),
        ("\0", ""),
        ("x" * 2000, "x" * 1024),
    ],
)
def test_a_comment_becomes_a_doc(comment: str, doc: str) -> None:
    assert column_doc(comment) == doc
