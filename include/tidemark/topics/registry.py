"""Avro schemas by id, from a registry with Confluent's HTTP interface or from a folder of files."""

from __future__ import annotations

import json
import os
import ssl
from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tidemark.errors import (
    UNCHANGED,
    RegistryRefusedError,
    RegistryUnreachableError,
    TidemarkError,
)
from tidemark.spec import AvroSpec, RegistrySpec
from tidemark.spec.references import UnresolvedError, resolve
from tidemark.spec.registry import registry_url

TIMEOUT_SECONDS = 10
NOT_FOUND = 404
TOO_MANY = 429
SERVER_ERRORS = 500
AVRO = "AVRO"
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"

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
        address = f"{url}/schemas/ids/{number}"
        body = _asked(address, spec)
        return None if body is None else _schema_in(body, address)

    return schema


def _asked(address: str, spec: RegistrySpec) -> bytes | None:
    """The answer; None when the registry knows no such id."""
    request = Request(address, headers={"Accept": _ACCEPT})  # noqa: S310  http(s) alone
    if spec.user is not None and spec.password is not None:
        pair = f"{_resolved(spec.user)}:{_resolved(spec.password)}"
        basic = b64encode(pair.encode()).decode()
        # A redirect to somebody else takes no password there.
        request.add_unredirected_header("Authorization", f"Basic {basic}")
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS, context=_trusted(spec)) as answer:  # noqa: S310
            body: bytes = answer.read()
    except HTTPError as error:
        with error:
            if _is_unknown(error):
                return None
        raise _turned_away(address, error.code) from error
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise _refused(
                f"the certificate of {address} is not trusted: {reason.verify_message}",
                "source.avro.registry.ca",
            ) from error
        raise _unreachable(f"the schema registry {address} did not answer: {reason}") from error
    return body


def _is_unknown(error: HTTPError) -> bool:
    """Whether a registry says that it knows no such id; what stands before one answers 404, too.

    Confluent's code is 40403, and Apicurio has 40401 as well: an HTTP status and two digits.
    """
    if error.code != NOT_FOUND:
        return False
    try:
        return bool(json.loads(error.read())["error_code"] // 100 == NOT_FOUND)
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return False


def _trusted(spec: RegistrySpec) -> ssl.SSLContext | None:
    if spec.ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=spec.ca)
    except OSError as error:
        raise _refused(
            f"{spec.ca} holds no certificates: {error}", "source.avro.registry.ca"
        ) from error


def _schema_in(body: bytes, address: str) -> str | None:
    """The schema in an answer; None where it is one of another kind, or leans on others."""
    try:
        answer = json.loads(body)
        schema = answer["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(
            f"{address} is no answer of a schema registry", "source.avro.registry.url"
        ) from error
    is_avro = answer.get("schemaType", AVRO) == AVRO and not answer.get("references")
    return str(schema) if is_avro else None


def _turned_away(address: str, code: int) -> TidemarkError:
    what = f"the schema registry {address} answered with HTTP {code}"
    if code == NOT_FOUND:
        return RegistryUnreachableError(
            f"{address} answered with HTTP {code}, and not as a schema registry does that knows "
            "no such schema",
            state=UNCHANGED,
            next_step="look whether the registry runs, and whether source.avro.registry.url leads "
            "to it, then run again",
        )
    if code >= SERVER_ERRORS or code == TOO_MANY:
        return _unreachable(what)
    return _refused(what, "source.avro.registry, its user and its password")


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
