"""The one block that names the warehouse's store, for the two libraries that read and write there.

Java is Iceberg in Spark, driver and executors; Python is pyiceberg, by pyarrow. Both know the same
names for a key and an endpoint, and neither what the other calls the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.spec import CatalogSpec, S3Spec

S3_IN_JAVA: Mapping[str, str] = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}


def java_file_io(spec: CatalogSpec) -> Mapping[str, str]:
    """Properties of the catalog for Iceberg in Java; what is said in so many words comes first."""
    if not spec.is_on_s3:
        return spec.properties
    store = spec.s3
    style = {"s3.path-style-access": "true"} if store and store.path_style else {}
    return {**S3_IN_JAVA, **_shared(store), **style, **spec.properties}


def python_file_io(spec: CatalogSpec) -> Mapping[str, str]:
    """Properties of the catalog for pyiceberg."""
    store = spec.s3
    # Of a store with an endpoint pyarrow asks by path, unless it is told not to.
    by_host = store is not None and store.endpoint is not None and not store.path_style
    style = {"s3.force-virtual-addressing": "true"} if by_host else {}
    return {**_shared(store), **style, **spec.properties}


def _shared(store: S3Spec | None) -> Mapping[str, str]:
    if store is None:
        return {}
    secret = store.secret_access_key
    known = {
        "client.region": store.region,
        "s3.endpoint": store.endpoint,
        "s3.access-key-id": store.access_key_id,
        "s3.secret-access-key": secret.get_secret_value() if secret else None,
    }
    return {name: value for name, value in known.items() if value is not None}
