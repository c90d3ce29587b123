"""The words of the Rust crates against limits that only go down.

Counts type names of one word, type names that stand for several types, functions with the names of no verb, doc comments that begin
with a question word, and phrases that docs/glossary.md replaces. The limits are in `vocabulary.json`. A count above its limit fails;
so does one so far below it that the limit can go down.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_suffix(".json")
#: A limit may be above its count by this share: other changes move counts a little.
SLACK = 0.05

TYPE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|trait|union)\s+([A-Z]\w*)", re.MULTILINE)
NO_VERB = re.compile(r"\bfn (?:of|place|behind)\b")
COMMENT = re.compile(r"\s*(//[/!]?)\s?(.*)")
QUESTION = re.compile(r"(What|Whether|Where|How often|Those|Like|Of|One)\b")
PHRASES = re.compile(
    r"\b(behind|beside|anew|nobody|somebody|meanwhile|whatever|what is|at once|passe[sd] over|goes on|stands|is told|are told|to be had)\b"
)


def product_files() -> list[Path]:
    """The Rust files of the crates without tests, benches and examples."""
    left_out = {"tests", "benches", "examples"}
    found = (ROOT / "crates").rglob("*.rs")
    return sorted(path for path in found if path.name != "tests.rs" and not left_out & set(path.parts))


def counts() -> dict[str, int]:
    """The figures by name."""
    types: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for path in product_files():
        text = path.read_text()
        types.update(TYPE.findall(text))
        found["functions without a verb"] += len(NO_VERB.findall(text))
        within_doc = False
        for line in text.splitlines():
            comment = COMMENT.match(line)
            is_doc = comment is not None and comment[1] != "//"
            if comment is not None:
                found["phrases of the old dialect"] += len(PHRASES.findall(comment[2]))
                found["doc comments that begin vaguely"] += (
                    is_doc and not within_doc and bool(QUESTION.match(comment[2]))
                )
            within_doc = is_doc
    found["types of one word"] = sum(number for name, number in types.items() if len(re.findall("[A-Z]", name)) == 1)
    found["types that share a name"] = sum(number for number in types.values() if number > 1)
    return dict(sorted(found.items()))


def main() -> int:
    """Compares counts with limits; `--lower` writes lower limits down."""
    limits: dict[str, int] = json.loads(LIMITS.read_text())
    found = counts()
    if "--lower" in sys.argv[1:]:
        lower = {name: min(number, limits.get(name, number)) for name, number in found.items()}
        LIMITS.write_text(json.dumps(lower, indent=1) + "\n")
        return 0
    above = {name: number for name, number in found.items() if number > limits[name]}
    below = {name: number for name, number in found.items() if number < limits[name] * (1 - SLACK) - 1}
    for name, number in above.items():
        print(f"{name}: {number}, {limits[name]} are allowed: see docs/glossary.md")
    for name, number in below.items():
        print(f"{name}: {number}, far below {limits[name]}: lower the limit by `python tests/vocabulary.py --lower`")
    return 1 if above or below else 0


if __name__ == "__main__":
    sys.exit(main())
