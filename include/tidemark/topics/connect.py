"""Kafka Connect's REST interface, read only: which connectors there are, and how they fare."""

from __future__ import annotations

import json
import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

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
REBALANCING = 409
SERVER_ERRORS = 500


@dataclass(frozen=True, slots=True)
class TaskState:
    """What a connector or one of its tasks is; error: the first line of why it failed."""

    name: str
    state: str
    error: str = ""


def read_connectors(spec: ConnectSpec) -> tuple[Connector, ...]:
    """Every connector with its settings. `ConnectUnreachableError`, `ConnectRefusedError`."""
    return tuple(
        Connector(str(name), _settings(_asked(spec, f"connectors/{quote(name, safe='')}/config")))
        for name in sorted(_asked(spec, "connectors"))
    )


def read_states(spec: ConnectSpec, connector: Connector) -> tuple[TaskState, ...]:
    """How ``connector`` and its tasks fare; the connector itself comes first."""
    status = _asked(spec, f"connectors/{quote(connector.name, safe='')}/status")
    own = status["connector"]
    tasks = [(f"task {task['id']}", task) for task in status["tasks"]]
    return tuple(
        TaskState(name, str(of["state"]), _first_line(str(of.get("trace", "")), connector))
        for name, of in (("connector", own), *tasks)
    )


def _first_line(trace: str, connector: Connector) -> str:
    """Of a trace, without a secret of the connector that a driver may have put there."""
    line = next(iter(trace.splitlines()), "")
    for secret in connector.secrets:
        line = line.replace(secret, "***")
    return line


def _settings(answer: Any) -> Mapping[str, str]:
    return {str(name): str(value) for name, value in answer.items() if value is not None}


def _asked(spec: ConnectSpec, path: str) -> Any:
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
            return json.loads(answer.read())
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
