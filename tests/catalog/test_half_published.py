"""PUB-13: a REST server that stops in the midst of a publication leaves nothing wrong for long."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from tests.support.compaction import rewrite
from tests.support.staged_cut import (
    PIPELINE,
    ROWS,
    SYSTEM,
    TARGETS,
    missing_files,
    rows,
    stage,
)
from tidemark.errors import ForeignChangeError, OutcomeUnknownError, SupersededError
from tidemark.lake.catalog import TableId
from tidemark.lake.ledger import StagedCut, find_cut, read_progress, record_action
from tidemark.lake.marks import PUBLISHED
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import Displaced, RefUpdate, TargetRename, create_branch, main_head
from tidemark.lake.rest import TOGETHER
from tidemark.lake.unfinished import finish_publication, in_order, missing_moves
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.publish import publication, publish_cut
from tidemark.runs.world import World

pytestmark = pytest.mark.parametrize("uri", ["rest"], indirect=True)
FIRST, SECOND, THIRD = (AttemptId(f"try_{number}") for number in (1, 2, 3))
EIGHT = "asof_20261124T0800"
A, B = TARGETS
IN_DB = PIPELINE.model_copy(update={"target_namespace": A.namespace})


def moves(world: World, attempt: AttemptId) -> tuple[RefUpdate, ...]:
    staged = find_cut(world.catalog, SYSTEM, attempt)
    assert isinstance(staged, StagedCut)
    return in_order(world.catalog, staged.ref_updates)


@pytest.mark.parametrize("has_fork", [False, True])
@pytest.mark.parametrize("made", [1, 2])
def test_the_next_run_makes_the_rest(world: World, made: int, has_fork: bool) -> None:
    stage(world, SECOND, 1, [2])
    stage(world, FIRST, 1, [1], has_fork=has_fork)
    update_mains(world.catalog, moves(world, FIRST)[:made])
    assert [rows(world, table) for table in TARGETS] == [[1] if made == 2 else [], []]
    with pytest.raises(SupersededError):
        publish_cut(PIPELINE, world, SECOND)
    finish_publication(world.catalog, SYSTEM)
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
    assert publish_cut(PIPELINE, world, FIRST).status is CutStatus.PUBLISHED
    assert missing_files(world) == []


def tag_half(world: World, made: int) -> None:
    """A cut that changes A alone and tags both, of which the first ``made`` moves are made."""
    stage(world, SECOND, 1, [7])
    publish_cut(PIPELINE, world, SECOND)
    stage(world, FIRST, 2, [1], tables=[A], tag=EIGHT)
    staged = find_cut(world.catalog, SYSTEM, FIRST)
    assert isinstance(staged, StagedCut)
    update_mains(world.catalog, publication(staged, IN_DB, world, SYSTEM)[:made])
    assert [EIGHT in refs(world, table) for table in TARGETS] == [made == 2, False]


@pytest.mark.parametrize("made", [1, 2])
def test_the_next_run_tags_the_rest(world: World, made: int) -> None:
    """PUB-14: also what the cut left where it was; what somebody removes since stays away."""
    tag_half(world, made)
    missing = [move.table for move in missing_moves(world.catalog, SYSTEM)]
    assert missing == [A][made - 1 :], "a plan and a status look for no tags"
    finish_publication(world.catalog, SYSTEM)
    assert [refs(world, table)[EIGHT] for table in TARGETS] == [head(world, t) for t in TARGETS]
    assert [rows(world, table) for table in TARGETS] == [[1, 7], [7]]
    world.catalog.load_table(B.parts).manage_snapshots().remove_tag(EIGHT).commit()
    finish_publication(world.catalog, SYSTEM)
    assert EIGHT not in refs(world, B)
    stage(world, THIRD, 3, [2], has_fork=True)
    assert publish_cut(IN_DB, world, THIRD).status is CutStatus.PUBLISHED
    assert EIGHT in refs(world, A)
    assert [rows(world, table) for table in TARGETS] == [[1, 2, 7], [2, 7]]


def write(world: World) -> None:
    world.catalog.load_table(B.parts).append(pa.table({"id": [9]}, schema=ROWS))


def rewrite_and_expire(world: World) -> None:
    before = head(world, B)
    rewrite(world.catalog, B)
    world.catalog.load_table(B.parts).maintenance.expire_snapshots().by_id(before).commit()


def make_anew(world: World) -> None:
    world.catalog.drop_table(B.parts)
    write_to = world.catalog.create_table(B.parts, ROWS)
    write_to.append(pa.table({"id": [9]}, schema=ROWS))


def garble(world: World) -> None:
    with world.catalog.load_table(B.parts).transaction() as change:
        change.set_properties({PUBLISHED: "{"})


@pytest.mark.parametrize("touch", [write, rewrite_and_expire, make_anew, garble])
def test_a_tag_that_nothing_can_give_any_more_stops_no_other_table(
    world: World, touch: Callable[[World], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """PUB-14: the table stays as somebody left it, and the log says why it has no tag."""
    tag_half(world, 1)
    touch(world)
    place = world.catalog.load_table(B.parts).metadata_location
    finish_publication(world.catalog, SYSTEM)
    assert "tag_left_out" in capfd.readouterr().out
    assert world.catalog.load_table(B.parts).metadata_location == place
    assert refs(world, A)[EIGHT] == head(world, A)
    stage(world, THIRD, 3, [2], tables=[A])
    assert publish_cut(PIPELINE, world, THIRD).status is CutStatus.PUBLISHED
    assert rows(world, A) == [1, 2, 7]


def test_main_stays_at_files_that_were_rewritten_before_the_tag(world: World) -> None:
    """PUB-14: the tag shows the snapshot that was published, which has the same rows."""
    tag_half(world, 2)
    before = head(world, B)
    rewrite(world.catalog, B)
    finish_publication(world.catalog, SYSTEM)
    assert (refs(world, B)[EIGHT], head(world, B)) == (before, before + 1)


def test_a_branch_that_somebody_made_meanwhile_stays(world: World) -> None:
    """PUB-14: with what was written to it; the other tables have their tag."""
    tag_half(world, 1)
    for table in TARGETS:
        create_branch(world.catalog.load_table(table.parts), EIGHT, head(world, table))
        loaded = world.catalog.load_table(table.parts)
        loaded.append(pa.table({"id": [9]}, schema=ROWS), branch=EIGHT)
    before = [refs(world, table)[EIGHT] for table in TARGETS]
    for _ in range(2):
        finish_publication(world.catalog, SYSTEM)
        assert [refs(world, table)[EIGHT] for table in TARGETS] == before
        assert [rows(world, table) for table in TARGETS] == [[1, 7], [7]]


def test_a_branch_that_somebody_makes_at_that_moment_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-14: the server refuses what was asked before there was one."""
    tag_half(world, 2)
    commit: Callable[..., object] = world.catalog.commit_table

    def beaten(*asked: object) -> object:
        monkeypatch.undo()
        create_branch(world.catalog.load_table(B.parts), EIGHT, head(world, B))
        loaded = world.catalog.load_table(B.parts)
        loaded.append(pa.table({"id": [9]}, schema=ROWS), branch=EIGHT)
        return commit(*asked)

    monkeypatch.setattr(world.catalog, "commit_table", beaten)
    finish_publication(world.catalog, SYSTEM)
    assert refs(world, B)[EIGHT] != head(world, B)
    assert rows(world, B) == [7]


def refs(world: World, table: TableId) -> dict[str, int]:
    loaded = world.catalog.load_table(table.parts)
    return {name: ref.snapshot_id for name, ref in loaded.refs().items()}


def head(world: World, table: TableId) -> int:
    return refs(world, table)["main"]


@pytest.mark.parametrize("killed", [None, "register_table", "drop_table"])
def test_a_fork_takes_its_place_beside_another_attempt(
    world: World, monkeypatch: pytest.MonkeyPatch, killed: str | None
) -> None:
    """It wrote to a branch since; killed: before the table is back, or at the end."""
    stage(world, FIRST, 1, [1], has_fork=True)
    stage(world, SECOND, 1, [2])
    uuid = world.catalog.load_table(B.parts).metadata.table_uuid
    update_mains(world.catalog, moves(world, FIRST)[:2])
    if killed is not None:
        with monkeypatch.context() as patched:
            number = 2 if killed == "drop_table" else 1
            patched.setattr(world.catalog, killed, dying_at(number, getattr(world.catalog, killed)))
            with pytest.raises(OutcomeUnknownError):
                finish_publication(world.catalog, SYSTEM)
    finish_publication(world.catalog, SYSTEM)
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
    assert world.catalog.load_table(B.parts).metadata.table_uuid == uuid
    assert "tidemark.fork-of" not in world.catalog.load_table(B.parts).properties
    stage(world, SECOND, 2, [2], has_fork=True)
    assert publish_cut(PIPELINE, world, SECOND).status is CutStatus.PUBLISHED
    assert [rows(world, table) for table in TARGETS] == [[1, 2], [1, 2]]
    assert missing_files(world) == []


def test_publishing_again_makes_the_rest(world: World) -> None:
    stage(world, FIRST, 1, [1], has_fork=True)
    update_mains(world.catalog, moves(world, FIRST)[:1])
    assert publish_cut(PIPELINE, world, FIRST).status is CutStatus.PUBLISHED
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]


def test_an_order_does_not_make_it_forget(world: World) -> None:
    stage(world, FIRST, 1, [1])
    update_mains(world.catalog, moves(world, FIRST)[:1])
    record_action(world.catalog, SYSTEM, lambda progress: progress, "an order")
    finish_publication(world.catalog, SYSTEM)
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
    assert read_progress(world.catalog, SYSTEM).cut == 1


def test_a_stranger_between_is_named(world: World) -> None:
    """Nothing is published over what they wrote; once that is undone, the cut is finished."""
    stage(world, FIRST, 1, [1])
    update_mains(world.catalog, moves(world, FIRST)[:2])
    table = world.catalog.load_table(B.parts)
    before = main_head(table)
    table.append(pa.table({"id": [9]}, schema=ROWS))
    with pytest.raises(
        ForeignChangeError, match=r"db\.b lacks the newest published cut, and has other rows"
    ):
        finish_publication(world.catalog, SYSTEM)
    assert rows(world, B) == [9]
    assert before is not None
    world.catalog.load_table(B.parts).manage_snapshots().set_current_snapshot(before).commit()
    finish_publication(world.catalog, SYSTEM)
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]


def test_what_was_finished_is_left_alone(world: World) -> None:
    """Also when main of a target moved on since, or its snapshot is expired."""
    stage(world, FIRST, 1, [1], has_fork=True)
    publish_cut(PIPELINE, world, FIRST)
    table = world.catalog.load_table(A.parts)
    head = main_head(table)
    assert head is not None
    create_branch(table, "later", head)
    table.refresh().append(pa.table({"id": [2]}, schema=ROWS), branch="later")
    later = table.refs()["later"].snapshot_id
    update_mains(world.catalog, [RefUpdate(A, head, later, ("later",))])
    finish_publication(world.catalog, SYSTEM)
    assert [rows(world, table) for table in TARGETS] == [[1, 2], [1]]
    table.refresh().maintenance.expire_snapshots().by_id(head).commit()
    finish_publication(world.catalog, SYSTEM)
    assert rows(world, A) == [1, 2]


def test_a_fork_with_another_layout(world: World) -> None:
    """Its schema, partition spec and sort order become the table's, under the same ids."""
    stage(world, FIRST, 1, [1], has_fork=True)
    place = next(move.place for move in moves(world, FIRST) if move.fork is not None)
    fork = world.catalog.load_table(place.parts)
    with fork.update_schema() as columns:
        columns.add_column("more", LongType())
    with fork.update_spec() as spec:
        spec.add_identity("more")
    with fork.update_sort_order() as order:
        order.asc("id", IdentityTransform())
    assert publish_cut(PIPELINE, world, FIRST).status is CutStatus.PUBLISHED
    target = world.catalog.load_table(B.parts)
    assert (target.schema(), target.spec()) == (fork.schema(), fork.spec())
    assert target.sort_order() == fork.sort_order()
    assert rows(world, B) == [1]


def test_server_that_moves_one_table_at_a_time(world: World) -> None:
    """It has no request for several; the ledger goes first, and all of them follow."""
    assert isinstance(world.catalog, RestCatalog)
    world.catalog._supported_endpoints = world.catalog._supported_endpoints - {TOGETHER}
    stage(world, FIRST, 1, [1], has_fork=True)
    assert publish_cut(PIPELINE, world, FIRST).status is CutStatus.PUBLISHED
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]


def swapped(world: World) -> tuple[RefUpdate, ...]:
    """A cut in which A and B exchange their names, and B gets another schema."""
    stage(world, FIRST, 1, [1], has_fork=True)
    ledger, first, second = moves(world, FIRST)
    renamed = (
        replace(first, rename=TargetRename(B)),
        replace(second, rename=TargetRename(A)),
    )
    return in_order(world.catalog, (*renamed, ledger))


def moved_up(world: World) -> tuple[RefUpdate, ...]:
    """A cut in which B takes the name of A, and A that of a table C, which is displaced."""
    catalog = world.catalog
    third = TableId("db", "c")
    catalog.create_table(third.parts, ROWS).append(pa.table({"id": [7]}, schema=ROWS))
    stage(world, FIRST, 1, [1])
    ledger, first, second = moves(world, FIRST)
    metadata = catalog.load_table(third.parts).metadata_location
    aside = TargetRename(third, Displaced(metadata, TableId("db", "c_aside")))
    renamed = {A: aside, B: TargetRename(A)}
    updates = [replace(move, rename=renamed[move.table]) for move in (first, second)]
    return in_order(catalog, (*updates, ledger))


def dying_at(number: int, call: Callable[..., object]) -> Callable[..., object]:
    """``call``, until the connection breaks before its ``number``-th time."""
    counted = itertools.count(1)

    def called(*given: object) -> object:
        if next(counted) == number:
            raise requests.ConnectionError("the server is gone")
        return call(*given)

    return called


def publish_until(
    world: World, monkeypatch: pytest.MonkeyPatch, updates: Sequence[RefUpdate], number: int
) -> None:
    """Publish, and have the connection break before the ``number``-th new name."""
    with monkeypatch.context() as patched:
        patched.setattr(world.catalog, "rename_table", dying_at(number, world.catalog.rename_table))
        with pytest.raises(OutcomeUnknownError):
            update_mains(world.catalog, updates)


@pytest.mark.parametrize("number", range(1, 6))
def test_names_move_up_in_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Two tables leave their names, one is displaced, two take names: killed before each."""
    updates = moved_up(world)
    publish_until(world, monkeypatch, updates, number)
    for _ in range(2):
        finish_publication(world.catalog, SYSTEM)
        named = {name[-1] for name in world.catalog.list_tables("db")}
        assert named == {"a", "c", "c_aside"}
        found = [rows(world, TableId("db", name)) for name in ("a", "c", "c_aside")]
        assert found == [[1], [1], [7]]


@pytest.mark.parametrize("number", range(1, 5))
def test_names_are_swapped_in_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Both leave their names, both take the other's: killed before each."""
    updates = swapped(world)
    before = [world.catalog.load_table(table.parts).metadata.table_uuid for table in TARGETS]
    publish_until(world, monkeypatch, updates, number)
    for _ in range(2):
        finish_publication(world.catalog, SYSTEM)
        after = [world.catalog.load_table(table.parts).metadata.table_uuid for table in TARGETS]
        assert after == before[::-1]
        assert [rows(world, table) for table in TARGETS] == [[1], [1]]


@pytest.mark.parametrize("made", [1, 2])
def test_names_are_swapped_from_the_beginning(world: World, made: int) -> None:
    """The server stopped before it renamed anything, and another attempt was staged since."""
    updates = swapped(world)
    stage(world, SECOND, 1, [2])
    before = [world.catalog.load_table(table.parts).metadata.table_uuid for table in TARGETS]
    only_mains = [replace(update, rename=None) for update in updates[1:made]]
    update_mains(world.catalog, [updates[0], *only_mains])
    finish_publication(world.catalog, SYSTEM)
    after = [world.catalog.load_table(table.parts).metadata.table_uuid for table in TARGETS]
    assert after == before[::-1]
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]


def with_another_schema(world: World) -> tuple[RefUpdate, ...]:
    """A cut that gives A a row, and B nothing but a column."""
    stage(world, FIRST, 1, [1], has_fork=True)
    ledger, first, second = moves(world, FIRST)
    assert second.fork is not None
    with world.catalog.load_table(second.place.parts).update_schema() as columns:
        columns.add_column("more", LongType())
    assert second.base is not None
    second = replace(second, snapshot=second.base)
    return in_order(world.catalog, (first, second, ledger))


def test_a_schema_alone_is_not_taken_for_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCHEMA-10: main of the table stands where it is to stand; the reply is lost."""
    updates = with_another_schema(world)

    def half_made(*_: object) -> None:
        monkeypatch.undo()
        update_mains(world.catalog, updates[:2])
        raise OutcomeUnknownError("no reply", state="", next_step="")

    monkeypatch.setattr("tidemark.lake.rest._post", half_made)
    with pytest.raises(OutcomeUnknownError):
        update_mains(world.catalog, updates)
    assert world.catalog.load_table(B.parts).schema().column_names == ["id"]
    for _ in range(2):
        finish_publication(world.catalog, SYSTEM)
        assert world.catalog.load_table(B.parts).schema().column_names == ["id", "more"]
    assert not world.catalog.table_exists(updates[2].place.parts)


@pytest.mark.parametrize("has_rows", [False, True])
def test_a_fork_that_is_gone_is_named(world: World, has_rows: bool) -> None:
    """PUB-13: the cut is published, and nothing can make the rest of it."""
    updates = with_another_schema(world)
    if has_rows:
        updates = moves(world, FIRST)
    update_mains(world.catalog, updates[:2])
    world.catalog.drop_table(updates[2].place.parts)
    for _ in range(2):
        with pytest.raises(ForeignChangeError, match=r"db\.b lacks the .* its fork .* is gone"):
            finish_publication(world.catalog, SYSTEM)
    world.catalog.drop_table(B.parts)
    finish_publication(world.catalog, SYSTEM)
