"""Schemas by id, from a registry over HTTP and from a folder."""

from __future__ import annotations

import socket
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.avro import Registry, running_registry
from tests.support.certificates import Authority
from tidemark.errors import RegistryRefusedError, RegistryUnreachableError
from tidemark.spec import AvroSpec
from tidemark.topics import http
from tidemark.topics.registry import open_schemas

LOGIN = f"Basic {b64encode(b'tide:hunter2').decode()}"


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSES_SECONDS", (0.0, 0.0))


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry(Registry()) as running:
        yield running


def asked(number: int, **registry: str) -> str | None:
    return open_schemas(AvroSpec.model_validate({"registry": registry}))(number)


def test_a_schema_is_had_by_its_id(registry: Registry) -> None:
    """MSG-19"""
    registry.add(81, {"type": "string"})
    assert asked(81, url=f"{registry.url}/") == '{"type": "string"}'
    assert registry.asked == [81]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="no such id"),
        pytest.param({"schema": "syntax", "schemaType": "PROTOBUF"}, id="of another kind"),
        pytest.param({"schema": '"a.B"', "references": [{"name": "a.B"}]}, id="leaning on others"),
    ],
)
def test_what_is_no_avro_schema_is_unknown(registry: Registry, answer: dict[str, str]) -> None:
    if answer:
        registry.schemas[7] = answer
    assert asked(7, url=registry.url) is None


def test_a_password_is_resolved_when_it_is_needed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.login = LOGIN
    registry.add(1, "string")
    login = {"url": "${env:REGISTRY}", "user": "tide", "password": "${env:REGISTRY_PASSWORD}"}
    monkeypatch.setenv("REGISTRY", registry.url)
    with pytest.raises(RegistryRefusedError, match="REGISTRY_PASSWORD to be set"):
        asked(1, **login)
    monkeypatch.setenv("REGISTRY_PASSWORD", "wrong")
    with pytest.raises(RegistryRefusedError, match="HTTP 401") as refused:
        asked(1, **login)
    assert "wrong" not in str(refused.value)
    monkeypatch.setenv("REGISTRY_PASSWORD", "hunter2")
    assert asked(1, **login) == '"string"'


def test_a_token_is_resolved_when_it_is_needed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.login, token = "Bearer t0ken", {"token": "${env:REGISTRY_TOKEN}"}
    registry.add(1, "string")
    monkeypatch.setenv("REGISTRY_TOKEN", "t0ken\n")
    with pytest.raises(RegistryRefusedError, match="no text of one line") as refused:
        asked(1, url=registry.url, **token)
    assert "t0ken" not in str(refused.value)
    monkeypatch.setenv("REGISTRY_TOKEN", "t0ken")
    assert asked(1, url=registry.url, **token) == '"string"'


def test_a_redirect_is_refused(registry: Registry) -> None:
    registry.failing = 307
    with pytest.raises(RegistryRefusedError, match="HTTP 307, which leads elsewhere"):
        asked(1, url=registry.url)


def test_an_address_from_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY", "registry:8081")
    with pytest.raises(RegistryRefusedError, match="http://host:port"):
        asked(1, url="${env:REGISTRY}")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_registry_that_is_ill_may_be_asked_again(registry: Registry, status: int) -> None:
    registry.failing = status
    with pytest.raises(RegistryUnreachableError, match=f"HTTP {status}"):
        asked(1, url=registry.url)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"404 page not found", id="of a proxy"),
        pytest.param(b"", id="without content"),
        pytest.param({"error_code": 404, "message": "HTTP 404 Not Found"}, id="of another path"),
        pytest.param({"error_code": "40403"}, id="with a text as code"),
        pytest.param(["error_code"], id="with a list"),
    ],
)
def test_a_404_of_something_else_is_no_answer_of_a_registry(
    registry: Registry, content: Any
) -> None:
    """MSG-19: what stands before a registry knows nothing of ids."""
    registry.failing, registry.content = 404, content
    with pytest.raises(RegistryUnreachableError, match=f"^{registry.url}/schemas/ids/7 .*404"):
        asked(7, url=registry.url)


def test_apicurio_names_what_it_does_not_know(registry: Registry) -> None:
    """MSG-19: an id that is one of an artifact has a code of its own."""
    registry.failing, registry.content = 404, {"error_code": 40401, "message": "No artifact"}
    assert asked(7, url=registry.url) is None


def test_a_registry_that_is_away_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(RegistryUnreachableError) as caught:
        asked(1, url=url)
    assert str(caught.value) == (
        f"the schema registry {url}/schemas/ids/1 did not answer: [Errno 111] Connection refused\n"
        "  state: nothing was written; every table is as it was\n"
        "  next:  look whether it runs, then run again"
    )


def test_something_else_at_the_address_is_told(registry: Registry) -> None:
    registry.schemas[1] = {"hello": "world"}
    with pytest.raises(RegistryRefusedError, match="no answer of a schema registry"):
        asked(1, url=registry.url)


def test_only_an_authority_that_is_trusted_is_believed(tmp_path: Path) -> None:
    authority = Authority("registries")
    served, ca = tmp_path / "registry.pem", tmp_path / "ca.pem"
    served.write_text("".join(reversed(authority.issue("registry"))) + authority.pem)
    ca.write_text(authority.pem)
    with running_registry(Registry(), served) as registry:
        registry.add(1, "string")
        with pytest.raises(RegistryRefusedError, match="is not trusted: self-signed certificate"):
            asked(1, url=registry.url)
        assert registry.asked == []
        assert asked(1, url=registry.url, ca=str(ca)) == '"string"'


def test_a_file_without_certificates_is_told(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("nothing")
    with pytest.raises(RegistryRefusedError, match="ca.pem holds no certificates"):
        asked(1, url="https://127.0.0.1:1", ca=str(ca))


def test_a_folder_has_a_file_for_each_id(tmp_path: Path) -> None:
    (tmp_path / "81.avsc").write_text('"string"')
    schemas = open_schemas(AvroSpec(folder=tmp_path))
    assert (schemas(81), schemas(82)) == ('"string"', None)


def test_a_folder_that_is_away_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryRefusedError, match="there is no folder .*gone"):
        open_schemas(AvroSpec(folder=tmp_path / "gone"))(1)
    (tmp_path / "1.avsc").write_bytes(b"\xff")
    with pytest.raises(RegistryRefusedError, match=r"1\.avsc cannot be read: it is not UTF-8"):
        open_schemas(AvroSpec(folder=tmp_path))(1)
