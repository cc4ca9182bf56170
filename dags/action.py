"""One Airflow DAG per pipeline: by hand, decide what cuts wait for."""

from tidemark.scheduling.dags import build_action_dags

build_action_dags()
