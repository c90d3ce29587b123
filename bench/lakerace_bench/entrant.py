"""Who runs in a case: a contestant, or one of the settings that it enters a bench with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lakerace_bench.cases import UPSERTING, Case
from lakerace_bench.contestant import Contestant, ManifestError

_KEYS = {"name", "title", "options"}
_OPTIONAL_KEYS = {"subject", "only", "stores", "tool", "floor"}


@dataclass(frozen=True)
class Entrant:
    """A contestant with the options of one setting."""

    #: The contestant's name, with the setting's after it: `lakerace/orc-auto`.
    name: str
    title: str
    contestant: Contestant
    #: Handed to the contestant with each job; `format` picks the file.
    options: dict[str, Any] = field(default_factory=dict)
    #: Whether ratios are taken of it.
    subject: bool = False
    #: Enters only cases whose variant ends so, or in one of these ways.
    only: tuple[str, ...] = ("",)
    #: Enters only cases on these of its contestant's stores; None: on all.
    stores: tuple[str, ...] | None = None
    #: What it is an entrant of, where that is not the contestant: another tool in the same process.
    tool: str = ""
    #: Not a tool to choose, but the lower bound of the work: it takes part in no ranking.
    floor: bool = False

    def enters(self, case: Case) -> bool:
        """Whether it can do this case."""
        stores = self.contestant.stores if self.stores is None else self.stores
        able = case.bench in self.contestant.jobs and case.path.store in stores
        return able and case.variant.endswith(self.only)

    def reads(self, case: Case) -> bool:
        """Whether it can read tables where this case has them; who makes tables in one bench alone reads only there."""
        makes = {bench for bench in UPSERTING if bench in self.contestant.jobs}
        return case.path.store in self.contestant.stores and (not makes or case.bench in makes)

    @property
    def about(self) -> dict[str, Any]:
        """What a report says of it."""
        contestant = self.contestant
        return {
            "title": self.title,
            "about": contestant.about,
            "languages": list(contestant.languages),
            "subject": self.subject,
            "tool": self.tool or contestant.title,
            **({"options": self.options} if self.options else {}),
            **({"floor": True} if self.floor else {}),
        }


def readers(contestants: list[Contestant]) -> list[Entrant]:
    """All that read tables of some format, whether they make any or not; each once, with its first setting."""
    found = []
    for contestant in contestants:
        if contestant.table:
            entered = [one for bench in UPSERTING for one in entrants([contestant], bench)]
            options = entered[0].options if entered else {}
            title = entered[0].title if entered and entered[0].tool else contestant.title
            found.append(Entrant(contestant.name, title, contestant, options))
    return found


def entrants(contestants: list[Contestant], bench: str) -> list[Entrant]:
    """All that enter `bench`, in the order of the contestants and of their settings."""
    found = []
    for contestant in contestants:
        if bench not in contestant.jobs:
            continue
        settings = contestant.settings.get(bench)
        if settings is None:
            found.append(Entrant(contestant.name, contestant.title, contestant, subject=contestant.subject))
            continue
        for setting in settings:
            if not _KEYS <= setting.keys() <= _KEYS | _OPTIONAL_KEYS:
                keys = f"{sorted(_KEYS)}, and {sorted(_OPTIONAL_KEYS)} if need be"
                raise ManifestError(f"{contestant.folder / 'manifest.json'}: a setting of {bench} has the keys {keys}")
            found.append(
                Entrant(
                    f"{contestant.name}/{setting['name']}",
                    setting["title"],
                    contestant,
                    setting["options"],
                    bool(setting.get("subject", False)),
                    _endings(setting.get("only", "")),
                    tuple(setting["stores"]) if "stores" in setting else None,
                    setting.get("tool", ""),
                    bool(setting.get("floor", False)),
                )
            )
    return found


def _endings(only: str | list[str]) -> tuple[str, ...]:
    return (only,) if isinstance(only, str) else tuple(only)
