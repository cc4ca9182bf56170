"""Who can reach what a test started."""

from __future__ import annotations

import psutil

LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1"}
"""IPv4's, and how a JVM without a preference for IPv4 has it."""


def listening_addresses(program: str = "") -> set[str]:
    """Where children of this process listen whose command line has ``program`` in it."""
    children = psutil.Process().children(recursive=True)
    return {address for process in children for address in _listening(process, program)}


def _listening(process: psutil.Process, program: str) -> set[str]:
    try:
        if process.status() == psutil.STATUS_ZOMBIE or program not in " ".join(process.cmdline()):
            return set()
        connections = process.net_connections("inet")
    except psutil.NoSuchProcess:  # it ended since it was listed
        return set()
    return {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
