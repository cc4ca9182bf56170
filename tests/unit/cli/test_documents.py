"""Documents for programs say what the text for people says."""

from __future__ import annotations

from tidemark.cli.documents import PlanDocument, plan_document
from tidemark.model.cut import GateMode
from tidemark.model.names import ColumnName, PipelineName, TableName, TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.runs.preview import CutPreview, TablePreview


def test_a_plan_reads_back() -> None:
    table = TablePreview(
        TableName("shop", "orders"),
        "lake.orders",
        rows=3,
        held=1,
        losses={"at": "its zone"},
        inferred={ColumnName("n"): "bigint"},
        renamed_from="lake.sales",
        stopped="why",
    )
    preview = CutPreview(
        PipelineName("shop"),
        4,
        GateMode.NONE,
        is_idle=False,
        records=5,
        offsets={TopicPartition(TopicName("shop.orders"), 2): OffsetRange(7, 12)},
        tables=(table,),
        ignored={"shop.other": 2},
    )
    document = plan_document(preview)
    assert PlanDocument.model_validate_json(document.model_dump_json()) == document
    (planned,), (offsets,) = document.tables, document.offsets
    assert (planned.table, planned.rows, planned.held) == ("shop.orders", 3, 1)
    assert (planned.inferred, planned.stopped) == ({"n": "bigint"}, "why")
    assert (planned.target, planned.renamed_from) == ("lake.orders", "lake.sales")
    assert (offsets.topic, offsets.partition, offsets.start, offsets.end) == (
        *("shop.orders", 2),
        *(7, 12),
    )
    assert (document.cut, document.gate, document.ignored) == (4, "none", {"shop.other": 2})
