"""The tag that a run was asked for: whether the cut that it stages is to give it (PUB-14)."""

from __future__ import annotations

from tidemark.gate.as_of import why_not_as_of
from tidemark.lake.ledger import newest_tag
from tidemark.log import get_logger
from tidemark.model.progress import Progress
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run

log = get_logger()


def due_tag(run: Run, chosen: Chosen, after: Progress) -> str:
    """The tag that every target is to get with the cut; empty where none is asked for, or due.

    after: progress once the cut is published. A cut that changes nothing is worth its tag, once.
    """
    tag = run.request.tag
    if tag is None or _why_not(run, chosen, after):
        return ""
    return "" if newest_tag(run.world.catalog, run.system) == tag else tag


def tell_untagged(run: Run, chosen: Chosen, after: Progress) -> None:
    """Say why no table gets the tag that the run was asked for, where that is so."""
    if why := _why_not(run, chosen, after):
        log.warning("cut_not_tagged", tag=run.request.tag, why=why)


def _why_not(run: Run, chosen: Chosen, after: Progress) -> str:
    asked = run.request
    if asked.tag is None or asked.until is None:
        return ""
    return why_not_as_of(asked.until, chosen.decision, after)
