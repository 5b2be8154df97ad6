"""Rubrics made by chance, of every shape that a rubric file can say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric

_SAYABLE = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
_TRICKY = st.sampled_from(
    [
        "yes",
        "no",
        "off",
        "null",
        "~",
        "1.0",
        "0x1f",
        "1e3",
        "true",
        "- x",
        "a: b",
        "a #b",
        "#x",
        "'",
        '"',
        "{",
        "[a]",
        "*x",
        "&x",
        "!x",
        "%x",
        "@x",
        "|",
        ">",
        "?",
        "? a",
        "- ",
        ":",
        "a:",
        "<<",
        "---",
        "...",
        "a\nb",
        "한국어",
        "a\n\n  b\nc",
        "\\d+",
        "it's",
        "x\u2028y",
        "x\x7fy",
        "x\x85y",
        "😀",
        "=",
        "`x`",
        ",",
        "a, b",
        "12:30",
        "a\tb",
        "a\r\nb",
        "./tools/fix.sh -x",
    ]
)
texts = (st.text(_SAYABLE, min_size=1, max_size=40) | _TRICKY).map(str.strip).filter(bool)
fractions = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**4))
decimals = st.builds(
    lambda n, places: Fraction(n, 10**places), st.integers(1, 10**6), st.integers(0, 5)
)
points = st.builds(lambda n: Fraction(n, 10_000), st.integers(0, 10_000))
thresholds = st.builds(lambda n: Fraction(n, 10_000), st.just(0) | st.integers(100, 10_000))
"""None above 0 and below 1 point: that was meant as a share, and is refused."""

_values = st.recursive(
    st.booleans() | st.integers(-99, 99) | st.sampled_from([0.5, 1e22, 1e-7]) | _TRICKY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TRICKY, inner, max_size=3),
    max_leaves=5,
)


def _check(kind: str, values: st.SearchStrategy[Any], **options: Any) -> st.SearchStrategy[Check]:
    one_by_one = {key: st.just(value) for key, value in options.items()}
    return st.builds(
        Check,
        kind=st.just(kind),
        value=values,
        negated=st.booleans(),
        options=st.fixed_dictionaries({}, optional=one_by_one),
    )


checks = st.one_of(
    _check(
        "contains", texts | st.lists(texts, min_size=1, max_size=3), path="docs/*.md", match="any"
    ),
    _check("is-json", st.none(), path="x.json"),
    _check("links-resolve", st.none()),
    _check("max-words", st.integers(0, 9999)),
    _check("regex", st.sampled_from([r"(?m)^\s*1[.)]", "a{1,2}", "'\"", "x: y"])),
    _check("json-schema", st.dictionaries(_TRICKY, _values, max_size=3)),
    _check(
        "command",
        st.sampled_from(["make test", "sh -c 'a: b # \"c\" > d'", ["sh", "-c", "x\ny"]]),
        expect_exit=3,
        timeout=1.5,
        expect_stdout={"contains": "a: b"},
    ),
)


@st.composite
def anchors(draw: st.DrawFn) -> Anchors:
    values = draw(
        st.lists(decimals | decimals.map(lambda x: -x), min_size=2, max_size=5, unique=True)
    )
    return Anchors(levels=tuple((value, draw(texts)) for value in sorted(values)))


@st.composite
def items(draw: st.DrawFn, id: str) -> Item:
    how = draw(st.sampled_from(["ask", "check", "scale"]))
    return Item(
        id=id,
        requirement=draw(texts),
        check=draw(checks) if how == "check" else None,
        anchors=draw(anchors()) if how == "scale" else None,
        fix=draw(st.none() | texts),
        may_not_apply=draw(st.booleans()),
    )


@st.composite
def criteria(draw: st.DrawFn, id: str, depth: int = 2) -> Criterion:
    criterion = Criterion(
        id=id,
        requirement=draw(texts),
        weight=draw(decimals),
        floor=draw(st.none() | points),
        required=draw(st.booleans()),
        negate=draw(st.integers(0, 4)) == 0,
        fix=draw(st.none() | texts),
    )
    if depth and draw(st.integers(0, 4)) == 0:
        children = tuple(
            draw(criteria(f"{id}.{n}", depth - 1)) for n in range(draw(st.integers(1, 3)))
        )
        return replace(criterion, children=children)
    listed = tuple(
        draw(items(draw(texts.map(lambda t, n=n: f"{n}{t}"))))
        for n in range(draw(st.integers(0, 4)))
    )
    how = draw(st.sampled_from(["check", "scale", *(["none"] if listed else ["ask"])]))
    if how == "none":
        return replace(criterion, items=listed)
    whole = Item(
        id=id,
        requirement=criterion.requirement,
        check=draw(checks) if how == "check" else None,
        anchors=draw(anchors()) if how == "scale" else None,
        may_not_apply=draw(st.booleans()),
        whole=True,
    )
    if not listed and how == "ask" and draw(st.booleans()):
        criterion = replace(
            criterion, weight=-criterion.weight, floor=None, required=False, negate=False
        )
    return replace(criterion, items=(*listed, whole))


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    ids = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    first = draw(criteria(ids[0]).filter(lambda criterion: not criterion.is_penalty))
    rest = tuple(draw(criteria(id)) for id in ids[1:])
    every = [c.id for top in (first, *rest) for c, _ in top.walk()]
    if len(set(every)) < len(every) or any(
        not any(child.weight > 0 for child in c.children)
        for top in (first, *rest)
        for c, _ in top.walk()
        if c.children
    ):
        rest = ()
        first = replace(
            first,
            children=(),
            items=(Item(id=first.id, requirement=first.requirement, whole=True),),
        )
    return Rubric(
        title=draw(st.just("") | texts),
        threshold=draw(thresholds),
        floor=draw(points),
        criteria=(first, *rest),
    )
