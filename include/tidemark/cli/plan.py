"""`tidemark plan`: what the next cut would hold, and why it stops there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tidemark.cli.arguments import AsJson, Pipeline, Until, load_named

if TYPE_CHECKING:
    from rich.console import Console

    from tidemark.runs.preview import CutPreview

SHOWN_PARTITIONS = 12


def plan(pipeline: Pipeline, until: Until = None, *, as_json: AsJson = False) -> None:
    """Show what the next cut would hold; change nothing.

    It reads what is unread, and tells why the cut would stop where it does.
    """
    from tidemark.cli.console import stdout
    from tidemark.cli.session import spark_world
    from tidemark.spec.until import until_of

    spec = load_named(pipeline)
    cap = until_of(spec, until)
    with spark_world(spec, "reading what is unread") as world:
        from tidemark.runs.preview import preview_cut

        preview = preview_cut(spec, world, until=cap)
    if as_json:
        from tidemark.cli.documents import plan_document

        typer.echo(plan_document(preview).model_dump_json())
        return
    show_preview(stdout(), preview)


def show_preview(console: Console, preview: CutPreview) -> None:
    """Print what a cut would hold: a row per table, and what to know of the rest."""
    from tidemark.cli.console import columns, facts, put, stopped_tables
    from tidemark.model.shown import plural
    from tidemark.schema.changes import describe

    if preview.is_idle:
        console.print(f"{preview.pipeline}: there would be no new cut", style="bold")
        facts(console, ("because", preview.hold or "nothing is unread and nothing waits"))
        return
    console.print(f"{preview.pipeline}: next is cut {preview.cut}", style="bold")
    if preview.tables:
        table = columns(
            console,
            "table",
            "in the cut",
            "held",
            "truncate",
            "schema",
            right=("in the cut", "held"),
        )
        for row in preview.tables:
            renamed = [f"renamed from {row.renamed_from}"] if row.renamed_from else []
            rewritten = [f"rewrites {plural(row.rewritten, 'row')}"] if row.rewritten else []
            displaced = [f"the old one becomes {row.displaced}"] if row.displaced else []
            changes = [*renamed, *displaced, *map(describe, row.changes), *rewritten]
            schema = "stopped" if row.stopped else ", ".join(changes)
            truncate = "yes" if row.is_truncated else ""
            table.add_row(row.target, f"{row.rows:,}", f"{row.held:,}", truncate, schema)
        console.print()
        put(console, table)
        console.print()
    stopped_tables(console, {str(row.table): row.stopped for row in preview.tables if row.stopped})
    left = f"; {plural(preview.left, 'offset')} stay for later runs" if preview.left else ""
    facts(
        console,
        ("lands", plural(preview.records, "record") + left),
        ("unreadable", f"{preview.unreadable:,} quarantined" if preview.unreadable else ""),
        ("goes to", _reach(preview)),
        ("order", _order(preview)),
        ("holds at", preview.hold),
        ("truncates", preview.truncates),
        ("statements", preview.statements),
        ("masked", preview.masked),
        ("no key", _without_key(preview)),
        ("lossy", _losses(preview)),
        ("inferred", _inferred(preview)),
        ("not folded", ", ".join(f"{rows:,} of {name}" for name, rows in preview.ignored.items())),
        ("next", _next(preview)),
    )


def _reach(preview: CutPreview) -> str:
    """Source time where the gate tells it, else the offsets that the cut settles."""
    from tidemark.model.cut import GateMode
    from tidemark.model.shown import clock

    if preview.gate is not GateMode.NONE:
        at = preview.complete_until_ms
        return f"{clock(at)} UTC, source time" if at else "nowhere yet"
    spans = [f"{place}: {span.start} to {span.end}" for place, span in preview.offsets.items()]
    more = len(spans) - SHOWN_PARTITIONS
    return "\n".join(spans[:SHOWN_PARTITIONS]) + (f"\nand {more} partitions" if more > 0 else "")


def _order(preview: CutPreview) -> str:
    """Said where it is not the rule: without positions a repeat cannot be told from news."""
    from tidemark.model.position import OrderedBy

    if preview.ordered_by is not OrderedBy.OFFSET:
        return ""
    return "no positions in the records: ordered by the offset of their one partition"


def _without_key(preview: CutPreview) -> str:
    """Said where it is not the rule: what tells rows apart."""
    from tidemark.model.names import few

    names = [row.target for row in preview.tables if not row.has_key]
    what = "a delete takes away one row that is equal in all columns, an update exchanges one"
    return f"{few(names)}: {what}" if names else ""


def _losses(preview: CutPreview) -> str:
    """What records lack already, and what would have the source send it."""
    return "\n".join(
        f"{row.target}.{column} lacks {loss}"
        for row in preview.tables
        for column, loss in row.losses.items()
    )


def _inferred(preview: CutPreview) -> str:
    """Types that stand once they are published, and the last moment to say otherwise."""
    types = [
        f"{row.target}: " + ", ".join(f"{name} {of}" for name, of in row.inferred.items())
        for row in preview.tables
        if row.inferred
    ]
    return "\n".join([*types, "declare in columns: what is meant otherwise"] if types else ())


def _next(preview: CutPreview) -> str:
    if preview.holds_all:
        return "fix what stops: with publish.consistency pipeline it stops every table"
    return f"tidemark cut {preview.pipeline}"
