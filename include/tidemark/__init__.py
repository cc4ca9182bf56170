"""Tidemark folds change-data-capture topics into Iceberg tables, one consistent cut at a time."""

__version__ = "0.1.0"
