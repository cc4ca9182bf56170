"""Recorded topics go in, rows come out: python -m tests.corpus DIR...

Runs every case below the folders through the public functions of `tidemark.runs`, on a real
broker, a real Spark session and real Iceberg tables, and compares what is published with the rows
of the source at every stage. Nothing here shares code with what it judges: values, places and
positions are read by the rules of cases/README.md.
"""
