"""Values that a file points to instead of holding them: in variables, files, Airflow's connections.

Those of the installation are resolved when the file is read, those of a pipeline when a run needs
them. A secret may stand in a file in no other form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from tidemark.spec.document import Document
from tidemark.spec.faults import WHOLE_FILE, Fault, Loc, shown

_BY_REFERENCE = "a reference: ${env:NAME} or ${file:/path}"
_FORMS = "${env:NAME}, ${env:NAME:-default}, ${file:/path} or ${conn:ID.field}"
_REFERENCE = re.compile(r"\$\{(?P<content>[^}]*)\}?")
_ENV = re.compile(r"env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?")
_FILE = re.compile(r"file:(?P<path>/.+)")
_EXTRA = "extra."
_CONN = re.compile(
    r"conn:(?P<id>[A-Za-z0-9_-]+)\.(?P<field>host|port|login|password|schema|extra\.[^}]+)"
)
_SECRET_WORDS = ("password", "passphrase", "secret", "token", "credential", "key.pem")


class UnresolvedError(ValueError):
    """A reference leads nowhere; the text says what was expected."""


def is_secret(name: str) -> bool:
    """Whether the value of the setting ``name`` has to stay out of every file.

    >>> is_secret("sasl.password"), is_secret("sasl.username")
    (True, False)
    >>> is_secret("ssl.key.pem"), is_secret("sasl.oauthbearer.token.endpoint.url")
    (True, False)
    """
    lowered = name.lower()
    return any(word in lowered for word in _SECRET_WORDS) and not lowered.endswith(".url")


def keeps_secret(text: str) -> bool:
    """Whether ``text`` is one reference and nothing else, not even a default.

    >>> keeps_secret("${env:KEY}"), keeps_secret("${env:KEY:-hunter2}")
    (True, False)
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return not text
    env = _ENV.fullmatch(match["content"])
    return not (env and env["default"])


def holds_reference(text: str) -> bool:
    """Whether ``text`` has a reference anywhere."""
    return _REFERENCE.search(text) is not None


def connections_in(text: str) -> frozenset[str]:
    """The ids of Airflow's connections that ``text``, a whole file, refers to."""
    connections = (_CONN.fullmatch(match["content"]) for match in _REFERENCE.finditer(text))
    return frozenset(match["id"] for match in connections if match is not None)


def connection_variable(connection: str) -> str:
    """The variable with a connection, as Airflow calls it too; here it holds JSON."""
    return f"AIRFLOW_CONN_{connection.upper()}"


def refuse_malformed(text: str) -> str:
    """``text`` when each of its references has a known form; else `ValueError`."""
    for match in _REFERENCE.finditer(text):
        known = any(form.fullmatch(match["content"]) for form in (_ENV, _FILE, _CONN))
        if not match[0].endswith("}") or not known:
            raise UnresolvedError(f"a reference of the form {_FORMS}")
    return text


def resolve(text: str, environ: Mapping[str, str]) -> str:
    """``text`` with the values of its references; `UnresolvedError` when one leads nowhere.

    As in a shell, the default of a variable counts when the variable is not set or empty.
    >>> resolve("${env:HOST:-localhost}:${env:PORT}", {"PORT": "9092"})
    'localhost:9092'
    """
    return _REFERENCE.sub(lambda match: _value(match, environ), text)


def resolve_references(
    document: Document, environ: Mapping[str, str]
) -> tuple[object, list[Fault]]:
    """The document's content with references resolved; those that fail, and literal secrets."""
    faults: list[Fault] = []

    def resolved(value: object, loc: Loc) -> object:
        if isinstance(value, dict):
            return {name: resolved(inner, (*loc, name)) for name, inner in value.items()}
        if isinstance(value, list):
            return [resolved(inner, (*loc, index)) for index, inner in enumerate(value)]
        if value is not None and is_secret(str(loc[-1])) and not keeps_secret(str(value)):
            faults.append(Fault(document.line_of(loc), loc, "a literal secret", _BY_REFERENCE))
            return value
        if not isinstance(value, str):
            return value
        try:
            return resolve(value, environ)
        except UnresolvedError as error:
            faults.append(Fault(document.line_of(loc), loc, shown(value), str(error)))
            return value

    return resolved(document.content, WHOLE_FILE), faults


def _value(match: re.Match[str], environ: Mapping[str, str]) -> str:
    refuse_malformed(match[0])
    content = match["content"]
    env, conn = _ENV.fullmatch(content), _CONN.fullmatch(content)
    if env:
        return _variable(env["name"], env["default"], environ)
    if conn:
        return _of_connection(conn["id"], conn["field"], environ)
    return _content(Path(content.removeprefix("file:")))


def _variable(name: str, default: str | None, environ: Mapping[str, str]) -> str:
    value = environ.get(name)
    if value is None and default is None:
        raise UnresolvedError(f"the environment variable {name} to be set")
    return value or default or ""


def _of_connection(connection: str, field: str, environ: Mapping[str, str]) -> str:
    name = connection_variable(connection)
    try:
        settings = json.loads(environ[name])
        extra = settings.get("extra") or {}
        inner = json.loads(extra) if isinstance(extra, str) else extra
    except KeyError:
        raise UnresolvedError(
            f"a connection {connection} of Airflow; outside of Airflow {name} with it as JSON"
        ) from None
    except (ValueError, AttributeError):
        raise UnresolvedError(f"{name} to hold a connection as JSON") from None
    is_inner = field.startswith(_EXTRA)
    value = inner.get(field.removeprefix(_EXTRA)) if is_inner else settings.get(field)
    if not isinstance(value, str | int) or value == "":
        raise UnresolvedError(f"connection {connection} to have {field}")
    return str(value)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UnresolvedError(f"the file {path} to be readable: {reason}") from error
