"""Write the generated tables of the pages in a folder: ``python -m reference docs``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from reference.fields import with_fields
from reference.formats import with_formats
from reference.metrics import with_metrics
from reference.settings import with_settings
from reference.types import with_types

PAGES: Mapping[str, Callable[[str], str]] = {
    "configure.md": with_fields,
    "quality.md": with_fields,
    "formats.md": with_formats,
    "monitoring.md": with_metrics,
    "types.md": with_types,
    "sources.md": with_settings,
}

for name, renewed in PAGES.items():
    file = Path(sys.argv[1]) / name
    file.write_text(renewed(file.read_text(encoding="utf-8")), encoding="utf-8")
