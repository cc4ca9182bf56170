"""Where an embedded installation keeps what it has, and the environment that says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from embedded.ports import HOST
from tidemark.spec.launch import SPARK_CONF

REPOSITORY = Path(__file__).parents[2]
INCLUDE = REPOSITORY / "include"
STATE = REPOSITORY / ".state"
JARS = STATE / "jars"


def embedded_environment(state: Path, servers: str, jars: Path = JARS) -> Mapping[str, str]:
    """The variables of an installation that keeps everything below ``state``.

    servers: address of the broker. jars: folder of all fetched sets. Every process that works with
    the installation needs them, Airflow and the command line alike.
    """
    home = state.resolve()
    return {
        "TIDEMARK_INSTALLATION": str(INCLUDE / "deploy" / "installation.embedded.yaml"),
        "TIDEMARK_PIPELINES": str(INCLUDE / "pipelines"),
        "TIDEMARK_EXPECTATIONS": str(INCLUDE / "expectations"),
        "TIDEMARK_KAFKA": servers,
        "TIDEMARK_CATALOG": f"sqlite:///{home / 'catalog.db'}",
        "TIDEMARK_WAREHOUSE": str(home / "warehouse"),
        "TIDEMARK_JARS": str(jars.resolve() / "spark"),
        "TIDEMARK_STATE": str(home),
        "SPARK_CONF_DIR": str(SPARK_CONF),
        "SPARK_LOCAL_IP": HOST,
    }
