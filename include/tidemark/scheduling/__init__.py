"""Pipelines as Airflow DAGs: what is declared in a file becomes a graph of tasks."""

from tidemark.scheduling.dags import build_cut_dag

__all__ = ["build_cut_dag"]
