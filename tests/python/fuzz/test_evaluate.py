"""The evaluator of the fuzz is plain enough to be checked by hand, in what is easily got wrong."""

from __future__ import annotations

import random
from fractions import Fraction

import pyarrow as pa
import pytest
from columns import KINDS, array, comparable
from evaluate import Literal, compared, matches, truth
from expressions import instant_text, number_text


@pytest.mark.parametrize(
    ("text", "pattern", "escape", "found"),
    [
        ("", "", None, True),
        ("", "%", None, True),
        ("abc", "a%", None, True),
        ("abc", "_b_", None, True),
        ("abc", "_b", None, False),
        ("a%c", "a!%c", "!", True),
        ("abc", "a!%c", "!", False),
        ("🦀", "_", None, True),
        ("aXbXc", "%X%c", None, True),
    ],
)
def test_like(text: str, pattern: str, escape: str | None, found: bool) -> None:
    assert matches(text, pattern, escape) is found


def test_floats_beside_constants() -> None:
    nan, tenth, infinite = comparable(KINDS["f32"], array(KINDS["f32"], [float("nan"), 0.1, float("inf")]))
    assert [compared(op, nan, Fraction(1)) for op in ("=", "<>", "<", ">")] == [False, True, False, False]
    assert compared("=", tenth, Fraction("0.1"))
    assert compared("=", tenth, tenth.exact)
    assert not compared("=", tenth, Fraction("0.10000001"))
    assert compared("<", Fraction(10) ** 400, infinite)


def test_nulls_are_unknown() -> None:
    row = {"a": None, "b": Fraction(1)}
    one = Literal("1", Fraction(1))
    is_a = ("compare", "=", ("column", "a"), ("literal", one))
    is_b = ("compare", "=", ("column", "b"), ("literal", one))
    assert truth(is_a, row) is None
    assert truth(("or", [is_a, is_b]), row) is True
    assert truth(("and", [is_a, ("not", is_b)]), row) is False
    assert truth(("in", ("column", "b"), [Literal("2", Fraction(2)), Literal("NULL", None)], False), row) is None
    assert truth(("is", is_a, None, False), row) is True


def test_texts_of_constants() -> None:
    assert [number_text(Fraction(text)) for text in ("-1.50", "0.001", "1e3")] == ["-1.5", "0.001", "1000"]
    assert number_text(Fraction(1, 3)) is None
    assert instant_text(-1, "T") == "1969-12-31T23:59:59.999999999"


def test_a_case_is_its_number() -> None:
    draw = lambda: [kind.draw(random.Random(7)) for kind in KINDS.values()]  # noqa: E731
    assert repr(draw()) == repr(draw())
    assert array(KINDS["day"], [0]).to_pylist() == pa.array([0], pa.date32()).to_pylist()
