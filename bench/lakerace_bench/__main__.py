"""`python -m lakerace_bench`: the same as `lakerace bench`."""

from __future__ import annotations

import sys

from lakerace_bench import main

sys.exit(main())
