"""One Airflow DAG per pipeline: on its schedule, fold what the gate allows and publish it."""

from tidemark.scheduling.dags import build_cut_dag
from tidemark.spec import sound_pipelines

for pipeline in sound_pipelines():
    build_cut_dag(pipeline)
