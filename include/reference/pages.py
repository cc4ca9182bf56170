"""Pages that hold tables made from the code: each stands between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def with_tables(page: str, mark: str, table: Callable[[str], Iterable[str]]) -> str:
    r"""``page`` with new lines between each ``<!-- mark: NAME -->`` and its ``<!-- end -->``.

    table: NAME -> the lines of its table.

    >>> with_tables("<!-- types: a -->\nold\n<!-- end -->", "types", lambda name: [f"new {name}"])
    '<!-- types: a -->\nnew a\n<!-- end -->'
    """
    return re.sub(
        rf"(<!-- {mark}: (\w+) -->\n).*?(<!-- end -->)",
        lambda match: "".join((match[1], *(f"{line}\n" for line in table(match[2])), match[3])),
        page,
        flags=re.DOTALL,
    )
