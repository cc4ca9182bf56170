"""Schemas by id, from a registry over HTTP and from a folder."""

from __future__ import annotations

import json
import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.avro import Registry, body, running_registry
from tests.support.certificates import Authority
from tidemark.errors import RegistryRefusedError, RegistryUnreachableError
from tidemark.formats.avro.body import read_body
from tidemark.formats.avro.framed import framed_schema
from tidemark.formats.avro.schema import InvalidAvroSchemaError, parse_schema
from tidemark.spec import AvroSpec
from tidemark.topics import http
from tidemark.topics.registry import MOST_REFERENCES, open_schemas

DEEP = b"[" * 200_000
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
        pytest.param(
            {
                "schema": '"a.B"',
                "references": [{"name": "a.B", "subject": "gone", "version": 1}],
            },
            id="leaning on one that is gone",
        ),
    ],
)
def test_what_is_no_avro_schema_is_unknown(registry: Registry, answer: dict[str, str]) -> None:
    if answer:
        registry.schemas[7] = answer
    assert asked(7, url=registry.url) is None


def enum(name: str, *symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": name, "namespace": "shop", "symbols": symbols}


def record(name: str, **fields: Any) -> dict[str, Any]:
    declared = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "namespace": "shop", "fields": declared}


def reference(name: str, subject: str, version: int = 1) -> dict[str, Any]:
    return {"name": name, "subject": subject, "version": version}


def test_a_schema_is_had_with_those_that_it_leans_on(registry: Registry) -> None:
    """MSG-19: each once, and those that they lean on themselves before them."""
    registry.add_version("colours/v1", enum("Colour", "red", "green"))
    registry.add_version(
        "sizes", record("Size", colour="shop.Colour"), reference("shop.Colour", "colours/v1")
    )
    registry.schemas[7] = {
        "schema": json.dumps(record("Item", size="Size", colour="Colour")),
        "references": [reference("shop.Size", "sizes"), reference("shop.Colour", "colours/v1")],
    }
    text = asked(7, url=registry.url)
    assert text is not None
    size, colour = (inner for _, inner in parse_schema(text).fields)
    assert (colour.kind, size.fields[0][1]) == ("enum", colour)
    assert colour.properties["symbols"] == ["red", "green"]
    colour_type = enum("Colour", "red", "green")
    size_type = record("Size", colour=colour_type)
    written = body(
        record("Item", size=size_type, colour=colour_type),
        {"size": {"colour": "green"}, "colour": "red"},
    )
    assert read_body(written, parse_schema(text)) == {"size": {"colour": "green"}, "colour": "red"}


@dataclass
class Recorded(Registry):
    """What a real registry answered (registry/ORIGIN.md)."""

    answers: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, path: str, login: str) -> tuple[int, Any]:
        told = self.answers[path]
        return told["status"], told["body"]


def test_a_real_registry_is_understood() -> None:
    """MSG-19: Apicurio by Confluent's interface, with references, and what it does not know."""
    file = Path(__file__).parent / "registry" / "answers.json"
    recorded = Recorded(answers=json.loads(file.read_text("utf-8")))
    with running_registry(recorded) as running:
        text = asked(3, url=running.url)
        assert text is not None
        size, colour = (inner for _, inner in parse_schema(text).fields)
        assert (colour.name, size.fields[0][1]) == ("shop.Colour", colour)
        assert (asked(4, url=running.url), asked(99, url=running.url)) == (None, None)


@pytest.mark.parametrize("links", [1, MOST_REFERENCES + 1])
def test_schemas_that_lean_on_too_many_are_unknown(registry: Registry, links: int) -> None:
    """A registry that is mistaken, or hostile, keeps nobody busy."""
    for link in range(links):
        name, leans_on = f"shop.R{link}", f"shop.R{link + 1}"
        declared = record(f"R{link}", inner=leans_on if link + 1 < links else "int")
        references = [reference(leans_on, leans_on)] if link + 1 < links else []
        registry.add_version(name, declared, *references)
    registry.schemas[7] = {"schema": '"shop.R0"', "references": [reference("shop.R0", "shop.R0")]}
    assert (asked(7, url=registry.url) is not None) == (links == 1)


def test_schemas_that_lean_on_each_other_are_no_schemas(registry: Registry) -> None:
    registry.add_version("a", record("A", b="shop.B"), reference("shop.B", "b"))
    registry.add_version("b", record("B", a="shop.A"), reference("shop.A", "a"))
    registry.schemas[7] = {"schema": '"shop.A"', "references": [reference("shop.A", "a")]}
    text = asked(7, url=registry.url)
    assert text is not None
    with pytest.raises(InvalidAvroSchemaError, match="declared nowhere before it"):
        framed_schema(text)


@pytest.mark.parametrize(
    "references", [7, [7], [{"name": "a"}], [reference("a", "b") | {"version": "x"}]]
)
def test_references_of_another_form_are_told(registry: Registry, references: Any) -> None:
    registry.schemas[7] = {"schema": '"string"', "references": references}
    with pytest.raises(RegistryRefusedError, match="no answer of a schema registry"):
        asked(7, url=registry.url)


@pytest.mark.parametrize(
    "content",
    [
        DEEP,
        b'{"schema": "x", "references": [{"name": "a", "subject": "b", "version": 1e999}]}',
    ],
)
def test_an_answer_that_means_harm_is_none_of_a_registry(
    registry: Registry, content: bytes
) -> None:
    registry.failing, registry.content = 200, content
    with pytest.raises(RegistryRefusedError, match="no answer of a schema registry"):
        asked(7, url=registry.url)


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
    assert refused.value.next_step.startswith("fix what source.avro.registry.token refers to")
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
        pytest.param(b'{"error_code": 1e999}', id="with a code without end"),
        pytest.param(DEEP, id="too deep"),
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
