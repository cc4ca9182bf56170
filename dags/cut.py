"""One Airflow DAG per pipeline: on its schedule, fold what the gate allows and publish it."""

from tidemark.scheduling.dags import build_cut_dags

build_cut_dags()
