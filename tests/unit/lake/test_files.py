"""What Iceberg in Java and pyiceberg are told of one store, each in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.lake.files import java_file_io, python_file_io
from tidemark.spec import CatalogSpec

S3_FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
STORE = {"endpoint": "http://store:9000", "region": "here"}
KEY = {"access-key-id": "me", "secret-access-key": "hunter2"}
SHARED = {"client.region": "here", "s3.endpoint": "http://store:9000"}


def catalog(warehouse: str, **options: Any) -> CatalogSpec:
    given = {"name": "lake", "uri": "sqlite:////lake.db", "warehouse": warehouse, **options}
    return CatalogSpec.model_validate(given)


@pytest.mark.parametrize(
    ("spec", "java", "python"),
    [
        pytest.param(catalog("/lake"), {}, {}, id="a disk"),
        pytest.param(catalog("s3://lake/x"), {"io-impl": S3_FILE_IO}, {}, id="Amazon's store"),
        pytest.param(
            catalog("s3://lake/x", s3={**STORE, **KEY, "path-style": True}),
            {
                "io-impl": S3_FILE_IO,
                **SHARED,
                "s3.path-style-access": "true",
                "s3.access-key-id": "me",
                "s3.secret-access-key": "hunter2",
            },
            {**SHARED, "s3.access-key-id": "me", "s3.secret-access-key": "hunter2"},
            id="a store that wants the bucket in the path",
        ),
        pytest.param(
            catalog("s3://lake/x", s3=STORE),
            {"io-impl": S3_FILE_IO, **SHARED},
            {**SHARED, "s3.force-virtual-addressing": "true"},
            id="a store that wants the bucket in the host",
        ),
        pytest.param(
            catalog("s3://lake/x", properties={"io-impl": "my.FileIO", "s3.endpoint": "http://b"}),
            {"io-impl": "my.FileIO", "s3.endpoint": "http://b"},
            {"io-impl": "my.FileIO", "s3.endpoint": "http://b"},
            id="said in so many words",
        ),
    ],
)
def test_store(spec: CatalogSpec, java: dict[str, str], python: dict[str, str]) -> None:
    assert java_file_io(spec) == java
    assert python_file_io(spec) == python
