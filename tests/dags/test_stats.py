"""What goes out through Airflow's own metrics, as a StatsD server takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics.stats_utils import get_stats_factory
from structlog.testing import capture_logs

from tests.support.statsd import StatsdServer, statsd_server
from tidemark.model.metrics import CUTS, QUARANTINED_BY_CODE, TABLE_FRESHNESS, Sample
from tidemark.model.names import PipelineName
from tidemark.scheduling.stats import are_sent, send
from tidemark.scheduling.tasks import tell_metrics

# Airflow's client leaves its socket to the garbage.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
SAMPLES = (
    Sample(TABLE_FRESHNESS, ("shop", "shop.items"), 90.5),
    Sample(QUARANTINED_BY_CODE, ("shop", "", "KEY_NULL"), 3),
    Sample(QUARANTINED_BY_CODE, ("shop", "a,b=c d|e:f\nü", "KEY_NULL"), 4),
    Sample(CUTS, ("shop",), 7),
)
SHOP: Any = PipelineName("shop")
NO_CONTEXT: Any = {}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatsdServer]:
    """The server that Airflow's own client of this process sends to."""
    with statsd_server() as server:
        for name, text in server.settings.items():
            monkeypatch.setenv(name, text)
        initialize()
        yield server
        monkeypatch.undo()
        initialize()


def initialize() -> None:
    """As Airflow does when a task begins."""
    stats.initialize(factory=get_stats_factory(), export_legacy_names=False)


def test_labels_follow_names_where_there_are_no_tags(server: StatsdServer) -> None:
    send(SAMPLES)
    assert server.awaited("tidemark_cuts_total.shop", 7) == {
        "tidemark_table_freshness_seconds.shop.shop__items": 90.5,
        "tidemark_quarantined_changes_by_code.shop.KEY_NULL": 3,
        "tidemark_quarantined_changes_by_code.shop.a_b_c_d_e_f__.KEY_NULL": 4,
        "tidemark_cuts_total.shop": 7,
    }


def test_labels_are_tags_where_airflow_writes_them(
    server: StatsdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
    initialize()
    send(SAMPLES)
    assert server.awaited("tidemark_cuts_total,pipeline=shop", 7) == {
        "tidemark_table_freshness_seconds,pipeline=shop,table=shop.items": 90.5,
        "tidemark_quarantined_changes_by_code,pipeline=shop,code=KEY_NULL": 3,
        "tidemark_quarantined_changes_by_code,pipeline=shop,table=a_b_c_d_e_f__,code=KEY_NULL": 4,
        "tidemark_cuts_total,pipeline=shop": 7,
    }


def test_nothing_is_read_where_airflow_sends_nothing() -> None:
    assert not are_sent()
    with capture_logs() as logs:
        tell_metrics(SHOP, NO_CONTEXT)
    assert logs == []


@pytest.mark.usefixtures("server")
def test_a_task_ends_as_it_did_where_no_metrics_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIDEMARK_PIPELINES", "/nowhere")
    with capture_logs() as logs:
        tell_metrics(SHOP, NO_CONTEXT)
    assert [line["event"] for line in logs] == ["metrics_not_sent"]


def test_a_task_ends_as_it_did_where_the_backend_is_broken(
    server: StatsdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_HOST", "no.such.host.invalid")
    initialize()
    send(SAMPLES)
    assert server.gauges == {}
