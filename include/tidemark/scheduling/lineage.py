"""Lineage as OpenLineage has it, for Airflow's provider: datasets and their facets.

What is imported here comes with the extra ``lineage``; nothing but the provider has it called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    symlinks_dataset,
)

from tidemark.model.column_rules import Mask
from tidemark.model.lineage import AuditedTable, PublishedCut, PublishedTable
from tidemark.model.offsets import OffsetRange, Ranges
from tidemark.model.verdict import CheckResult, Severity
from tidemark.spec import InstallationSpec

_SEVERITIES: Mapping[Severity, str] = {Severity.CRITICAL: "error", Severity.WARNING: "warn"}
_MASKS: Mapping[Mask | None, str] = {
    None: "IDENTITY",
    Mask.HASH: "MASKED",
    Mask.REDACT: "MASKED",
}


def lineage_of_cut(
    cut: PublishedCut, read: Ranges, installation: InstallationSpec
) -> OperatorLineage[Any, Any]:
    """Topics that the run has read, and the tables that it published. read: which offsets."""
    broker = _broker(installation)
    spans: dict[str, dict[int, OffsetRange]] = {place.topic: {} for place in cut.ends}
    for place, span in read.items():
        spans.setdefault(place.topic, {})[place.partition] = span
    return OperatorLineage(
        inputs=[_topic(broker, topic, of_topic) for topic, of_topic in sorted(spans.items())],
        outputs=[_published(table, broker, installation) for table in cut.tables],
    )


def lineage_of_audit(
    tables: tuple[AuditedTable, ...], installation: InstallationSpec
) -> OperatorLineage[Any, Any]:
    """The staged snapshots that an audit has read, and what it found in each."""
    return OperatorLineage(inputs=[_audited(table, installation) for table in tables])


def _topic(broker: str, topic: str, spans: Mapping[int, OffsetRange]) -> InputDataset:
    read = {partition: span for partition, span in sorted(spans.items()) if span.count}
    if not read:
        return InputDataset(broker, topic)
    version = ",".join(f"{partition}:{span.start}-{span.end}" for partition, span in read.items())
    records = sum(span.count for span in read.values())
    return InputDataset(
        broker,
        topic,
        facets={"version": dataset_version_dataset.DatasetVersionDatasetFacet(version)},
        inputFacets={
            "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                rowCount=records
            )
        },
    )


def _published(table: PublishedTable, broker: str, installation: InstallationSpec) -> OutputDataset:
    facets = _table_facets(table.target, table.snapshot_id, installation)
    facets["schema"] = schema_dataset.SchemaDatasetFacet(
        fields=[
            schema_dataset.SchemaDatasetFacetFields(name=name, type=kind)
            for name, kind in table.types.items()
        ]
    )
    if table.topic:
        facets["columnLineage"] = _columns(table, broker)
    return OutputDataset(
        *_place(table.location),
        facets=facets,
        outputFacets={
            "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=table.rows
            )
        },
    )


def _columns(
    table: PublishedTable, broker: str
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """A column that is left out has no entry; of one that is masked, that it is."""
    fields = {}
    for name, origin in table.origins.items():
        made = column_lineage_dataset.Transformation(
            type="DIRECT",
            subtype="TRANSFORMATION" if origin.mask else "IDENTITY",
            description=origin.mask.value if origin.mask else "",
            masking=origin.mask is not None,
        )
        source = column_lineage_dataset.InputField(
            broker, table.topic, origin.column, transformations=[made]
        )
        fields[name] = column_lineage_dataset.Fields(
            [source], transformationType=_MASKS[origin.mask]
        )
    return column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields)


def _audited(table: AuditedTable, installation: InstallationSpec) -> InputDataset:
    verdict = table.verdict
    assertions = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        assertions=[_assertion(check) for check in verdict.checks]
    )
    return InputDataset(
        *_place(table.location),
        facets=_table_facets(table.target, verdict.snapshot_id, installation),
        inputFacets={"dataQualityAssertions": assertions},
    )


def _assertion(check: CheckResult) -> data_quality_assertions_dataset.Assertion:
    """Counts alone, as verdicts hold no values."""
    return data_quality_assertions_dataset.Assertion(
        assertion=check.name,
        success=check.success,
        severity=_SEVERITIES[check.severity],
        actual=check.observed,
    )


def _table_facets(
    target: str, snapshot_id: int, installation: InstallationSpec
) -> dict[str, DatasetFacet]:
    catalog = f"iceberg://{installation.catalog.name}"
    named = symlinks_dataset.Identifier(catalog, target, "TABLE")
    return {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(str(snapshot_id)),
        "symlinks": symlinks_dataset.SymlinksDatasetFacet(identifiers=[named]),
    }


def _broker(installation: InstallationSpec) -> str:
    """The first server stands for the cluster: OpenLineage has one name for a topic."""
    return f"kafka://{installation.kafka.bootstrap_servers.split(',')[0].strip()}"


def _place(location: str) -> tuple[str, str]:
    """Namespace and name of a table, as OpenLineage's integration of Spark has them."""
    url = urlsplit(location)
    if url.scheme in ("", "file"):
        return "file", url.path
    return f"{url.scheme}://{url.netloc}", url.path.lstrip("/")
