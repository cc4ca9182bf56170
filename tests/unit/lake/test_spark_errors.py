"""What tasks that read from Kafka raise, as the driver hears it, in the words of Tidemark."""

from __future__ import annotations

import traceback

import pytest
from pyspark.errors import PySparkException, PythonException

from tidemark.errors import BrokerUnreachableError, DataLossError, TidemarkError
from tidemark.lake.spark_errors import spark_errors
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.topics import consume
from tidemark.topics.consume import READ_ERRORS, SilentBrokerError

IN_A_TASK = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times\n{}\n\tat org.apache"
)


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (
            "java.util.concurrent.TimeoutException: Cannot fetch record for offset 5 in 120000 "
            "milliseconds",
            BrokerUnreachableError,
            "the broker did not answer, during the landing",
        ),
        (
            "org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired before "
            "the position for partition t-0 could be determined",
            BrokerUnreachableError,
            "the broker did not answer, during the landing",
        ),
        (
            "tidemark.topics.consume.SilentBrokerError: nothing came from t-0 for 120 s; "
            "last error of the client: refused",
            BrokerUnreachableError,
            "the broker did not answer, during the landing: nothing came from t-0 for 120 s; "
            "last error of the client: refused",
        ),
        (
            "tidemark.topics.consume.RecordsGoneError: t-0: fetch failed",
            DataLossError,
            "records were deleted from the topic while they were read, during the landing: t-0: "
            "fetch failed",
        ),
    ],
    ids=["Spark", "Java", "silence", "retention"],
)
def test_what_a_task_raises_is_told(raised: str, kind: type[TidemarkError], said: str) -> None:
    with pytest.raises(kind) as told, spark_errors("the landing"):
        raise PySparkException(IN_A_TASK.format(raised))
    assert told.value.what == said


def test_what_the_driver_raises_itself_is_told_alike() -> None:
    with pytest.raises(BrokerUnreachableError) as told, spark_errors("the landing", *READ_ERRORS):
        raise SilentBrokerError("nothing came from t-0 for 120 s")
    assert told.value.what.endswith(": nothing came from t-0 for 120 s")


def test_the_traceback_of_a_task_says_what_its_client_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver has all of it as text; what was raised first stands first."""
    monkeypatch.setattr(consume, "SILENCE_SECONDS", 1)
    ranges = {TopicPartition(TopicName("t"), 0): OffsetRange(0, 9)}
    with pytest.raises(SilentBrokerError) as raised:
        list(consume.consume("127.0.0.1:1", {}, ranges))
    text = "".join(traceback.format_exception(raised.value))
    with (
        pytest.raises(BrokerUnreachableError, match=r"last error .*127\.0\.0\.1:1.*refused"),
        spark_errors("the landing"),
    ):
        raise PythonException(f"An exception was thrown from the Python worker.\n{text}")
