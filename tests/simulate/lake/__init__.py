"""Cuts, maintenance and orders beside one another, on a catalog and an object store in memory.

What Tidemark decides is the product's: which moves of main are stale, what they commit, which refs
go, what of a table is due. What Iceberg's procedures and the catalog do is a model of them. Steps
interleave anywhere: between two files, and between what a publication reads and its swap.
"""
