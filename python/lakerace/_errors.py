"""Errors, named by the reaction of the caller."""

from __future__ import annotations

import errno
from typing import Any


class Error(Exception):
    """Any error of lakerace. `str(error)` is `place: message (advice)`.

    Those that are an `OSError` have its `errno`; their `filename` is the place.

    Examples:
        >>> try:
        ...     lr.scan("missing.parquet")
        ... except lr.Error as error:
        ...     print(error.kind, error.place)
        not_found missing.parquet
    """

    #: The stable name of the kind, as `--json` prints it.
    kind: str = "internal"
    #: The exit code of the command for this kind.
    exit_code: int = 1
    #: The file or URL and the position in it, where known.
    place: str | None
    #: Advice for the caller, if there is any.
    advice: str | None
    #: The `errno` of an error that is an `OSError`.
    _errno: int | None = None

    def __init__(self, message: str = "", place: str | None = None, advice: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.advice = advice
        if isinstance(self, OSError):
            _describe(self, self._errno, place)

    def __str__(self) -> str:
        # That of an OSError would have the number and the name in it.
        return Exception.__str__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.place, self.advice), self.__dict__


def _describe(error: OSError, number: int | None, place: str | None) -> None:
    """Gives an error what those of the operating system have."""
    error.errno, error.strerror, error.filename = number, str(error), place


def rename(error: Error, path: str, name: str) -> None:
    """Puts a name in place of a path that the caller does not know."""
    error.args = tuple(part.replace(path, name) if isinstance(part, str) else part for part in error.args)
    error.place = error.place and error.place.replace(path, name)
    error.advice = error.advice and error.advice.replace(path, name)
    if isinstance(error, OSError):
        _describe(error, error._errno, error.place)


def set_advice(error: Error, advice: str) -> None:
    """Gives an error an advice, in place of its own one."""
    text = str(error)
    if error.advice is not None:
        text = text.removesuffix(f" ({error.advice})")
    error.args, error.advice = (f"{text} ({advice})",), advice
    if isinstance(error, OSError):
        _describe(error, error._errno, error.place)


def told(kind: type[Error], message: str, place: str | None = None, advice: str | None = None) -> Error:
    """An error of a kind, with its place and its advice in its text."""
    text = message if place is None else f"{place}: {message}"
    return kind(text if advice is None else f"{text} ({advice})", place, advice)


class LakeraceWarning(UserWarning):
    """Something that a call has done in another way than its user may expect, without an error: a column that was left out, an
    option without effect. It has the line of the call; the rows of a stream give it when they end.

    What an argument asks for is no warning: rows that `on_bad_row` leaves out are counted in the result alone.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     rows = lr.scan("orders.parquet", timestamp_unit="ms").count()
        >>> [str(warning.message).partition(":")[0] for warning in caught]
        ['timestamp_unit has no effect']
    """


class InternalError(Error):
    """A fault of lakerace itself: report it.

    Examples:
        >>> lr.InternalError.kind, lr.InternalError.exit_code
        ('internal', 1)
    """


class UsageError(Error, ValueError):
    """The call is wrong: fix the call.

    Examples:
        >>> try:
        ...     lr.scan("orders.parquet", where="price >")
        ... except lr.UsageError as error:
        ...     print(error.kind)
        usage
    """

    kind = "usage"
    exit_code = 2


class NotFoundError(Error, FileNotFoundError):
    """The file, bucket or column does not exist: name another one.

    Examples:
        >>> try:
        ...     lr.scan("orders.parquet", columns=["amount"])
        ... except lr.NotFoundError as error:
        ...     print(error.kind)
        not_found
    """

    kind = "not_found"
    exit_code = 3
    _errno = errno.ENOENT


class InvalidInputError(Error, ValueError):
    """The input is well-formed but not acceptable: wrong types, wrong credentials, bad rows.

    Examples:
        >>> try:
        ...     lr.diff("orders.parquet", "changes.csv", key="customer")
        ... except lr.InvalidInputError as error:
        ...     print(error.kind)
        invalid_input
    """

    kind = "invalid_input"
    exit_code = 4


class CorruptDataError(Error, ValueError):
    """The data is damaged: restore it from elsewhere.

    Examples:
        >>> with open("broken.parquet", "wb") as file:
        ...     length = file.write(b"PAR1, and no footer")
        >>> try:
        ...     lr.scan("broken.parquet")
        ... except lr.CorruptDataError as error:
        ...     print(error.kind)
        corrupt_data
    """

    kind = "corrupt_data"
    exit_code = 5


class UnsupportedError(Error, NotImplementedError):
    """The input is right, but lakerace can't do this: take another way.

    Examples:
        >>> copied = lr.copy("orders.csv", "delta:lake/plain")
        >>> try:
        ...     lr.Table("lake/plain").changes(0)
        ... except lr.UnsupportedError as error:
        ...     print(error.kind)
        unsupported
    """

    kind = "unsupported"
    exit_code = 6


class ConflictError(Error, FileExistsError):
    """Somebody else made or changed it first: look again, then retry.

    Examples:
        >>> try:
        ...     lr.copy("changes.csv", "orders.parquet")
        ... except lr.ConflictError as error:
        ...     print(error.kind)
        conflict
    """

    kind = "conflict"
    exit_code = 7
    _errno = errno.EEXIST


class UnavailableError(Error, ConnectionError):
    """A store or resource does not answer or is full: worth retrying.

    Examples:
        >>> lr.UnavailableError.exit_code, issubclass(lr.UnavailableError, ConnectionError)
        (8, True)
    """

    kind = "unavailable"
    exit_code = 8
