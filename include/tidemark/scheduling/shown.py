"""What a source calls its things, in Airflow's pages."""

from __future__ import annotations


def code(text: str) -> str:
    """``text`` as code in a Markdown table, whatever a source calls its tables."""
    escaped = text.replace("|", "\\|").replace("`", "'")
    return f"`{escaped}`"
