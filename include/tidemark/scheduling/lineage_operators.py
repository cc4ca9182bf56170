"""The tasks that audit and publish, and tell OpenLineage's provider what they read and wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.python import PythonOperator

from tidemark.scheduling.links import DataDocsLink
from tidemark.scheduling.tasks import audited_lineage, published_lineage

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk.types import RuntimeTaskInstanceProtocol


class AuditOperator(PythonOperator):
    """Reads staged snapshots. The provider asks it behind an audit that blocks, too."""

    operator_extra_links = (DataDocsLink(),)

    def get_openlineage_facets_on_complete(
        self, task_instance: RuntimeTaskInstanceProtocol
    ) -> OperatorLineage[Any, Any]:
        """The tables, and what each check found."""
        return audited_lineage(self.op_kwargs["pipeline"], task_instance)


class PublishOperator(PythonOperator):
    """Publishes what fold staged."""

    def get_openlineage_facets_on_complete(
        self, task_instance: RuntimeTaskInstanceProtocol
    ) -> OperatorLineage[Any, Any]:
        """The topics and their offsets, the tables and their snapshots."""
        return published_lineage(self.op_kwargs["pipeline"], task_instance)
