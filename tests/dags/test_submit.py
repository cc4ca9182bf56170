"""What spark-submit is given: as the order says, and never a secret."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidemark.errors import ActionRefusedError
from tidemark.model.names import AttemptId
from tidemark.model.until import Coordinate, Until
from tidemark.scheduling.submit import (
    FoldRequest,
    Submission,
    attempt_of,
    attempt_stem,
    cap_of,
    submission,
    tables_named,
    tag_of,
)
from tidemark.spec import InstallationSpec, PipelineSpec
from tidemark.spec.jvm import AVRO_LIMITS
from tidemark.spec.launch import LOCAL_FILES, archived_class_path

PIPELINE = PipelineSpec.model_validate(
    {
        "name": "shop",
        "description": "d",
        "owner": "o",
        "schedule": None,
        "source": {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["s"]}},
        "other-tables": "follow",
        "spark": {"conf": {"spark.driver.memory": "3g", "spark.executor.cores": 2}},
    }
)
SECRETS = {
    "catalog": "catalog-secret",
    "kafka": "kafka-secret",
    "store": "store-secret",
    "keystore": "keystore-secret",
    "bucket": "bucket-secret",
}
INSTALLATION = InstallationSpec.model_validate(
    {
        "kafka": {
            "bootstrap-servers": "k:9092",
            "properties": {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "tide",
                "sasl.password": SECRETS["kafka"],
            },
        },
        "catalog": {
            "name": "lake",
            "uri": "postgresql://db:5432/lake",
            "user": "lake",
            "password": SECRETS["catalog"],
            "warehouse": "s3://lake/warehouse",
            "s3": {
                "region": "here",
                "access-key-id": "me",
                "secret-access-key": SECRETS["bucket"],
            },
        },
        "spark": {
            "jars": "/opt/jars",
            "conf": {
                "spark.driver.memory": "1g",
                "spark.driver.extraJavaOptions": "-Xss4m",
                "spark.driver.keystore.password": SECRETS["keystore"],
                "spark.hadoop.fs.s3a.access.key": SECRETS["store"],
            },
        },
        "state": "/var/tidemark",
    }
)
ORDER = FoldRequest(
    AttemptId("run_3f9a1c_1"), "2026-01-01T00:10:00+00:00", ("s.a", "s.b,c"), "--why 'not' $HOME"
)


def submit(order: FoldRequest = ORDER) -> Submission:
    return submission(PIPELINE, INSTALLATION, order)


def test_order_reaches_the_job_word_for_word() -> None:
    assert submit().application_args == (
        "--pipeline=shop",
        "--attempt=run_3f9a1c_1",
        "--until=2026-01-01T00:10:00+00:00",
        "--table=s.a",
        "--table=s.b,c",
        "--reason=--why 'not' $HOME",
        "--result=/var/tidemark/results/shop/run_3f9a1c_1.json",
    )


def test_dry_run_leaves_its_result_elsewhere() -> None:
    """One that goes well ends no row of failed attempts."""
    order = FoldRequest(AttemptId("run_3f9a1c_1"), dry_run=True)
    assert submit(order).application_args[-2:] == (
        "--result=/var/tidemark/previews/shop/run_3f9a1c_1.json",
        "--dry-run",
    )


def test_jars_are_on_the_class_path_of_the_driver_and_those_of_s3_behind_all_others() -> None:
    assert submit().driver_class_path == f"{archived_class_path(Path('/opt/jars'))}:/opt/s3/*"


def test_settings_that_a_jvm_needs_to_start_are_given_and_no_others() -> None:
    assert submit().conf == {
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": f"{AVRO_LIMITS} -Xss4m",
        **LOCAL_FILES,
    }


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_no_secret_is_given(secret: str) -> None:
    assert secret not in repr(submit())


def test_same_order_same_arguments() -> None:
    assert submit() == submit()


@pytest.mark.parametrize(
    ("run_id", "stem"),
    [
        ("scheduled__2026-01-01T00:10:00+00:00", "scheduled_20260101t001000_3f9a1c"),
        ("manual__2026-11-21T14:03:05.123456+00:00_x", "manual_20261121t140305_12_3f9a1c"),
        ("Zürich / Nachtlauf!", "z_rich_nachtlauf_3f9a1c"),
        ("…", "_3f9a1c"),
    ],
)
def test_attempt_is_named_after_its_run(run_id: str, stem: str) -> None:
    assert attempt_stem(run_id, "3f9a1c") == stem
    assert len(attempt_of(stem, 999)) <= 40


END = datetime(2026, 1, 2, tzinfo=UTC)
NOON = Until.at_time(datetime(2026, 1, 1, 12, tzinfo=UTC))
TSO = "458911423758336001"


@pytest.mark.parametrize(
    ("asked", "run_type", "cap"),
    [
        pytest.param(None, "scheduled", Until.at_time(END), id="schedule: its interval"),
        pytest.param(None, "backfill", Until.at_time(END), id="backfill: its interval"),
        pytest.param(None, "manual", None, id="by hand: as far as it can"),
        pytest.param(None, "asset_triggered", None, id="by an asset: as far as it can"),
        pytest.param("2026-01-01T12:00:00Z", "backfill", NOON, id="asked"),
        pytest.param("2026-01-01T12:00:00Z", "manual", NOON, id="by form"),
        pytest.param("2026-01-01T12:00", "manual", NOON, id="without zone"),
        pytest.param(TSO, "manual", Until(Coordinate.COMMIT, int(TSO), TSO), id="a position"),
        pytest.param(TSO, "backfill", Until(Coordinate.COMMIT, int(TSO), TSO), id="asked for it"),
    ],
)
def test_cap(asked: str | None, run_type: str, cap: Until | None) -> None:
    assert cap_of(PIPELINE, asked, run_type, END) == cap


@pytest.mark.parametrize(
    ("form", "run_type", "tag"),
    [
        pytest.param({}, "backfill", "asof_20260102T0000", id="backfill: its interval"),
        pytest.param({}, "scheduled", "", id="schedule: nobody asked"),
        pytest.param({}, "manual", "", id="by hand"),
        pytest.param({"until": TSO}, "backfill", "", id="not to the end of its interval"),
        pytest.param({"tables": ["s.a"]}, "backfill", "", id="not all tables"),
        pytest.param({"dry_run": True}, "backfill", "", id="nothing is published"),
    ],
)
def test_tag(form: dict[str, object], run_type: str, tag: str) -> None:
    """PUB-14."""
    untouched = {"until": None, "tables": None, "reason": None, "dry_run": False}
    assert tag_of({**untouched, **form}, run_type, END) == tag
    named = submit(FoldRequest(AttemptId("run_3f9a1c_1"), tag=tag)).application_args
    assert [f"--tag={tag}"] * bool(tag) == [arg for arg in named if arg.startswith("--tag")]


def test_cap_of_another_source_is_refused() -> None:
    with pytest.raises(ActionRefusedError, match="'0/16B3748' cannot cap a run of pipeline shop"):
        cap_of(PIPELINE, "0/16B3748", "manual", None)


def test_a_form_names_tables_with_their_database() -> None:
    """POISON-6: what is no name is refused before a job is started."""
    assert tables_named(None) == []
    assert tables_named(["s.a", "s.b,c"]) == ["s.a", "s.b,c"]
    with pytest.raises(ActionRefusedError, match=r"^'orders' is no DATABASE\.TABLE"):
        tables_named(["s.a", "orders"])


def test_results_are_kept_apart() -> None:
    first = submit().application_args[-1]
    again = submit(FoldRequest(AttemptId("run_3f9a1c_2"))).application_args[-1]
    assert Path(first).parent == Path(again).parent
    assert first != again
