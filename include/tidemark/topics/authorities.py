"""Whom clients of services trust where an installation does not say it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from tidemark.spec.kafka import HTTPS_CA, TOKEN_URL


def system_authorities() -> str | None:
    """File or folder of the authorities that the system trusts; None where it trusts none."""
    system = ssl.get_default_verify_paths()
    return system.cafile or system.capath


def with_authorities(properties: Mapping[str, str]) -> dict[str, str]:
    """``properties`` of librdkafka, with the system's authorities for a token server by TLS.

    Its packaged libcurl looks for them at one path, which Debian and others do not have.
    """
    is_declared = any(f"{HTTPS_CA}.{form}" in properties for form in ("location", "pem"))
    authorities = system_authorities()
    if is_declared or authorities is None or not properties.get(TOKEN_URL, "").startswith("https:"):
        return dict(properties)
    return {**properties, f"{HTTPS_CA}.location": authorities}
