"""Whole histories of a source, its connector, the broker and Tidemark, thousands a minute.

The database, the connectors and the broker are models. What decides (gates, zones, reduction,
progress) is the product's own code; only its engine is SQLite instead of Spark.
"""
