"""Reading from a broker that is not there."""

from __future__ import annotations

import time

import pytest

from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.topics import consume
from tidemark.topics.consume import SilentBrokerError


def test_a_broker_that_is_away_is_waited_for_and_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever waits is told once what is wrong, and not at each try to connect."""
    monkeypatch.setattr(consume, "SILENCE_SECONDS", 1)
    ranges = {TopicPartition(TopicName("t"), 0): OffsetRange(0, 9)}
    since = time.monotonic()
    with pytest.raises(SilentBrokerError, match=r"for 1 s; .*127\.0\.0\.1:1.*refused"):
        list(consume.consume("127.0.0.1:1", {}, ranges))
    assert time.monotonic() - since < 10
    assert capfd.readouterr().err == ""
