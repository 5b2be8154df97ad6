"""Suites made by chance, of every shape that a suite file can say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from made_rubrics import points, rubrics, texts, thresholds
from msgspec.structs import replace

from honestone.core.judging.rubric import Rule
from honestone.core.suite.case import (
    AttemptRule,
    Case,
    CaseWorkspace,
    Expect,
    Message,
    Split,
    Suite,
    TargetSpec,
)

FOLDER = "fixture"
"""The folder that a workspace may be copied from: it has to be there when the suite is read."""

ids = texts.filter(str.isprintable)
seconds = st.sampled_from([0.5, 1.0, 30.0, 120.0, 0.1, 1e-05]) | st.integers(1, 10**6).map(float)
contents = texts | st.sampled_from(
    ["", "  ", "a\n", "a\nb\n", "a\n\n", "\n a", "a\n  b\n\nc\n", "x: y\n- z\n"]
)
commands = st.lists(
    st.sampled_from(["make test", "sh -c 'a: b # \"c\" > d'", "./seed.sh -x", "echo {a}", "off"]),
    max_size=3,
).map(tuple)


@st.composite
def spans(draw: st.DrawFn) -> tuple[Fraction, Fraction]:
    low, high = sorted((draw(points), draw(points)))
    return low, high


@st.composite
def workspaces(draw: st.DrawFn) -> CaseWorkspace:
    how = draw(st.sampled_from(["copy", "git", "none"]))
    names = draw(
        st.lists(
            st.sampled_from(["a.txt", "off", "1.0", "src/b.py", "한.md"]), unique=True, max_size=3
        )
    )
    git = how == "git"
    return CaseWorkspace(
        copy=FOLDER if how == "copy" else None,
        git=draw(
            st.sampled_from(["repo", "git@host:a/b.git", "ssh://u@host/a", "../x y", "/r@2/s"])
        )
        if git
        else None,
        ref=draw(st.sampled_from([None, "v1.2", "main", "feature/x", "1.0"])) if git else None,
        files={name: draw(contents) for name in names},
    )


@st.composite
def cases(draw: st.DrawFn, id: str) -> Case:
    rubric = replace(
        draw(rubrics()),
        combine=draw(st.none() | st.sampled_from(Rule)),
        quorum=draw(st.none() | st.sampled_from([1, 2, "all"])),
    )
    known = sorted({c.id for c, _ in rubric.walk()} - {"verdict", "score"})
    criteria = {
        name: draw(spans())
        for name in (
            draw(st.lists(st.sampled_from(known), unique=True, max_size=2)) if known else ()
        )
    }
    score = draw(st.none() | spans())
    verdict: Any = draw(st.sampled_from([None, "pass", "fail", "inconclusive"]))
    expect = Expect(verdict=verdict, score=score, criteria=criteria)
    return Case(
        id=id,
        rubric=rubric,
        messages=tuple(
            draw(
                st.lists(
                    st.builds(Message, st.sampled_from(["user", "system", "tool"]), contents),
                    max_size=3,
                )
            )
        ),
        reference=draw(st.none() | texts | st.just("a\n\nb\n")),
        split=draw(st.none() | st.sampled_from(list(Split))),
        tags=tuple(draw(st.lists(texts, unique=True, max_size=2))),
        timeout=draw(st.none() | seconds),
        attempts=draw(st.integers(1, 5)),
        attempt_rule=draw(st.sampled_from(list(AttemptRule))),
        setup=draw(commands),
        teardown=draw(commands),
        workspace=draw(st.none() | workspaces()),
        skip=draw(st.none() | texts),
        expect=expect if expect != Expect() else None,
    )


@st.composite
def suites(draw: st.DrawFn) -> Suite:
    """Often with much in common, so that what stands at the top is tried too."""
    names = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    made = [draw(cases(names[0]))]
    for name in names[1:]:
        if draw(st.booleans()):
            made.append(replace(made[0], id=name))
        else:
            other = draw(cases(name))
            made.append(
                replace(other, rubric=made[0].rubric, expect=None) if draw(st.booleans()) else other
            )
    if draw(st.booleans()):  # the same criteria, another bar
        made[-1] = replace(
            made[-1], rubric=replace(made[-1].rubric, threshold=draw(thresholds), title="")
        )
    if draw(st.booleans()):  # a gate in common
        made = [
            replace(
                c,
                rubric=replace(
                    c.rubric, threshold=made[0].rubric.threshold, floor=made[0].rubric.floor
                ),
            )
            for c in made
        ]
    return Suite(
        cases=tuple(made),
        title=draw(st.just("") | texts),
        artifact=draw(st.none() | texts),
        target=draw(
            st.builds(
                TargetSpec,
                parameters=st.sampled_from(
                    [
                        {},
                        {
                            "temperature": 0.5,
                            "extra": {"tools": [{"name": "a", "on": True}], "x: y": None},
                        },
                    ]
                ),
                use=st.none() | texts,
                skill=st.none() | st.booleans(),
                timeout=st.none() | seconds,
                output=st.sampled_from(["text", "json"]),
            )
        ),
        concurrency=draw(st.none() | st.integers(1, 64)),
    )
