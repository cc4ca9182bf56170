"""Who can reach what a test started."""

from __future__ import annotations

import psutil

LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1"}
"""IPv4's, and how a JVM without a preference for IPv4 has it."""


def listening_addresses(program: str = "") -> set[str]:
    """Where children of this process listen whose command line has ``program`` in it."""
    return {
        connection.laddr.ip
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE and program in " ".join(process.cmdline())
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
