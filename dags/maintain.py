"""One Airflow DAG per pipeline: on its schedule, rewrite files and remove what is old."""

from tidemark.scheduling.dags import build_maintain_dags

build_maintain_dags()
