"""What tests of DAGs share: an Airflow home of their own, and the DAGs as its parser finds them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

# Airflow reads its settings when it is imported, and test modules import it at their top.
HOME = tempfile.mkdtemp(prefix="tidemark-airflow-")
os.environ["AIRFLOW_HOME"] = HOME
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "false"


@pytest.fixture(scope="session", autouse=True)
def home_that_goes() -> Iterator[None]:
    yield
    shutil.rmtree(HOME)
