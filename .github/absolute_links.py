"""Makes the relative links of README.md absolute: PyPI shows the page without the files that it links to.

    python .github/absolute_links.py v0.1.0

rewrites README.md in place, with links to that tag.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REPOSITORY = "lakerace/lakerace"
_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


def with_absolute_links(text: str, tag: str) -> str:
    """The text of a page in the root folder, with links to a tag of the repository."""

    def absolute(link: re.Match[str]) -> str:
        image, words, path = link.groups()
        host = "https://raw.githubusercontent.com" if image else "https://github.com"
        folder = tag if image else f"blob/{tag}"
        return f"{image}{words}({host}/{REPOSITORY}/{folder}/{path})"

    return _LINK.sub(absolute, text)


if __name__ == "__main__":
    page = Path("README.md")
    page.write_text(with_absolute_links(page.read_text(encoding="utf-8"), sys.argv[1]), encoding="utf-8")
