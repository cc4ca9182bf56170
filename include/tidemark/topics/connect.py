"""Kafka Connect's REST interface, read only: which connectors there are, and how they fare."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, TypeAdapter

from tidemark.errors import (
    UNCHANGED,
    ConnectRefusedError,
    ConnectUnreachableError,
)
from tidemark.spec.connect import ConnectSpec
from tidemark.spec.connector import Connector
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
REBALANCING = 409


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
    address, answer = _answered(spec, path)
    return None if answer.status == NOT_FOUND else _read(address, answer, form)


def _asked(spec: ConnectSpec, path: str, form: TypeAdapter[_T]) -> _T:
    return _read(*_answered(spec, path), form)


def _answered(spec: ConnectSpec, path: str) -> tuple[str, Answer]:
    """The whole address, and what was answered there."""
    url = _resolved(spec.url, "url")
    try:
        address = f"{registry_url(url)}/{path}"
    except ValueError as error:
        raise _refused(f"the address of Kafka Connect is not {error}") from error
    user = None if spec.user is None else _resolved(spec.user, "user")
    password = None if spec.password is None else _resolved(spec.password, "password")
    client = TokenClient.of(spec.oauth, lambda text: _resolved(text, "token server"))
    try:
        asked_by = Identity(user, password)
        return address, ask_by_token(address, asked_by, "application/json", client)
    except UntrustedError as error:
        raise _refused(f"the certificate of {address} is not trusted: {error}") from error
    except UnusableSecretError as error:
        raise _refused(str(error)) from error
    except OversizedAnswerError as error:
        raise _refused(f"{address} answered with {error}") from error
    except NoAnswerError as error:
        raise _unreachable(f"{address} did not answer: {error}") from error
    except NoTokenError as error:
        raise _unreachable(str(error)) from error


def _read(address: str, answer: Answer, form: TypeAdapter[_T]) -> _T:
    what = f"{address} answered with HTTP {answer.status}"
    if answer.may_pass or answer.status == REBALANCING:
        raise _unreachable(what)
    if not answer.is_good:
        raise _refused(f"{what}, which leads elsewhere" if answer.leads_elsewhere else what)
    try:
        return form.validate_json(answer.body)
    except ValueError as error:
        raise _refused(f"{address} is no answer of Kafka Connect") from error


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
        next_step="fix --connect or what it says of who asks, such as --connect-password, then ask "
        "again",
    )
