"""Tests, and the programs that run with them: python -m tests.corpus, python -m tests.bench."""
