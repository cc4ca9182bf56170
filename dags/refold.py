"""One Airflow DAG per pipeline: by hand, build a target again from the changelog."""

from tidemark.scheduling.dags import build_refold_dags

build_refold_dags()
