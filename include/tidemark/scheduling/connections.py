"""Airflow's connections, and by them every secrets backend, for files that refer to them."""

from __future__ import annotations

import os
from contextlib import suppress

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from tidemark.model.names import PipelineName
from tidemark.spec import InstallationSpec, connections_of, load_installation
from tidemark.spec.references import connection_variable


def load_installation_for(pipeline: PipelineName) -> InstallationSpec:
    """The installation, in a process of Airflow's.

    The connections that it and the pipeline refer to are in the environment from then on: drivers
    that this process starts find them there, and nobody who lists processes does. `SpecError`
    as `load_installation` raises it, for a connection that Airflow does not have as well.
    """
    for name in connections_of(pipeline):
        with suppress(AirflowNotFoundException):
            connection = BaseHook.get_connection(name)
            os.environ[connection_variable(name)] = connection.as_json()
    return load_installation()
