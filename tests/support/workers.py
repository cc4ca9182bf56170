"""Spark's workers in Python, and how they are lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event

import psutil


def workers() -> Iterator[psutil.Process]:
    """Spark's workers in Python; a daemon forks them."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            parent, command = process.parent(), process.cmdline()
            if parent and parent.cmdline() == command and "pyspark.daemon" in command:
                yield process


@contextmanager
def paused_broker(servers: str) -> Iterator[None]:
    """Suspend the broker at this address, so that no task can finish reading."""
    port = int(servers.rpartition(":")[2])
    (broker,) = [
        process
        for process in psutil.Process().children(recursive=True)
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
    ]
    broker.suspend()
    try:
        yield
    finally:
        broker.resume()


@contextmanager
def killing_workers() -> Iterator[None]:
    """Each is killed as soon as it is there."""
    done = Event()

    def kill() -> None:
        while not done.wait(0.01):
            for process in workers():
                with suppress(psutil.Error):
                    process.kill()

    with ThreadPoolExecutor(1) as threads:
        killing = threads.submit(kill)
        try:
            yield
        finally:
            done.set()
    killing.result()
