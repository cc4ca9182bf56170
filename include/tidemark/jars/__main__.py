"""``python -m tidemark.jars``: fetch jars, or write their lock."""

from __future__ import annotations

import sys

from tidemark.errors import TidemarkError
from tidemark.jars.fetch import main

try:
    main()
except TidemarkError as error:
    sys.exit(str(error))
