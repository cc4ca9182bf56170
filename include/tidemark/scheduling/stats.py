"""Metrics through Airflow's own, to StatsD, DataDog or OpenTelemetry, as Airflow is set up."""

from __future__ import annotations

from collections.abc import Iterable

from airflow.sdk.configuration import conf
from airflow.sdk.observability.stats import gauge, normalize_name_for_stats

from tidemark.model.metrics import Sample

DATADOG, STATSD, OPEN_TELEMETRY = "statsd_datadog_enabled", "statsd_on", "otel_on"


def are_sent() -> bool:
    """Whether Airflow sends metrics anywhere."""
    return any(conf.getboolean("metrics", name) for name in (DATADOG, STATSD, OPEN_TELEMETRY))


def send(samples: Iterable[Sample]) -> None:
    """Send each of ``samples`` as a gauge with its labels for tags.

    StatsD knows no tags: there the labels follow the name, unless Airflow writes them as InfluxDB
    does.
    """
    is_statsd = conf.getboolean("metrics", STATSD) and not conf.getboolean("metrics", DATADOG)
    has_tags = not is_statsd or conf.getboolean("metrics", "statsd_influxdb_enabled")
    for sample in samples:
        name, tags = sample.metric.name, sample.tags
        if is_statsd:
            tags = {label: _plain(text) for label, text in tags.items() if text}
        if not has_tags:
            name = ".".join((name, *(text.replace(".", "__") for text in tags.values())))
        gauge(name, sample.value, tags=tags)


def _plain(text: str) -> str:
    """``text`` in the characters that StatsD takes; what comes from topics may be anything."""
    return normalize_name_for_stats(text, log_warning=False)
