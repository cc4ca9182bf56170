"""Addresses of the page, for logs and buttons of Airflow."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

from tidemark.model.names import PipelineName

PAGE = "/tidemark"


def data_docs_url(pipeline: PipelineName) -> str:
    """Where the page serves the Data Docs of a pipeline; empty where `api.base_url` is not set."""
    base: str = conf.get("api", "base_url", fallback="")
    return f"{base.rstrip('/')}{PAGE}/pipelines/{pipeline}/docs/" if base else ""


class DataDocsLink(BaseOperatorLink):
    """A button of a task, beside its log; it is not there where the address is not known."""

    name = "Data Docs"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The Data Docs of the pipeline that ``operator`` works for."""
        return data_docs_url(operator.op_kwargs["pipeline"])
