"""What an operator declares: pipelines, expectation suites and the installation."""

from tidemark.spec.audit import NO_SUITE, ExpectationSpec, Scope, SuiteSpec
from tidemark.spec.changelog import ChangelogSpec
from tidemark.spec.editors import pipeline_json_schema, suite_json_schema
from tidemark.spec.installation import (
    CatalogSpec,
    CatalogType,
    InstallationSpec,
    SparkSpec,
)
from tidemark.spec.kafka import KafkaSpec
from tidemark.spec.load import (
    connections_of,
    load_installation,
    load_pipeline,
    load_pipelines,
    load_suite,
    pipeline_files,
    pipeline_named,
    sound_pipelines,
)
from tidemark.spec.modes import ModesSpec
from tidemark.spec.pipeline import (
    Approval,
    Consistency,
    LimitsSpec,
    OnDrop,
    OnStop,
    OtherTables,
    PipelineSpec,
    PublishSpec,
    Reconciling,
    SnapshotsSpec,
    SparkConfSpec,
    WhenStalled,
)
from tidemark.spec.registry import AvroSpec, RegistrySpec
from tidemark.spec.s3 import S3Spec
from tidemark.spec.source import SourceFormat, SourceSpec
from tidemark.spec.table import ColumnPolicy, TableSpec, TruncatePolicy
from tidemark.spec.topics import TopicsSpec, is_pattern, selects

__all__ = [
    "NO_SUITE",
    "Approval",
    "AvroSpec",
    "CatalogSpec",
    "CatalogType",
    "ChangelogSpec",
    "Consistency",
    "ExpectationSpec",
    "InstallationSpec",
    "KafkaSpec",
    "LimitsSpec",
    "OnDrop",
    "OnStop",
    "ModesSpec",
    "OtherTables",
    "PipelineSpec",
    "PublishSpec",
    "Reconciling",
    "RegistrySpec",
    "S3Spec",
    "Scope",
    "SnapshotsSpec",
    "SourceFormat",
    "SourceSpec",
    "SparkConfSpec",
    "SparkSpec",
    "SuiteSpec",
    "TableSpec",
    "TopicsSpec",
    "ColumnPolicy",
    "TruncatePolicy",
    "WhenStalled",
    "is_pattern",
    "connections_of",
    "load_installation",
    "load_pipeline",
    "load_pipelines",
    "load_suite",
    "pipeline_files",
    "pipeline_json_schema",
    "pipeline_named",
    "sound_pipelines",
    "selects",
    "suite_json_schema",
]
