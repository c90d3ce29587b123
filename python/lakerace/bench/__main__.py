"""`python -m lakerace.bench`: the same as `lakerace bench`."""

from __future__ import annotations

import sys

from lakerace.bench import main

sys.exit(main())
