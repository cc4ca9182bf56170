"""What a broker tells, as the client's own answers have it."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AclOperation,
    TopicDescription,
)

from tidemark.model.names import TopicName
from tidemark.topics.client import rights_of


def told(operations: list[str | int | AclOperation] | None) -> Future[TopicDescription]:
    future: Future[TopicDescription] = Future()
    future.set_result(TopicDescription("shop", Uuid(0, 1), False, [], operations))
    return future


def refused(code: int) -> Future[TopicDescription]:
    future: Future[TopicDescription] = Future()
    future.set_exception(KafkaException(KafkaError(code)))
    return future


def test_rights_that_a_broker_does_not_tell_are_unknown() -> None:
    answers = {
        "a": told([AclOperation.READ, AclOperation.DESCRIBE]),
        "b": told(None),
        "c": refused(KafkaError._UNSUPPORTED_FEATURE),
    }
    assert rights_of(answers) == {TopicName("a"): {"READ", "DESCRIBE"}}


def test_another_error_is_one() -> None:
    with pytest.raises(KafkaException):
        rights_of({"a": refused(KafkaError.TOPIC_AUTHORIZATION_FAILED)})
