"""Relations of a query: the locations that it names, and what the caller gives by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakerace import _lakerace
from lakerace._errors import Error, NotFoundError, UnsupportedError, UsageError, set_advice, told
from lakerace._location import is_location, located
from lakerace._packages import needed
from lakerace._readable import ReadableRows
from lakerace._sql_advice import advise_reading

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow

    from lakerace._sql_scan import OpenLocation
    from lakerace._sql_text import ParsedQuery, TablePlace

#: Locations that are opened at once: most of the time is that of their stores.
_OPENED_AT_ONCE = 8


def check_names(relations: Mapping[str, Any]) -> None:
    """Raises an error where two names are one in SQL."""
    lowered: dict[str, str] = {}
    for name in relations:
        other = lowered.setdefault(name.lower(), name)
        if other != name:
            raise UsageError(f"relations {other!r} and {name!r}: names in SQL are not case-sensitive")


def is_scanned(source: object) -> bool:
    """Whether a relation is read by a scan: it is a location, a scan or a table."""
    return isinstance(source, ReadableRows) or is_location(source)


def has_scans(relations: Mapping[str, Any]) -> bool:
    """Whether a relation is a scan, which has its own options for reading."""
    return any(is_scanned(source) and not is_location(source) for source in relations.values())


def relation_table(name: str, source: Any) -> pyarrow.Table:
    """Rows of a relation that is no location: they may be taken once, and a query takes them again."""
    try:
        return _table(source)
    except (Error, TypeError) as error:
        error.args = (f"relation {name!r}: {error}",)
        raise


def _table(source: Any) -> pyarrow.Table:
    from lakerace._sources import arrow_stream, is_file

    if is_file(source):
        raise UsageError("a file or its bytes: give its location, or the table that it holds")
    pyarrow = needed("pyarrow")
    try:
        return pyarrow.table(arrow_stream(source))
    except pyarrow.ArrowInvalid as error:
        if "non-struct" not in str(error):
            raise
        kind = type(source).__name__
        message = f"a {kind} is a single column, and not the rows of a table: give a frame that has it, such as series.to_frame()"
        raise UsageError(message) from error


def open_places(
    parsed: ParsedQuery, relations: Mapping[str, Any], limits: Mapping[str, Any], job: _lakerace.Job
) -> dict[str, OpenLocation]:
    """Opens the locations of a query, several at once."""
    from lakerace._sql_scan import OpenLocation

    shared = {name: limits[name] for name in ("threads", "storage_options") if limits[name] is not None}
    wanted: dict[str, Callable[[], OpenLocation]] = {}
    # A location that the query has several times is read in one version.
    first_names: dict[TablePlace, str] = {}
    for name, place in parsed.places.items():
        if first_names.setdefault(place, name) != name:
            continue
        wanted[name] = lambda place=place: _opened_place(place, shared, limits["relation_form"], job)  # type: ignore[misc]
    for name, source in relations.items():
        if is_scanned(source):
            location, options = _scan_of(source, shared)
            is_scan = not is_location(source)
            wanted[name] = lambda location=location, options=options, is_scan=is_scan: OpenLocation(  # type: ignore[misc]
                location, options, job, is_scan=is_scan
            )
    try:
        opened = _opened_together(wanted, job)
        opened |= {name: opened[first_names[place]] for name, place in parsed.places.items()}
        if limits["output"] is not None:
            for place_read in opened.values():
                place_read.native.check_is_no_source(limits["output"])
        return opened
    except BaseException as error:
        if not has_scans(relations):
            advise_reading(error)
        raise


def _opened_together(wanted: Mapping[str, Callable[[], OpenLocation]], job: _lakerace.Job) -> dict[str, OpenLocation]:
    """Opens locations. Several have a thread each; one does not, as to start a thread takes as long as to open a local file."""
    from concurrent.futures import ThreadPoolExecutor

    if len(wanted) == 1:
        return {name: open_it() for name, open_it in wanted.items()}
    with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
        try:
            submitted = {name: pool.submit(open_it) for name, open_it in wanted.items()}
            return {name: future.result() for name, future in submitted.items()}
        except BaseException:
            # The end of the pool waits for the others.
            job.cancel()
            raise


def check_places(
    parsed: ParsedQuery, relations: Mapping[str, Any], limits: Mapping[str, Any], job: _lakerace.Job
) -> None:
    """Refuses settings of stores that apply to no location of the query. Scans among the relations have their own ones."""
    reads = [place.location for place in parsed.places.values()]
    reads += [located(source, "sql")[0] for source in relations.values() if is_location(source)]
    writes = [limits["output"]] if limits["output"] is not None else []
    options = {"storage_options": limits["storage_options"]} if limits["storage_options"] else {}
    _lakerace.check_places(reads, writes, {**options, "job": job})


def _opened_place(place: TablePlace, shared: Mapping[str, Any], relation_form: str, job: _lakerace.Job) -> OpenLocation:
    from lakerace._sql_scan import OpenLocation

    at = {} if place.at is None else {"at": place.at}
    try:
        return OpenLocation(place.location, {**shared, **at}, job)
    except NotFoundError as error:
        if not place.location.isidentifier() or os.path.exists(place.location):
            raise
        name = place.location
        advice = f"give the table {name} as {relation_form}{name}=…, or name a location in quotes"
        raise told(NotFoundError, "no such relation or location", place.location, advice) from error
    except UnsupportedError as error:
        if place.at is not None and (error.advice or "").startswith("omit at:"):
            set_advice(error, "omit AT (…): only Delta tables have versions")
        raise


def _scan_of(source: Any, shared: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The location and the options of a relation."""
    if is_location(source):
        first, listed = located(source, "sql")
        return first, {**shared, **listed}
    scan = source._scanned()
    if scan._part is not None:
        raise UsageError("a task of a scan is not a relation: give the whole scan")
    return scan._location, {**scan._fixed_options(), **({"threads": shared["threads"]} if "threads" in shared else {})}
