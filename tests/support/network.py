"""Who can reach what a test started."""

from __future__ import annotations

import psutil

LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1"}
"""IPv4's, and how a JVM without a preference for IPv4 has it."""


def listening_addresses() -> set[str]:
    """Where any child of this process listens, whichever test started it."""
    return {
        connection.laddr.ip
        for process in psutil.Process().children(recursive=True)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
