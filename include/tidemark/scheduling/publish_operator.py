"""The task that publishes, and tells OpenLineage's provider what it read and wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.python import PythonOperator

from tidemark.scheduling.tasks import published_lineage

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk.types import RuntimeTaskInstanceProtocol


class PublishOperator(PythonOperator):
    """Publishes what fold staged."""

    def get_openlineage_facets_on_complete(
        self, task_instance: RuntimeTaskInstanceProtocol
    ) -> OperatorLineage[Any, Any]:
        """The topics and their offsets, the tables and their snapshots."""
        return published_lineage(self.op_kwargs["pipeline"], task_instance)
