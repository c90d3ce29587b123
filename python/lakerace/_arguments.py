"""Arguments of the public functions: flags that are none, and texts that UTF-8 can't hold."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import ParamSpec, TypeVar

from lakerace._errors import Error, UsageError, told

_P = ParamSpec("_P")
_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)

#: The annotations of flags.
_FLAGS = frozenset({"bool", "bool | None"})
#: Characters of a text that errors show.
_SHOWN_CHARACTERS = 60


def checked_arguments(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function with errors that name the argument: of a flag that is no bool, which Python would take for true, and of a text
    with half of a surrogate pair.

    Raises:
        TypeError: A flag is no bool.
        UsageError: A text can't be encoded.
    """
    flags = frozenset(name for name, annotation in call.__annotations__.items() if annotation in _FLAGS)

    @functools.wraps(call)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for name in flags.intersection(kwargs):
            _check_flag(name, kwargs[name])
        try:
            return call(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # the call itself has begun
            import inspect

            advised = _advised(str(error), inspect.signature(call).parameters)
            if advised is None:
                raise
            raise TypeError(advised) from None
        except UnicodeEncodeError as error:
            import inspect  # it takes long, and few calls need it

            failure = _unencodable(error, inspect.signature(call).bind_partial(*args, **kwargs).arguments)
            if failure is None:
                raise
            raise failure from error

    return checked


def checked_methods(cls: _C) -> _C:
    """The class with the arguments of its public methods checked by :func:`checked_arguments`."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(cls, name, checked_arguments(member))
    return cls


#: Names that other libraries have for arguments.
_OTHER_NAMES = {"filter": "where", "predicate": "where", "set": "updates"}
_UNKNOWN_ARGUMENT = re.compile(r"(.*got an unexpected keyword argument '(\w+)')")


def _advised(message: str, parameters: Iterable[str]) -> str | None:
    """Python's message on arguments that do not fit a function, with advice; `None` where there is none."""
    if message.endswith("missing 1 required positional argument: 'where'"):
        return f'{message}: "true" is true of all rows'
    unknown = _UNKNOWN_ARGUMENT.match(message)
    if unknown is None:
        return None
    import difflib

    names = set(parameters)
    other = _OTHER_NAMES.get(unknown[2])
    found = [other] if other in names else difflib.get_close_matches(unknown[2], names, 1)
    return f"{unknown[1]}: did you mean {found[0]}?" if found else None


def _check_flag(name: str, value: object) -> None:
    kind = type(value)
    is_numpy = kind.__module__ == "numpy" and kind.__name__ in {"bool", "bool_"}
    if not (value is None or isinstance(value, bool) or is_numpy):
        given = "a function" if callable(value) else f"a value of type {kind.__name__}"
        raise TypeError(f"{name}: True or False is expected, not {given}")


def _unencodable(error: UnicodeEncodeError, arguments: Mapping[str, object]) -> Error | None:
    """The error of the argument with the text that can't be encoded; `None` where code of the caller has failed."""
    text = error.object
    at = next((at for at, character in enumerate(text) if _is_half(character)), None)
    name = next((name for name, value in arguments.items() if _has_text(value, text)), None)
    if at is None or (name is None and not _is_own(error)):
        return None
    shown = ascii(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…")
    message = f"{shown} has half of a surrogate pair as its character {at + 1}"
    return told(UsageError, message, name, "give whole characters; a file whose name is not UTF-8 has to be renamed")


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _is_own(error: BaseException) -> bool:
    """Whether the innermost code that raised an error is the package's."""
    module, trace = "", error.__traceback__
    while trace is not None:
        module, trace = str(trace.tb_frame.f_globals.get("__name__", "")), trace.tb_next
    return module.partition(".")[0] == "lakerace"


def _has_text(value: object, text: str) -> bool:
    """Whether a text is a value, a part of it, or made of it: `delta:` may be in front of a location."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return any(map(_is_half, value)) and (value in text or text in value)
    if isinstance(value, Mapping):
        return any(_has_text(part, text) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return any(_has_text(part, text) for part in value)
    return False
