"""Key=value logging: `configure` once at an entry point, `get_logger` everywhere else."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(*, level: int = logging.INFO) -> None:
    """Send events at or above ``level`` to stderr as ``key=value`` lines, times in UTC."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )


def get_logger() -> structlog.typing.FilteringBoundLogger:
    """Logger for events named in snake_case with their values as keywords."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return logger
