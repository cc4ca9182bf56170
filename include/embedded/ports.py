"""Ports on 127.0.0.1 for the embedded services."""

from __future__ import annotations

import random
import socket

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, below those that outgoing connections are given at random."""
    free: list[int] = []
    for port in random.sample(range(20_000, 32_000), 200):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) != 0:
                free.append(port)
        if len(free) == count:
            break
    return free
