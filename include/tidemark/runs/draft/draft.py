"""Draft: the files of a pipeline, from what live topics hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tidemark.errors import UNCHANGED, ActionRefusedError, SpecError
from tidemark.model.cut import GateMode
from tidemark.model.names import TableName, TopicName, few
from tidemark.runs.draft.recognize import Encoding, Role, SchemaText
from tidemark.runs.draft.seen import SeenSource, refuse_unusable, see
from tidemark.runs.draft.text import Named, Registry, pipeline_text, suite_text, suites_of
from tidemark.spec import AvroSpec, PipelineSpec, RegistrySpec, SourceFormat, load_pipeline
from tidemark.topics.client import Broker, TopicFacts
from tidemark.topics.registry import open_schemas
from tidemark.topics.sample import Samples, read_samples

MOST = 2_000
"""Records of a topic that are looked at."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A pipeline that was drafted. files: where each text belongs, the pipeline's own last.

    open: what records cannot show, and a person decides.
    """

    pipeline: PipelineSpec
    seen: SeenSource
    files: Mapping[Path, str]
    open: tuple[str, ...]

    def write(self) -> None:
        """Make the files; `ActionRefusedError` where one is there, and then none is made."""
        refuse_existing(self.files)
        with ExitStack() as undone:
            for file, text in self.files.items():
                file.parent.mkdir(parents=True, exist_ok=True)
                _make(file, text, undone)
            undone.pop_all()


def _make(file: Path, text: str, undone: ExitStack) -> None:
    """Make ``file``; undone: what takes it away again."""
    try:
        made = file.open("x", encoding="utf-8")
    except FileExistsError:
        raise _is_there([str(file)]) from None  # Somebody made it meanwhile.
    undone.callback(file.unlink, missing_ok=True)
    with made:
        made.write(text)


def refuse_existing(files: Mapping[Path, str]) -> None:
    """Raise `ActionRefusedError` where one of ``files`` is there already."""
    there = [str(file) for file in files if file.exists()]
    if there:
        raise _is_there(there)


def _is_there(files: Sequence[str]) -> ActionRefusedError:
    return ActionRefusedError(
        f"{few(files)} is there already, and nothing is overwritten",
        state="no file was written",
        next_step="take another name, or move that file away",
    )


def draft_pipeline(
    named: Named, broker: Broker, selectors: Sequence[str], folders: tuple[Path, Path]
) -> Draft:
    """The pipeline that reads the topics that ``selectors`` mean, as `Broker.find` takes them.

    folders: of pipeline files, and of suites. `ActionRefusedError` where no pipeline can.
    """
    topics = broker.find(selectors)
    if not topics:
        raise ActionRefusedError(
            f"no topic is on the broker {broker.servers} that {few(list(selectors))} means",
            state=UNCHANGED,
            next_step="look at --topics or --topic-prefix, and whether the connector has sent rows",
        )
    schemas = open_schemas(_avro(named.registry)) if named.registry else None
    return draft_of(named, read_samples(broker, topics, MOST), schemas, folders)


def draft_of(
    named: Named, samples: Samples, schemas: SchemaText | None, folders: tuple[Path, Path]
) -> Draft:
    """As `draft_pipeline`, of records that were read; schemas: id -> Avro schema."""
    facts = {topic.name: topic for topic in samples.facts}
    seen = see(facts, samples.records, schemas)
    refuse_unusable(seen, facts)
    gate, suites = seen.gate(facts), suites_of(named.name, seen)
    pipelines, expectations = folders
    files = {
        expectations / f"{suite}.yaml": suite_text(suite, table, seen.tables[table])
        for table, suite in suites.items()
    }
    files[pipelines / f"{named.name}.yaml"] = pipeline_text(named, seen, gate, suites)
    pipeline = _validated(files, named)
    return Draft(pipeline, seen, files, tuple(_open(pipeline, seen, samples)))


def _avro(registry: Registry) -> AvroSpec:
    asked = RegistrySpec(url=registry.url, user=registry.user, password=registry.password)
    return AvroSpec(registry=asked)


def _validated(files: Mapping[Path, str], named: Named) -> PipelineSpec:
    """The pipeline as `tidemark validate` reads it, which might refuse the files."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            (Path(folder) / file.name).write_text(text, encoding="utf-8")
        try:
            return load_pipeline(Path(folder) / f"{named.name}.yaml", suites=Path(folder))
        except SpecError as error:
            faults = error.what.replace(f"{folder}/", "")
            raise ActionRefusedError(
                f"a pipeline file of what these topics hold would have faults: {faults}",
                state="no file was written",
                next_step="change the option that it comes from, leave that topic out with "
                "--topics, or write the file by hand: docs/configure.md",
            ) from None


def _open(pipeline: PipelineSpec, seen: SeenSource, samples: Samples) -> Iterator[str]:
    """What a person has to look at, a sentence each."""
    yield "description, owner and schedule: they are made up"
    yield from _of_topics(seen, samples)
    yield from _of_gate(pipeline, seen, {topic.name: topic for topic in samples.facts})
    yield from _of_types(pipeline, seen)
    without = [table for table, key in sorted(seen.tables.items()) if not key]
    if without:
        named = few(list(map(str, without)))
        yield f"key: the records of {named} have none; name its columns if it has one"


def _of_topics(seen: SeenSource, samples: Samples) -> Iterator[str]:
    for name, topic in sorted(seen.topics.items()):
        if not topic.records:
            yield f"topic {name} holds nothing, and is not in the file unless a pattern selects it"
        elif topic.unread:
            yield f"topic {name}: {topic.unread} of {topic.records} records are in no known form"
        elif not topic.roles - {Role.OTHER}:
            yield f"topic {name} has nothing that is read, such as heartbeats: not in the file"
    for facts in samples.facts:
        looked_at, there = seen.topics[facts.name].records, samples.offsets[facts.name]
        if facts.name in samples.shortened:
            yield (
                f"tables: {looked_at:,} of at most {there:,} records of {facts.name} were looked at"
            )
        if facts.compacted and Role.ROWS in seen.topics[facts.name].roles:
            yield f"source.compacted: topic {facts.name} is compacted, which is refused by itself"


def _of_gate(
    pipeline: PipelineSpec, seen: SeenSource, facts: Mapping[TopicName, TopicFacts]
) -> Iterator[str]:
    match pipeline.source.gate:
        case GateMode.WATERMARK:
            for name in seen.with_role(Role.ROWS):
                silent = set(range(facts[name].partitions)) - seen.topics[name].watermarked
                if silent:
                    listed = ", ".join(map(str, sorted(silent)))
                    yield f"no watermark has come from partition {listed} of {name} so far"
        case GateMode.NONE if not pipeline.source.format.is_canal:
            yield f"gate: {_why_none(seen, facts)}; with transactions, all tables are of one moment"
        case GateMode.NONE:
            yield "gate: records have no watermarks; TiCDC writes them with enable-tidb-extension"


def _why_none(seen: SeenSource, facts: Mapping[TopicName, TopicFacts]) -> str:
    ends = seen.with_role(Role.TRANSACTIONS)
    if not ends:
        return "no transaction topic was seen"
    if len(ends) > 1:
        return f"{few(list(ends))} are all transaction topics"
    if facts[ends[0]].partitions > 1:
        return f"transaction topic {ends[0]} has {facts[ends[0]].partitions} partitions"
    if seen.newest_ms is None:
        return f"{ends[0]} has transactions, but all rows are of snapshots, and name none"
    return f"{ends[0]} has transactions, but the newest rows name none"


def _of_types(pipeline: PipelineSpec, seen: SeenSource) -> Iterator[str]:
    source = pipeline.source
    if source.format.is_canal:
        if seen.has_zoned and source.zone is None:
            yield "source.zone: in which zone TIMESTAMP values are written"
        return
    if Encoding.PLAIN in seen.encodings:
        if not source.has_table_states:
            yield (
                "types: nothing tells them, so tables stop; declare columns, name the topic of "
                "schema changes, or set source.untyped"
            )
        yield "source.modes: Debezium's defaults; compare them: tidemark doctor with --connect"
    if not source.topics.schema_changes:
        is_postgres = source.format is SourceFormat.DEBEZIUM_POSTGRES
        hint = "tidemark sources postgres-ddl" if is_postgres else "the connector's topic"
        yield f"source.topics.schema-changes: no statement was seen; see {hint}"


def tables_of(draft: Draft) -> list[tuple[TableName, tuple[str, ...], str]]:
    """Each table with its key and its suite, none where it has none."""
    return [
        (spec.source, draft.seen.tables.get(spec.source, ()), spec.suite or "")
        for spec in draft.pipeline.tables
    ]
