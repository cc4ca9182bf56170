"""Avro schemas by id, from a registry with Confluent's HTTP interface or from a folder of files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tidemark.errors import (
    UNCHANGED,
    RegistryRefusedError,
    RegistryUnreachableError,
    TidemarkError,
)
from tidemark.formats.avro.schema import InvalidAvroSchemaError, self_contained
from tidemark.spec import AvroSpec, RegistrySpec
from tidemark.spec.references import UnresolvedError, resolve
from tidemark.spec.registry import registry_url
from tidemark.topics.http import (
    Answer,
    Identity,
    NoAnswerError,
    OversizedAnswerError,
    UntrustedError,
    UnusableSecretError,
)
from tidemark.topics.tokens import NoTokenError, TokenClient, ask_by_token

NOT_FOUND = 404
AVRO = "AVRO"
MOST_REFERENCES = 100
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"

_OF_ANOTHER_FORM = (ValueError, RecursionError, OverflowError)
"""What JSON of somebody else may raise: it is none, goes too deep, or has numbers without end."""

SchemaSource = Callable[[int], str | None]
"""The Avro schema with an id, as JSON text; None where no Avro schema has it.

Raises `RegistryUnreachableError` or `RegistryRefusedError`.
"""


def open_schemas(spec: AvroSpec) -> SchemaSource:
    """Where ``spec`` says the schemas are; nothing is asked yet."""
    if spec.registry is not None:
        return _registry(spec.registry)
    if spec.folder is not None:
        return _folder(spec.folder)
    raise RuntimeError("a source was declared with no place for its schemas")


def _folder(folder: Path) -> SchemaSource:
    def schema(number: int) -> str | None:
        if not folder.is_dir():
            raise _refused(f"there is no folder {folder} with Avro schemas", "source.avro.folder")
        file = folder / f"{number}.avsc"
        try:
            return file.read_text(encoding="utf-8") if file.exists() else None
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise _refused(f"{file} cannot be read: {why}", "the file") from error

    return schema


def _registry(spec: RegistrySpec) -> SchemaSource:
    def schema(number: int) -> str | None:
        url = _resolved(spec.url, registry_url)
        wanted = _schema_at(f"{url}/schemas/ids/{number}", spec)
        if wanted is None:
            return None
        others = dict[str, str]()
        if not all(_learn(reference, url, spec, others) for reference in wanted.references):
            return None
        try:
            return self_contained(wanted.text, tuple(others.values()))
        except InvalidAvroSchemaError:
            return None

    return schema


@dataclass(frozen=True, slots=True)
class _Reference:
    """What a schema calls another one, and where that is."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class _Schema:
    text: str
    references: tuple[_Reference, ...]


def _learn(reference: _Reference, url: str, spec: RegistrySpec, others: dict[str, str]) -> bool:
    """Put the schema that ``reference`` means into ``others``, behind those that it leans on.

    A registry takes the first schema of a name for all. False where it has not got them all: one
    that is deleted, but not for good, still counts.
    """
    if reference.name in others:
        return True
    if len(others) >= MOST_REFERENCES:
        return False
    subject = quote(reference.subject, safe="")
    address = f"{url}/subjects/{subject}/versions/{reference.version}?deleted=true"
    schema = _schema_at(address, spec)
    if schema is None:
        return False
    others[reference.name] = ""  # It is being read: one that leans on itself ends here.
    learned = all(_learn(inner, url, spec, others) for inner in schema.references)
    del others[reference.name]
    others[reference.name] = schema.text
    return learned


def _schema_at(address: str, spec: RegistrySpec) -> _Schema | None:
    """None when the registry knows none there, or one that is not Avro."""
    body = _asked(address, spec)
    return None if body is None else _schema_in(body, address)


def _asked(address: str, spec: RegistrySpec) -> bytes | None:
    """The answer; None when the registry knows no such id."""
    try:
        client = TokenClient.of(spec.oauth, _resolved)
        answer = ask_by_token(address, _identity(spec), _ACCEPT, client)
    except UntrustedError as error:
        raise _refused(
            f"the certificate of {address} is not trusted: {error}", "source.avro.registry.ca"
        ) from error
    except UnusableSecretError as error:
        fix = f"source.avro.registry.{error.setting}"
        if error.setting == "token":
            fix = f"what {fix} refers to"
        elif error.setting == "certificate" and spec.key_password is not None:
            fix = f"{fix}, or what source.avro.registry.key-password refers to,"
        raise _refused(str(error), fix) from error
    except OversizedAnswerError as error:
        raise _refused(f"{address} answered with {error}", "source.avro.registry.url") from error
    except NoAnswerError as error:
        raise _unreachable(f"the schema registry {address} did not answer: {error}") from error
    except NoTokenError as error:
        raise _unreachable(str(error)) from error
    if answer.is_good:
        return answer.body
    if _is_unknown(answer):
        return None
    raise _turned_away(address, answer)


def _identity(spec: RegistrySpec) -> Identity:
    secrets = {
        name: None if text is None else _resolved(text)
        for name, text in (
            ("user", spec.user),
            ("password", spec.password),
            ("token", spec.token),
            ("key_password", spec.key_password),
        )
    }
    return Identity(ca=spec.ca, certificate=spec.certificate, key=spec.key, **secrets)


def _is_unknown(answer: Answer) -> bool:
    """Whether a registry says that it knows no such id; what stands before one answers 404, too.

    Confluent's code is 40403, and Apicurio has 40401 as well: an HTTP status and two digits.
    """
    if answer.status != NOT_FOUND:
        return False
    try:
        return bool(json.loads(answer.body)["error_code"] // 100 == NOT_FOUND)
    except (*_OF_ANOTHER_FORM, KeyError, TypeError):
        return False


def _schema_in(body: bytes, address: str) -> _Schema | None:
    try:
        answer = json.loads(body)
        references = tuple(
            _Reference(str(one["name"]), str(one["subject"]), int(one["version"]))
            for one in answer.get("references") or ()
        )
        schema = _Schema(str(answer["schema"]), references)
    except (*_OF_ANOTHER_FORM, KeyError, TypeError, AttributeError) as error:
        raise _refused(
            f"{address} is no answer of a schema registry", "source.avro.registry.url"
        ) from error
    return schema if answer.get("schemaType", AVRO) == AVRO else None


def _turned_away(address: str, answer: Answer) -> TidemarkError:
    what = f"the schema registry {address} answered with HTTP {answer.status}"
    if answer.status == NOT_FOUND:
        return RegistryUnreachableError(
            f"{address} answered with HTTP {answer.status}, and not as a schema registry does that "
            "knows no such schema",
            state=UNCHANGED,
            next_step="look whether the registry runs, and whether source.avro.registry.url leads "
            "to it, then run again",
        )
    if answer.leads_elsewhere:
        return _refused(f"{what}, which leads elsewhere", "source.avro.registry.url")
    if answer.may_pass:
        return _unreachable(what)
    return _refused(what, "what source.avro.registry says of who asks")


def _resolved(text: str, checked: Callable[[str], str] = str) -> str:
    try:
        return checked(resolve(text, os.environ))
    except UnresolvedError as error:
        raise _refused(f"source.avro.registry expected {error}", "the environment") from error
    except ValueError as error:
        raise _refused(
            f"source.avro.registry.url got something else than {error}", "the reference"
        ) from error


def _unreachable(what: str) -> RegistryUnreachableError:
    return RegistryUnreachableError(
        what, state=UNCHANGED, next_step="look whether it runs, then run again"
    )


def _refused(what: str, fix: str) -> RegistryRefusedError:
    return RegistryRefusedError(
        what, state=UNCHANGED, next_step=f"fix {fix} in the pipeline file, then run again"
    )
