"""Where the micro-batches of a case end."""

from __future__ import annotations

import random

from tests.corpus.cases import Case, Stage


def batches_of(
    case: Case, more_cuts: int, rng: random.Random
) -> tuple[tuple[int, Stage | None], ...]:
    """How many lines have been sent by the end of each batch, and the stage compared there.

    One batch ends at every stage, ``more_cuts`` at random places between, as far as there are any.
    """
    inner = set(range(1, case.stages[-1].end)) - {stage.end for stage in case.stages}
    random_ends = rng.sample(sorted(inner), min(more_cuts, len(inner)))
    ends: list[tuple[int, Stage | None]] = [(end, None) for end in random_ends]
    ends += [(stage.end, stage) for stage in case.stages]
    return tuple(sorted(ends, key=lambda batch: batch[0]))
