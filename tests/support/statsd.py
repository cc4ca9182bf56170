"""A server that takes what Airflow sends by StatsD, over UDP."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Condition, Thread

LARGEST = 65_536
SECONDS = 30.0


class StatsdServer:
    """What came so far, while a thread of its own reads: Airflow's own metrics fill any buffer."""

    def __init__(self, listening: socket.socket) -> None:
        self._socket = listening
        self._gauges: dict[str, float] = {}
        self._came = Condition()

    @property
    def settings(self) -> Mapping[str, str]:
        """What Airflow's environment names it by."""
        host, port = self._socket.getsockname()
        return {
            "AIRFLOW__METRICS__STATSD_ON": "True",
            "AIRFLOW__METRICS__STATSD_HOST": host,
            "AIRFLOW__METRICS__STATSD_PORT": str(port),
            "AIRFLOW__METRICS__STATSD_PREFIX": "airflow",
        }

    @property
    def gauges(self) -> dict[str, float]:
        """Name without the prefix -> newest value."""
        with self._came:
            return dict(self._gauges)

    def awaited(self, name: str, value: float) -> dict[str, float]:
        """All gauges, once that called ``name`` has ``value``; TimeoutError where it does not."""
        with self._came:
            if not self._came.wait_for(lambda: self._gauges.get(name) == value, SECONDS):
                raise TimeoutError(f"{name} is {self._gauges.get(name)}, and not {value}")
            return dict(self._gauges)

    def read(self) -> None:
        """Take packets until an empty one."""
        while packet := self._socket.recv(LARGEST):
            with self._came:
                for line in packet.decode().splitlines():
                    name, _, rest = line.removeprefix("airflow.").partition(":")
                    value, _, kind = rest.partition("|")
                    if kind == "g":
                        self._gauges[name] = float(value)
                self._came.notify_all()


@contextmanager
def statsd_server() -> Iterator[StatsdServer]:
    """A server on this machine, until the block ends."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        server = StatsdServer(listening)
        reader = Thread(target=server.read)
        reader.start()
        try:
            yield server
        finally:
            listening.sendto(b"", listening.getsockname())
            reader.join()
