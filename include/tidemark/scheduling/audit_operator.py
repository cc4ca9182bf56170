"""The task that reads the audit of a cut, and asks somebody where the file or the run says so."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException

from tidemark.scheduling.links import DataDocsLink
from tidemark.scheduling.shown import code
from tidemark.scheduling.tasks import accept, audit, audited_lineage
from tidemark.scheduling.xcom import FOLD, Folded
from tidemark.spec import PipelineSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context
    from airflow.sdk.types import RuntimeTaskInstanceProtocol

    from tidemark.model.verdict import Verdict

PUBLISH, DISCARD = "Publish", "Discard"
REASON = Param(
    None,
    type=["null", "string"],
    maxLength=500,
    title="Reason",
    description="Why it is right to publish; kept with the verdicts where expectations failed.",
)
"""The field of the answer's form, for ``params`` of the task."""


class AuditOperator(HITLOperator):
    """Reads what the audit of a staged cut found.

    Its result is the tables by outcome, or who answered and why. Waits for an answer where critical
    expectations failed and the file says that somebody is asked, and where the form of the run says
    that its cut is held. Discard, or no answer in time, fails the run; the cut stays staged until a
    later run, which folds the same records again, removes it. A try that fails behind an answer
    asks once more.
    """

    operator_extra_links = (DataDocsLink(),)

    def __init__(self, *, pipeline: PipelineSpec, **arguments: Any) -> None:
        super().__init__(
            subject=f"A cut of {pipeline.name} waits",
            options=[PUBLISH, DISCARD],
            response_timeout=timedelta(minutes=pipeline.limits.task_timeout),
            **arguments,
        )
        self.pipeline = pipeline.name

    def execute(self, context: Context) -> dict[str, int] | None:
        """Fail where the audit blocks and nobody is asked; ask where somebody is to decide."""
        outcomes, blocking = audit(self.pipeline, context["ti"])
        if not blocking and not context["params"]["hold"]:
            return outcomes
        folded: Folded = context["ti"].xcom_pull(task_ids=FOLD)
        cut = f"cut {folded['cut']} of {self.pipeline}"
        self.subject = f"Expectations block {cut}" if blocking else f"{cut} is held"
        self.body = _body(outcomes, blocking)
        super().execute(context)  # It does not come back: the task waits.
        return None

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Let the cut be published as somebody answered, or fail."""
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

    def get_openlineage_facets_on_complete(
        self, task_instance: RuntimeTaskInstanceProtocol
    ) -> OperatorLineage[Any, Any]:
        """The tables, and what each check found; asked for behind an audit that blocks, too."""
        return audited_lineage(self.pipeline, task_instance)


def _body(outcomes: dict[str, int], blocking: Sequence[Verdict]) -> str:
    rows = [
        f"| {code(verdict.table)} | {code(check.name)} | {code(check.observed)} |"
        for verdict in blocking
        for check in verdict.failures
    ]
    table = ["| table | expectation | found |", "| --- | --- | --- |", *rows]
    audited = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items() if number)
    return "\n".join(
        [
            f"{PUBLISH} the cut, or {DISCARD.lower()} it. No table changes until then. A later "
            "run folds the records of a discarded cut again: pause the DAG where it may not.",
            "",
            *(table if rows else [f"Tables by outcome of their audit: {audited or 'none'}."]),
        ]
    )


def _not_published(why: str) -> str:
    return (
        f"the cut is not published: {why}\n"
        "  state: main of every table is as it was; the staged branches are kept\n"
        "  next:  fix the data or the suite, then trigger the DAG again; pause it where no run may "
        "publish these records, as the next one folds them again"
    )
