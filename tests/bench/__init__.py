"""Measures of the product beside what it is compared with, in one session of one machine.

`python -m tests.bench --help` tells how to run it, docs/performance.md what the figures mean.
"""
