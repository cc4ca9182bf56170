"""Which topics a pipeline reads, by role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from tidemark.spec.base import BrokenRule, SpecModel

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def is_pattern(selector: str) -> bool:
    """Whether ``selector`` is a regular expression and not the exact name of a topic."""
    return selector.startswith("^")


def selects(selector: str, topic: str) -> bool:
    """Whether ``selector`` means ``topic``; a regular expression must match the whole name.

    >>> selects("^dbserver1[.]inventory[.].*", "dbserver1.inventory.orders")
    True
    """
    if is_pattern(selector):
        return re.fullmatch(selector, topic) is not None
    return selector == topic


def _topic_selector(text: str) -> str:
    if is_pattern(text):
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"a regular expression: {error}") from error
    elif _TOPIC.fullmatch(text) is None or text in {".", ".."}:
        raise ValueError(
            "the name of a topic (letters, digits, '.', '_', '-'), "
            "or a regular expression that starts with ^"
        )
    return text


TopicSelector = Annotated[str, AfterValidator(_topic_selector)]


class TopicsSpec(SpecModel):
    """Topics by role: exact names, or regular expressions that start with ^ and match whole names.

    A topic that a regular expression finds later joins at its beginning.
    """

    data: tuple[TopicSelector, ...] = Field(
        min_length=1,
        description="topics that carry rows; with Canal and TiCDC also DDL and watermarks",
    )
    schema_changes: tuple[TopicSelector, ...] = Field(
        default=(),
        description="Debezium's schema-change topic, named like its topic prefix; of PostgreSQL "
        "the topic of logical messages, <topic.prefix>.message, once the database has what "
        "`tidemark sources postgres-ddl` prints",
    )
    transactions: tuple[TopicSelector, ...] = Field(
        default=(), description="Debezium's transaction topic, for gate transaction"
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Each topic has one role."""
        roles = {
            "data": self.data,
            "schema-changes": self.schema_changes,
            "transactions": self.transactions,
        }
        patterns = [name for name in self.data if is_pattern(name)]
        seen: set[str] = set()
        for role, names in roles.items():
            for index, name in enumerate(names):
                claims = [pattern for pattern in patterns if selects(pattern, name)]
                if name in seen:
                    yield BrokenRule((role, index), repr(name), "each topic once, in one role")
                elif claims and role != "data":
                    yield BrokenRule(
                        (role, index),
                        repr(name),
                        f"a topic with one role: the data pattern {claims[0]!r} matches it too",
                    )
                seen.add(name)
