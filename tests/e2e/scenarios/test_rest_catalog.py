"""Whole cuts in a REST catalog: its server moves all tables of a cut, changes schemas and names."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from embedded.ports import HOST, free_ports
from tests.support.records import TABLE, ticdc_row, ticdc_watermark
from tests.support.renaming import FAMILIES, change_at_random, filled
from tests.support.rest_catalog import rest_block, running_rest_catalog
from tests.support.smoke import first_in_smoke
from tests.support.stack import Stream, reopened
from tidemark.errors import CatalogUnreachableError, SupersededError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.due import Due
from tidemark.lake.java_catalog import spark_catalog_conf
from tidemark.lake.ledger import StagedCut, find_cut
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, TargetRename, main_head
from tidemark.lake.removal import move_as_read, purge_as_read
from tidemark.lake.rest import TOGETHER, RestPublication
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.unfinished import in_order
from tidemark.model.names import TableName
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.erase import erase
from tidemark.runs.maintain import maintain
from tidemark.runs.plan import plan_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.run import CutRequest
from tidemark.runs.status import MOVED_SEPARATELY, pipeline_status
from tidemark.runs.world import World
from tidemark.spec import CatalogSpec


@pytest.fixture(scope="module")
def on_rest(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The same session and broker, and a catalog of another kind."""
    folder = tmp_path_factory.mktemp("rest")
    warehouse = str(folder / "warehouse")
    with running_rest_catalog(folder, warehouse) as uri:
        spec = CatalogSpec.model_validate({**rest_block(uri, warehouse), "name": "served"})
        for name, value in spark_catalog_conf(spec).items():
            world.spark.conf.set(name, value)
        yield reopened(world, catalog=spec)


def test_only_the_table_that_was_read_is_removed(on_rest: World) -> None:
    """PUB-8: a server drops by name, whichever table has it by now."""
    catalog, name = on_rest.catalog, TableId("removal", "items")
    catalog.create_namespace(name.namespace)
    rows = pa.table({"id": [1]})
    first = catalog.create_table(name.parts, rows.schema)
    catalog.load_table(name.parts).append(rows)
    assert not purge_as_read(catalog, name, first.metadata_location)
    catalog.drop_table(name.parts)
    assert not purge_as_read(catalog, name, first.metadata_location)
    second = catalog.create_table(name.parts, rows.schema)
    assert not move_as_read(catalog, name, first.metadata_location, TableId("removal", "b"))
    assert catalog.load_table(name.parts).metadata_location == second.metadata_location
    assert purge_as_read(catalog, name, second.metadata_location)
    assert catalog.list_tables(name.namespace) == []


def test_a_name_that_another_table_got_meanwhile_stays_its_own(
    on_rest: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-8, SCHEMA-31: a server renames by name, whichever table has it by now."""
    catalog, name, new = on_rest.catalog, TableId("naming", "a"), TableId("naming", "b")
    catalog.create_namespace(name.namespace)
    rows, commit = pa.table({"id": [1]}), RestPublication._commit
    table = catalog.create_table(name.parts, rows.schema)
    table.append(rows)
    at = main_head(table)
    assert at is not None

    def replaced_behind(publication: RestPublication, due: Sequence[Due]) -> None:
        commit(publication, due)
        catalog.drop_table(name.parts)
        catalog.create_table(name.parts, rows.schema).append(pa.table({"id": [7]}))

    monkeypatch.setattr(RestPublication, "_commit", replaced_behind)
    with pytest.raises(SupersededError):
        update_mains(catalog, [RefUpdate(name, at, at, rename=TargetRename(new))])
    assert catalog.list_tables(name.namespace) == [name.parts]
    assert catalog.load_table(name.parts).scan().to_arrow()["id"].to_pylist() == [7]


@pytest.mark.parametrize("family", first_in_smoke(*reversed(FAMILIES)))
def test_schemas_and_names_change_with_the_cut(on_rest: World, family: str) -> None:
    """PUB-13, SCHEMA-10, SCHEMA-31: a fork becomes the table, and tables exchange their names."""
    source = filled(on_rest, family, "a", "b")
    source.on("a").alter("ADD COLUMN extra bigint", added={"extra": ("bigint", None)})
    source.on("a").put(7, name="wider", extra=2**40)
    source.cut()
    source.rename(("a", "tmp"), ("b", "a"), ("tmp", "b"))
    source.on("b").put(8, name="under its new name", extra=1)
    source.on("a").delete(1)
    source.cut()
    source.send(source.sent)
    source.cut()


def test_refold_erasure_and_maintenance(on_rest: World) -> None:
    """PUB-13, REFOLD-1, ERASE-1: a new target takes the name of the old one, and what follows."""
    stream = Stream(on_rest).create()

    def cut(op: str, key: int, at: int, name: str) -> CutResult:
        stream.send([ticdc_row(op, key, at, name=name), ticdc_watermark(at + 1)])
        return stream.cut()

    cut("INSERT", 1, 100, "a")
    cut("INSERT", 2, 200, "b")
    before = on_rest.catalog.load_table((stream.name, "items")).metadata.table_uuid
    begin_refold(stream.pipeline, on_rest, TableName.parse(TABLE))
    cut("UPDATE", 1, 300, "c")
    assert on_rest.catalog.load_table((stream.name, "items")).metadata.table_uuid != before
    for number in range(6):
        cut("INSERT", 10 + number, 400 + 10 * number, "small file")
    done = {one.table: one for one in maintain(stream.pipeline, on_rest)}
    assert done[f"{stream.name}.items"].rewritten > 1
    cut("DELETE", 2, 480, "b")
    erased = erase(stream.pipeline, on_rest, TableName.parse(TABLE), [{"id": "2"}], "a test")
    assert erased.records == 2
    cut("DELETE", 10, 500, "small file")
    assert stream.rows() == {1: "c", **dict.fromkeys(range(11, 16), "small file")}


def test_a_half_published_cut_is_work_and_is_finished(on_rest: World) -> None:
    """PUB-13: also where nothing is unread; until then `status` says what readers may find."""
    stream = Stream(on_rest).create()
    stream.send([ticdc_row("INSERT", 1, 100, name="a"), ticdc_watermark(101)])
    attempt = stream.attempt()
    assert stage_cut(stream.pipeline, on_rest, CutRequest(attempt)).status is CutStatus.STAGED
    system = SystemTables.of(stream.pipeline.name)
    staged = find_cut(on_rest.catalog, system, attempt)
    assert isinstance(staged, StagedCut)
    update_mains(on_rest.catalog, in_order(on_rest.catalog, staged.ref_updates)[:1])
    assert stream.published() == []
    plan = plan_cut(stream.pipeline, on_rest)
    assert plan.has_work
    assert plan.sentence == f"the newest cut is published, and not in {stream.name}.items yet"
    assert stream.cut().status is CutStatus.IDLE
    assert stream.rows() == {1: "a"}
    assert not plan_cut(stream.pipeline, on_rest).has_work
    assert pipeline_status(stream.pipeline, on_rest).warnings == ()
    simple = reopened(on_rest)
    assert isinstance(simple.catalog, RestCatalog)
    simple.catalog._supported_endpoints = simple.catalog._supported_endpoints - {TOGETHER}
    assert pipeline_status(stream.pipeline, simple).warnings == (MOVED_SEPARATELY,)


def test_random_histories(on_rest: World, seed: int) -> None:
    """SCHEMA-31, PUB-13: whatever names pass, and whatever is sent again."""
    rng = random.Random(f"names by REST {seed}")  # noqa: S311  repeatable, not secret
    source = filled(on_rest, FAMILIES[seed % 2], "a", "b", "c")
    for _ in range(3):
        for _ in range(rng.randint(2, 8)):
            change_at_random(source, rng)
        if rng.random() < 0.3:
            source.send(source.sent)
        source.cut()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_server_that_does_not_serve_spark(on_rest: World, is_there: bool) -> None:
    """It is gone, or it does not know who asks: the run is tried again, and says why."""
    (port,) = free_ports(1)
    uri = on_rest.installation.catalog.uri if is_there else f"http://{HOST}:{port}"
    prefix = f"spark.sql.catalog.{'stranger' if is_there else 'gone'}"
    on_rest.spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    on_rest.spark.conf.set(f"{prefix}.type", "rest")
    on_rest.spark.conf.set(f"{prefix}.uri", uri)
    name = prefix.rpartition(".")[2]
    with pytest.raises(CatalogUnreachableError, match="did not serve"), spark_errors("a test"):
        on_rest.spark.table(f"{name}.db.t").collect()
