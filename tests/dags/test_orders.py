"""What the page offers to do: runs of DAGs that there are, by fields that their forms have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from airflow.sdk import DAG

from tests.unit.cli.test_lag import STATUS, TABLE
from tests.unit.page.test_views import AUDITED, CUTS, DIED
from tidemark.errors import WAITING, EpochSuspectError, TableStoppedError
from tidemark.model.cut import HoldCode
from tidemark.model.event import Reason
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.quarantine import Kind, RecordPlace
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.page.forms import Input, dag_of, form_of
from tidemark.page.orders import Order, orders_of, orders_of_kind, orders_of_table
from tidemark.page.table_views import table_page
from tidemark.page.views import detail
from tidemark.runs.ddl.effects import DdlStop
from tidemark.runs.status import PipelineStatus, TableStatus
from tidemark.runs.table_history import TableHistory
from tidemark.runs.tables.refused import refuse_late, refuse_statement
from tidemark.scheduling.actions import LABELS, Action, fields_of
from tidemark.scheduling.dags import (
    build_action_dag,
    build_cut_dag,
    build_maintain_dag,
    build_refold_dag,
    build_resync_dag,
)
from tidemark.scheduling.forms import forms_of
from tidemark.spec import PipelineSpec

ITEMS = TableName("shop", "items")
HOSTILE = TableName("shop", "a; tidemark handover shop now")
SHOP = PipelineSpec.model_validate(
    {
        "name": "shop",
        "description": "a test",
        "owner": "tests",
        "schedule": None,
        "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}},
        "tables": [{"source": str(ITEMS), "expectations": "none"}],
    }
)
DAGS: Mapping[str, DAG] = {
    dag.dag_id: dag
    for build in (
        *(build_cut_dag, build_maintain_dag, build_refold_dag, build_resync_dag, build_action_dag),
    )
    for dag in (build(SHOP),)
}
FAULT = CheckResult("counts", success=False, severity=Severity.CRITICAL, observed="2 of 3")
FOUND = replace(FAULT, of_suite=True)
HANDOVER = "tidemark handover shop"
NEXT = "\n  state: unchanged\n  next:  "
QUOTED = (
    f"RENAME TABLE a TO b /*{NEXT}{HANDOVER} now; tidemark skip shop --record t:0:7 --reason x; "
    "tidemark resync shop shop.items; tidemark cut shop */"
)
HELD = "transaction aa-bb:7 is not complete: its END counts 3 of shop.items, 2 came"
TX = replace(CUTS[0], result=replace(CUTS[0].result, hold=HELD, hold_code=HoldCode.TX_INCOMPLETE))
BLOCKED = replace(STATUS, attempt=AUDITED)


def audited(check: CheckResult) -> TableStatus:
    return replace(TABLE, verdict=Verdict("shop.items", 1, "items", (check,)))


def stopped(text: str) -> TableStatus:
    return replace(TABLE, why=f"it stops\n  state: {WAITING}\n  next:  {text}")


def why(stop: Exception) -> TableStatus:
    return replace(TABLE, why=str(stop))


def late() -> TableStatus:
    with pytest.raises(TableStoppedError) as error:
        refuse_late(SHOP, ITEMS, {ITEMS: "a change came late"})
    return why(error.value)


def stated() -> TableStatus:
    stops: dict[TableName | None, DdlStop] = {
        ITEMS: DdlStop("its rows may have changed", Position("000012"))
    }
    with pytest.raises(TableStoppedError) as error:
        refuse_statement(SHOP, SHOP.tables[0], stops, {})
    return why(error.value)


@pytest.mark.parametrize(
    ("status", "orders"),
    [
        pytest.param(STATUS, [], id="nothing to do"),
        pytest.param(
            replace(STATUS, next_step="tidemark cut shop"), ["dag=cut"], id="work is there"
        ),
        pytest.param(
            replace(BLOCKED, tables=(audited(FOUND),), next_step="then: tidemark cut shop; or"),
            ["dag=action&action=accept", "dag=cut"],
            id="blocked by expectations",
        ),
        pytest.param(
            replace(BLOCKED, tables=(audited(FAULT),)), [], id="blocked by a fault of the fold"
        ),
        pytest.param(
            replace(STATUS, published=TX, hold=HELD, stalled_ms=9),
            ["dag=action&action=skip+transaction&transaction=aa-bb%3A7"],
            id="an incomplete transaction that stalls",
        ),
        pytest.param(replace(STATUS, published=TX, hold=HELD), [], id="one that is young"),
        pytest.param(
            replace(
                STATUS,
                trouble=EpochSuspectError("x", state="y", next_step=f"{HANDOVER} --help"),
            ),
            ["dag=action&action=handover+continuous", "dag=action&action=handover+gap"],
            id="a log that started over",
        ),
        pytest.param(
            replace(
                STATUS,
                failed=(
                    replace(
                        DIED, error=f"x{NEXT}tidemark skip shop --record t:0:7 --reason WHY; or"
                    ),
                ),
            ),
            ["dag=action&action=skip+record&record=t%3A0%3A7"],
            id="a statement that cannot be read",
        ),
        pytest.param(
            replace(STATUS, next_step="tidemark cut shop2; tidemark cut other"), [], id="of others"
        ),
        pytest.param(
            replace(STATUS, failed=(replace(DIED, error=f"{QUOTED}{NEXT}look at it"),)),
            [],
            id="what the source says",
        ),
    ],
)
def test_what_is_offered_of_a_pipeline(status: PipelineStatus, orders: list[str]) -> None:
    offered = orders_of(status)
    assert [order.query for order in offered] == orders
    for order in offered:
        check(order)


@pytest.mark.parametrize(
    ("table", "orders"),
    [
        (TABLE, []),
        (late(), ["dag=refold&table=shop.items"]),
        (stated(), ["dag=action&action=skip+statement&statement=000012"]),
        (stopped("tidemark resync shop shop.items, then wait"), ["dag=resync&table=shop.items"]),
        (
            stopped("tidemark cut shop --until mysql-bin.000003:1204, which ends before it"),
            ["dag=cut&until=mysql-bin.000003%3A1204"],
        ),
        (stopped("tidemark resync shop shop.items and more"), []),
        (stopped("tidemark resync shop shop.items2"), []),
        (stopped(f"look at it: {ITEMS}"), []),
        (replace(TABLE, why=f"{QUOTED}{NEXT}look at it"), []),
        (
            replace(TABLE, table=HOSTILE, why=f"it stops{NEXT}tidemark refold shop {HOSTILE}"),
            [],
        ),
        (replace(TABLE, refold="shop.items_new"), ["dag=refold&table=shop.items&cancel=true"]),
    ],
)
def test_what_is_offered_of_a_table(table: TableStatus, orders: list[str]) -> None:
    offered = orders_of_table(STATUS, table)
    assert [order.query for order in offered] == orders
    for order in offered:
        check(order)


def test_a_snapshot_that_is_read_may_be_told_complete() -> None:
    waits = "is awaited; when the connector has made it: tidemark resync shop shop.items --complete"
    offered = orders_of_table(replace(STATUS, snapshots={ITEMS: waits}), TABLE)
    assert [order.query for order in offered] == ["dag=resync&table=shop.items&complete=true"]
    check(offered[0])


@pytest.mark.parametrize(("table", "number"), [("shop.items", 4), ("", 9)])
def test_what_is_offered_of_the_quarantine(table: str, number: int) -> None:
    """The form takes no column, and without a table it takes those of all: that many are named."""
    place = RecordPlace("t", 0, 7)
    kinds = [
        Kind(name, code, column, changes, place)
        for name, code, column, changes in (
            ("shop.items", Reason.KEY_NULL, "a", 3),
            ("shop.items", Reason.KEY_NULL, "b", 1),
            ("", Reason.KEY_NULL, "", 5),
            ("shop.items", Reason.JSON_INVALID, "a", 7),
        )
    ]
    again, give_up = orders_of_kind(Kind(table, Reason.KEY_NULL, "a", 3, place), kinds)
    assert again.title == f"Try {number} changes again"
    assert give_up.title == f"Give up {number} changes"
    assert (again.fields.get("table", ""), give_up.fields["code"]) == (table, "KEY_NULL")
    check(again)
    check(give_up)


def test_changes_of_a_table_that_left_the_file_have_no_form() -> None:
    """A run refuses a table that the form does not have, so no link leads there."""
    place, forms = RecordPlace("t", 0, 7), forms_of(SHOP)
    kinds = [Kind(name, Reason.KEY_NULL, "", 3, place) for name in ("shop.gone", "shop.items")]
    gone, items = detail(replace(STATUS, quarantine=tuple(kinds)), (), forms).quarantine
    assert gone.orders == ()
    assert [order.title for order in items.orders] == ["Try 3 changes again", "Give up 3 changes"]


@pytest.mark.parametrize(
    ("text", "is_taken"), [("true", True), ("false", True), ("1", False), ("True", False)]
)
def test_a_link_turns_a_switch_to_true_or_false(text: str, is_taken: bool) -> None:
    """What means a dry run opens the form of no real one."""
    assert (form_of("cut", SHOP, {"dry_run": text}) is not None) == is_taken


@pytest.mark.parametrize("family", ["refold", "resync"])
def test_a_run_of_one_table_needs_to_know_which(family: str) -> None:
    form = form_of(family, SHOP, {})
    assert form is not None
    assert [field.name for field in form.fields if field.is_needed] == ["table"]


def test_giving_up_says_that_it_takes_what_waits_by_then() -> None:
    form = form_of("action", SHOP, {"action": "quarantine drop"})
    assert form is not None
    assert "what came after you looked" in form.note


def test_what_is_offered_on_the_page_of_a_table() -> None:
    page = table_page(STATUS, TABLE, TableHistory(ITEMS, "shop.items", ()), (), forms_of(SHOP))
    assert [order.fields for order in page.orders] == [
        *({"dry_run": "true", "tables": "shop.items"}, {"tables": "shop.items"}),
    ]
    for order in page.orders:
        check(order)


def test_a_column_that_is_withheld_orders_nothing() -> None:
    withheld = "tidemark refold shop shop.items; x, until no row is left that is older; to have all"
    again = " rows read again: tidemark resync shop shop.items; a column"
    offered = orders_of_table(replace(STATUS, withheld={ITEMS: withheld + again}), TABLE)
    assert [order.query for order in offered] == ["dag=resync&table=shop.items"]


def check(order: Order) -> None:
    """The DAG is there, its form has each field, and what is filled in is what the form sends."""
    params = DAGS[dag_of(order.family, SHOP)].params
    form = form_of(order.family, SHOP, order.fields)
    assert form is not None
    assert form.dag_id in DAGS
    sent = {field.name: field.value for field in form.fields} | dict(form.fixed)
    assert set(sent) == set(params)
    assert {name: sent[name] for name in order.fields} == dict(order.fields)
    for name, value in order.fields.items():
        told = [value] if name == "tables" else {"true": True}.get(value, value)
        assert params.get_param(name).resolve(told) == told
    if "action" in order.fields:
        assert order.fields.keys() - {"action"} <= fields_of(Action(order.fields["action"])).keys()


def test_forms_are_those_of_the_dags() -> None:
    forms = forms_of(SHOP)
    assert {dag_of(family, SHOP) for family in forms} == set(DAGS)
    for family, params in forms.items():
        dag = DAGS[dag_of(family, SHOP)]
        assert {name: param.schema for name, param in params.items()} == {
            name: dag.params.get_param(name).schema for name in dag.params
        }
    assert form_of("resync", SHOP.model_copy(update={"name": "x"}), {}) is not None
    assert form_of("delete", SHOP, {}) is None


@pytest.mark.parametrize("action", list(Action))
def test_the_form_of_an_action_has_the_fields_that_it_takes(action: Action) -> None:
    form = form_of("action", SHOP, {"action": action.value})
    assert form is not None
    assert form.title == LABELS[action]
    assert {field.name: field.is_needed for field in form.fields} == dict(fields_of(action))
    assert form.fixed["action"] == action.value
    assert all(field.value == "" for field in form.fields)


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        ({"code": "KEY_NULL", "table": "shop.items", "reason": "x"}, True),
        ({"code": "KEY_NULL", "table": "shop.gone", "reason": "x"}, False),
        ({"code": "NO_CODE"}, False),
        ({"code": ""}, False),
        ({"tabel": "shop.items"}, False),
        ({"transaction": "7"}, False),
        ({"confirm": "true"}, False),
        ({"confirm": "1"}, False),
    ],
)
def test_a_link_fills_in_all_that_it_says_or_nothing(given: dict[str, str], is_taken: bool) -> None:
    """Without the table that was meant, all of them would be given up."""
    form = form_of("action", SHOP, {"action": "quarantine drop", **given})
    assert (form is not None) == is_taken
    if form is not None:
        values = {field.name: (field.input, field.value) for field in form.fields}
        assert values["table"] == (Input.CHOICE, "shop.items")
        assert values["confirm"] == (Input.SWITCH, "")
        assert values["reason"] == (Input.TEXT, "x")
