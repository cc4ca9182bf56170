"""One Airflow DAG per pipeline with snapshots: by hand, have a table read again."""

from tidemark.scheduling.dags import build_resync_dags

build_resync_dags()
