"""The task that waits for somebody where expectations block a cut."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException

from tidemark.scheduling.shown import code
from tidemark.scheduling.tasks import accept, findings
from tidemark.scheduling.xcom import FOLD, Folded
from tidemark.spec import PipelineSpec

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidemark.model.verdict import Verdict

PUBLISH, DISCARD = "Publish", "Discard"
REASON = Param(
    None,
    type=["null", "string"],
    maxLength=500,
    title="Reason",
    description="Why the findings are right; kept with the verdicts.",
)
"""The field of the answer's form, for ``params`` of the task."""


class AskOperator(HITLOperator):
    """Asks whether a cut is published though critical expectations failed.

    Succeeds at once where none did. Discard, or no answer in time, fails the run; the cut stays
    staged until a later run removes it.
    """

    def __init__(self, *, pipeline: PipelineSpec, **arguments: Any) -> None:
        wait = timedelta(minutes=pipeline.limits.task_timeout)
        super().__init__(
            subject=f"Expectations block a cut of {pipeline.name}",
            options=[PUBLISH, DISCARD],
            response_timeout=wait,
            execution_timeout=None,
            retries=0,
            **arguments,
        )
        self.pipeline = pipeline.name

    def execute(self, context: Context) -> None:
        """Ask, with what was found, where something was."""
        folded: Folded = context["ti"].xcom_pull(task_ids=FOLD)
        verdicts = findings(self.pipeline, folded)
        if not verdicts:
            return
        self.subject = f"Expectations block cut {folded['cut']} of {self.pipeline}"
        self.body = _body(verdicts)
        super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Publish as somebody answered, or fail."""
        answer = super().execute_complete(context, event)
        who = (answer["responded_by_user"] or {}).get("name") or "somebody"
        if answer["chosen_options"] != [PUBLISH]:
            raise AirflowFailException(_not_published(f"{who} discarded the cut"))
        reason = (answer["params_input"] or {}).get("reason") or "no reason given"
        folded: Folded = context["ti"].xcom_pull(task_ids=FOLD)
        accept(self.pipeline, folded, f"{reason} ({who}, in Airflow)")
        return {"accepted_by": who, "reason": reason}

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        """Nobody has answered."""
        if event["error_type"] == "timeout":
            raise AirflowFailException(_not_published("nobody has answered in time"))
        super().process_trigger_event_error(event)


def _body(verdicts: tuple[Verdict, ...]) -> str:
    rows = [
        f"| {code(verdict.table)} | {code(check.name)} | {code(check.observed)} |"
        for verdict in verdicts
        for check in verdict.failures
    ]
    return "\n".join(
        [
            f"{PUBLISH} the cut, or {DISCARD.lower()} it. No table changes until then.",
            "",
            "| table | expectation | found |",
            "| --- | --- | --- |",
            *rows,
        ]
    )


def _not_published(why: str) -> str:
    return (
        f"the cut is not published: {why}\n"
        "  state: main of every table is as it was; the staged branches are kept\n"
        "  next:  fix the data or the suite, then trigger the DAG again"
    )
