"""`tidemark maintain`: rewrite files, expire snapshots and remove orphans, or show what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, MaintainedTables, Pipeline, declared_tables, load_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tidemark.model.maintenance import TableMaintenance

MIB = 1024 * 1024
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what is due; change nothing, and start no JVM.")
]


def maintain(
    pipeline: Pipeline,
    table: MaintainedTables = None,
    *,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Rewrite worn and small files, expire snapshots, remove orphans and records no longer needed.

    Cuts go on beside it.
    """
    from tidemark.cli.console import stdout
    from tidemark.cli.session import catalog_world, spark_world

    spec = load_named(pipeline)
    tables = declared_tables(spec, table)
    if dry_run:
        from tidemark.runs.maintain import plan_maintenance

        maintenance = plan_maintenance(spec, catalog_world(), tables)
    else:
        with spark_world(spec, "maintaining tables") as world:
            from tidemark.runs.maintain import maintain as run

            maintenance = tuple(run(spec, world, tables))
    if as_json:
        from tidemark.cli.documents import maintenance_document

        typer.echo(
            maintenance_document(spec.name, maintenance, is_done=not dry_run).model_dump_json()
        )
        return
    _show(stdout(), spec.name, maintenance, is_done=not dry_run)


def _show(
    console: Console, pipeline: str, tables: Sequence[TableMaintenance], *, is_done: bool
) -> None:
    from tidemark.cli.console import columns, facts, put
    from tidemark.model.shown import plural

    if not tables:
        console.print(f"{pipeline}: there are no tables yet", style="bold")
        facts(console, ("next", f"tidemark cut {pipeline}"))
        return
    due = sum(row.is_due for row in tables)
    what = "maintained" if is_done else f"there, {due:,} due"
    console.print(f"{pipeline}: {plural(len(tables), 'table')} {what}", style="bold")
    headers = ["files", "MiB", "delete files", "manifests", "snapshots", "orphans"]
    if not is_done:
        headers = ["files", "MiB", "rows", "manifests", "snapshots"]
    shown = (*headers, "records", *(["seconds"] if is_done else []))
    table = columns(console, "table", *shown, right=shown)
    for row in tables:
        size = f"{row.bytes / MIB:,.1f}" if row.bytes else "0"
        numbers = (
            (row.deletes, row.manifests, row.expired, row.orphans, row.removed)
            if is_done
            else (row.rows, row.manifests, row.expired, row.removed)
        )
        counts = [f"{row.rewritten:,}", size, *(f"{number:,}" for number in numbers)]
        table.add_row(row.table, *counts, *([f"{row.seconds:.1f}"] if is_done else []))
    console.print()
    put(console, table)
    console.print()
    facts(
        console,
        *(("skipped", f"{row.table}: {row.skipped}") for row in tables if row.skipped),
        ("next", "nothing to do" if is_done else f"tidemark maintain {pipeline}"),
    )
