"""Kafka Connect's REST interface, read only: which connectors there are, and how they fare."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from dataclasses import dataclass
from http.client import HTTPException
from typing import TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from pydantic import BaseModel, ConfigDict, TypeAdapter

from tidemark.errors import (
    UNCHANGED,
    ConnectRefusedError,
    ConnectUnreachableError,
    TidemarkError,
)
from tidemark.spec.connect import ConnectSpec
from tidemark.spec.connector import Connector
from tidemark.spec.references import UnresolvedError, resolve
from tidemark.spec.registry import registry_url

TIMEOUT_SECONDS = 10
NOT_FOUND = 404
REBALANCING = 409
SERVER_ERRORS = 500


@dataclass(frozen=True, slots=True)
class TaskState:
    """What a connector or one of its tasks is; error: the first line of why it failed."""

    name: str
    state: str
    error: str = ""


# Settings and traces may hold secrets, which no error repeats.
_HIDDEN = ConfigDict(hide_input_in_errors=True)


class _State(BaseModel):
    model_config = _HIDDEN

    state: str
    trace: str = ""


class _Task(_State):
    id: int


class _Status(BaseModel):
    model_config = _HIDDEN

    connector: _State
    tasks: list[_Task]


_NAMES = TypeAdapter(list[str])
_CONFIG = TypeAdapter(dict[str, str | None], config=_HIDDEN)
_STATUS = TypeAdapter(_Status)
_T = TypeVar("_T")


def connector_names(spec: ConnectSpec) -> tuple[str, ...]:
    """Which connectors there are. `ConnectUnreachableError`, `ConnectRefusedError`."""
    names: list[str] = _asked(spec, "connectors", _NAMES)
    return tuple(sorted(names))


def read_connector(spec: ConnectSpec, name: str) -> Connector | None:
    """The connector with its settings; None where it is gone."""
    config = _if_there(spec, f"connectors/{quote(name, safe='')}/config", _CONFIG)
    if config is None:
        return None
    return Connector(name, {key: value for key, value in config.items() if value is not None})


def read_states(spec: ConnectSpec, connector: Connector) -> tuple[TaskState, ...]:
    """How ``connector`` and its tasks fare; the connector itself comes first.

    Empty where no worker has told anything of it yet.
    """
    path = f"connectors/{quote(connector.name, safe='')}/status"
    status = _if_there(spec, path, _STATUS)
    if status is None:
        return ()
    tasks = [(f"task {task.id}", task) for task in status.tasks]
    return tuple(
        TaskState(name, of.state, _first_line(of.trace, connector))
        for name, of in (("connector", status.connector), *tasks)
    )


def _first_line(trace: str, connector: Connector) -> str:
    """Of a trace, without a secret of the connector that a driver may have put there."""
    line = next(iter(trace.splitlines()), "")
    for secret in connector.secrets:
        line = line.replace(secret, "***")
    return line


def _if_there(spec: ConnectSpec, path: str, form: TypeAdapter[_T]) -> _T | None:
    try:
        return _asked(spec, path, form)
    except ConnectRefusedError as error:
        if isinstance(error.__cause__, HTTPError) and error.__cause__.code == NOT_FOUND:
            return None
        raise


def _asked(spec: ConnectSpec, path: str, form: TypeAdapter[_T]) -> _T:
    url = _resolved(spec.url, "url")
    try:
        address = f"{registry_url(url)}/{path}"
    except ValueError as error:
        raise _refused(f"the address of Kafka Connect is not {error}") from error
    request = Request(address, headers={"Accept": "application/json"})  # noqa: S310  http(s) alone
    if spec.user is not None and spec.password is not None:
        pair = f"{_resolved(spec.user, 'user')}:{_resolved(spec.password, 'password')}"
        basic = b64encode(pair.encode()).decode()
        # A redirect to somebody else takes no password there.
        request.add_unredirected_header("Authorization", f"Basic {basic}")
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            return form.validate_json(answer.read())
    except HTTPError as error:
        with error:
            raise _turned_away(address, error.code) from error
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise _refused(
                f"the certificate of {address} is not trusted: {reason.verify_message}"
            ) from error
        raise _unreachable(f"{address} did not answer: {reason}") from error
    except ValueError as error:
        raise _refused(f"{address} is no answer of Kafka Connect") from error


def _turned_away(address: str, code: int) -> TidemarkError:
    what = f"{address} answered with HTTP {code}"
    if code >= SERVER_ERRORS or code == REBALANCING:
        return _unreachable(what)
    return _refused(what)


def _resolved(text: str, of: str) -> str:
    try:
        return resolve(text, os.environ)
    except UnresolvedError as error:
        raise _refused(f"the {of} of Kafka Connect expected {error}") from error


def _unreachable(what: str) -> ConnectUnreachableError:
    return ConnectUnreachableError(
        what, state=UNCHANGED, next_step="look whether Kafka Connect runs, then ask again"
    )


def _refused(what: str) -> ConnectRefusedError:
    return ConnectRefusedError(
        what,
        state=UNCHANGED,
        next_step="fix --connect, --connect-user or --connect-password, then ask again",
    )
