"""No DAG: Airflow shows what this file raises, the faults of pipeline files that have none.

The DAGs of all other pipelines are in ``cut.py`` and go on.
"""

from tidemark.spec import load_pipelines

load_pipelines()
