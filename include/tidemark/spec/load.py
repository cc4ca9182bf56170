"""YAML files to specs.

Every fault of a file is reported at once, each as
``file:line -> field path: got ...; expected ...; did you mean ...``, in one `SpecError`. Rules
between the fields of a part are asked once its fields are good by themselves.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tidemark.errors import SpecError
from tidemark.model.names import PipelineName
from tidemark.spec.audit import NO_SUITE, SuiteSpec
from tidemark.spec.base import SpecModel
from tidemark.spec.document import Document, read_document
from tidemark.spec.explain import explain
from tidemark.spec.faults import WHOLE_FILE, Fault, nearest, shown, spec_error
from tidemark.spec.installation import InstallationSpec
from tidemark.spec.pipeline import PipelineSpec
from tidemark.spec.references import connections_in, resolve_references

_INCLUDE = Path(__file__).parents[2]
_SUFFIX = ".yaml"
_Spec = TypeVar("_Spec", bound=SpecModel)


def load_pipeline(file: Path, *, suites: Path | None = None) -> PipelineSpec:
    """The pipeline in ``file``; `SpecError` with all its faults.

    suites: folder with the expectation suites; by default that of the installation.
    """
    return _load_pipeline(file, _names_in(suites or expectations_folder()))[0]


def pipeline_named(name: str, folder: Path | None = None) -> PipelineSpec:
    """The pipeline called ``name``; `SpecError` when there is none, or when it has faults."""
    return load_pipeline(_file_named(name, folder or pipelines_folder(), "pipeline"))


def load_pipelines(
    folder: Path | None = None, *, suites: Path | None = None
) -> tuple[PipelineSpec, ...]:
    """All pipelines of ``folder`` by name; `SpecError` with the faults of all files."""
    pipelines, errors = _load_all(folder, suites)
    if errors:
        raise SpecError("\n".join(error.what for error in errors))
    return pipelines


def sound_pipelines(folder: Path | None = None) -> tuple[PipelineSpec, ...]:
    """The pipelines of ``folder`` by name whose files have no faults."""
    return _load_all(folder, None)[0]


def load_suite(name: str, folder: Path | None = None) -> SuiteSpec:
    """The expectation suite called ``name``; `SpecError` when there is none, or with its faults."""
    file = _file_named(name, folder or expectations_folder(), "suite")
    document = read_document(file)
    document.faults += _named_as_file(file, "suite", document)
    return _validated(SuiteSpec, file, document, document.content)


def load_installation(file: Path | None = None) -> InstallationSpec:
    """The installation file with its references resolved; `SpecError` with all its faults."""
    file = file or _installation_file()
    document = read_document(file)
    content, faults = resolve_references(document, os.environ)
    document.faults += faults
    return _validated(InstallationSpec, file, document, content)


def connections_of(pipeline: PipelineName) -> frozenset[str]:
    """The ids of Airflow's connections that a pipeline and the installation refer to."""
    files = (_installation_file(), pipelines_folder() / f"{pipeline}{_SUFFIX}")
    contents = (_content(file) or b"" for file in files)
    return frozenset[str]().union(
        *(connections_in(text.decode(errors="replace")) for text in contents)
    )


def _installation_file() -> Path:
    return Path(os.environ.get("TIDEMARK_INSTALLATION") or _INCLUDE / f"installation{_SUFFIX}")


def pipeline_files(folder: Path | None = None) -> tuple[Path, ...]:
    """The pipeline files of ``folder``; `SpecError` when there is no such folder."""
    folder = folder or pipelines_folder()
    if not folder.is_dir():
        raise _file_error(
            folder, "no folder", "a folder with pipeline files, as TIDEMARK_PIPELINES names it"
        )
    misnamed = sorted(folder.glob("*.yml"))
    if misnamed:
        raise _file_error(misnamed[0], "the ending .yml", f"the ending {_SUFFIX}")
    return tuple(sorted(folder.glob(f"*{_SUFFIX}")))


def pipelines_folder() -> Path:
    """Where pipeline files are: TIDEMARK_PIPELINES, or ``pipelines`` beside the package."""
    return Path(os.environ.get("TIDEMARK_PIPELINES") or _INCLUDE / "pipelines")


def expectations_folder() -> Path:
    """Where suites are: TIDEMARK_EXPECTATIONS, or ``expectations`` beside the package."""
    return Path(os.environ.get("TIDEMARK_EXPECTATIONS") or _INCLUDE / "expectations")


def _load_all(
    folder: Path | None, suites: Path | None
) -> tuple[tuple[PipelineSpec, ...], tuple[SpecError, ...]]:
    """The sound pipelines, and what is wrong with the others."""
    known = frozenset(_names_in(suites or expectations_folder()))
    return _loaded(tuple((file, _content(file)) for file in pipeline_files(folder)), known)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


@lru_cache(maxsize=1)
def _loaded(
    files: tuple[tuple[Path, bytes | None], ...], known: frozenset[str]
) -> tuple[tuple[PipelineSpec, ...], tuple[SpecError, ...]]:
    """As `_load_all`; a process that reads several DAG files reads what they say once."""
    loaded: dict[Path, tuple[PipelineSpec, Document]] = {}
    errors: list[SpecError] = []
    for file, _ in files:
        try:
            loaded[file] = _load_pipeline(file, known)
        except SpecError as error:
            errors.append(error)
    faults = _shared_targets(loaded)
    if faults:
        errors.append(spec_error(faults))
    sound = (pipeline for file, (pipeline, _) in loaded.items() if file not in faults)
    return tuple(sound), tuple(errors)


def _load_pipeline(file: Path, suites: Collection[str]) -> tuple[PipelineSpec, Document]:
    document = read_document(file)
    document.faults += _named_as_file(file, "name", document)
    document.faults += _known_suites(suites, document)
    return _validated(PipelineSpec, file, document, document.content), document


def _validated(model: type[_Spec], file: Path, document: Document, content: object) -> _Spec:
    """``content`` of the document as a spec, or one error with every fault; one a field."""
    faults = list(document.faults)
    try:
        spec = model.model_validate(content, by_alias=True, by_name=False)
    except ValidationError as error:
        known = {fault.field for fault in faults}
        faults += [fault for fault in explain(error, model, document) if fault.field not in known]
        raise spec_error({file: faults}) from None  # pydantic repeats values, secrets among them
    if faults:
        raise spec_error({file: faults})
    return spec


def _named_as_file(file: Path, key: str, document: Document) -> Iterator[Fault]:
    name = document.at((key,))
    if isinstance(name, str) and name != file.stem:
        expected = f"{file.stem!r}, the name of the file"
        yield Fault(document.line_of((key,)), (key,), shown(name), expected)


def _known_suites(suites: Collection[str], document: Document) -> Iterator[Fault]:
    for loc in document.lines:
        name = document.at(loc)
        is_suite = len(loc) == 3 and loc[0] == "tables" and loc[2] == "expectations"
        if is_suite and isinstance(name, str) and name != NO_SUITE and name not in suites:
            expected = "the name of a suite in the expectations folder, or none"
            hint = nearest(name, suites)
            yield Fault(document.line_of(loc), loc, shown(name), expected, hint)


def _shared_targets(
    loaded: Mapping[Path, tuple[PipelineSpec, Document]],
) -> dict[Path, list[Fault]]:
    """Targets that an earlier file folds into as well."""
    owners: dict[tuple[str, str], Path] = {}
    faults: dict[Path, list[Fault]] = {}
    for file, (pipeline, document) in loaded.items():
        for index, table in enumerate(pipeline.tables):
            target = (pipeline.target_namespace.casefold(), table.target.casefold())
            owner = owners.setdefault(target, file)
            if owner != file:
                loc = ("tables", index, "target")
                got = repr(f"{pipeline.target_namespace}.{table.target}")
                expected = f"a target of its own: {owner} folds into it"
                fault = Fault(document.line_of(loc), loc, got, expected)
                faults.setdefault(file, []).append(fault)
    return faults


def _names_in(folder: Path) -> frozenset[str]:
    return frozenset(file.stem for file in folder.glob(f"*{_SUFFIX}"))


def _file_named(name: str, folder: Path, kind: str) -> Path:
    names = _names_in(folder)
    if name not in names:
        got = f"no {kind} {shown(name)}"
        known = ", ".join(sorted(names)) or "none is there"
        raise _file_error(folder, got, f"one of {known}", nearest(name, names))
    return folder / f"{name}{_SUFFIX}"


def _file_error(file: Path, got: str, expected: str, hint: str = "") -> SpecError:
    return spec_error({file: [Fault(1, WHOLE_FILE, got, expected, hint)]})
