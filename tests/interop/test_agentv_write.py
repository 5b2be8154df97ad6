"""Writing AgentV files: where nothing is said to be lost, the file reads back as the same suite;
else the losses say what.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_rubrics import texts
from made_suites import suites
from msgspec.structs import replace

from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric
from honestone.core.suite.case import (
    AttemptRule,
    Case,
    CaseWorkspace,
    Message,
    Split,
    Suite,
    TargetSpec,
)
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.source import Loss, SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.agentv.rubrics import rated
from honestone.interop.agentv.write import Name, dump_agentv
from honestone.interop.recognise import Reader, recognise
from property_examples import examples

NAMES: tuple[Name, ...] = ("seed", "2", "4", "5")
DIALECTS = {"seed": "agentv-seed", "2": "agentv-2", "4": "agentv-4", "5": "agentv-5"}


def read(text: str) -> SuiteSource:
    document = Document(path=Path("x.yaml"), text=text)
    reader = recognise(document)
    assert isinstance(reader, Reader)
    source = reader.read(document)
    assert isinstance(source, SuiteSource)
    return source


def normal(suite: Suite) -> Suite:
    """The same suite in the one way that AgentV has: the rubric's floor on each criterion, a floor
    of 0 is none, what has a floor is not required besides, and a single attempt has no rule.
    """

    def one(c: Criterion, rubric: Rubric | None) -> Criterion:
        floor = c.floor if c.floor is not None or rubric is None or c.is_penalty else rubric.floor
        children = tuple(one(child, None) for child in c.children)
        return replace(c, floor=floor or None, required=c.required and not floor, children=children)

    cases = tuple(
        replace(
            case,
            rubric=replace(
                case.rubric,
                floor=Fraction(0),
                criteria=tuple(one(c, case.rubric) for c in case.rubric.criteria),
            ),
            attempt_rule=case.attempt_rule if case.attempts > 1 else AttemptRule.MEAN,
            stops_at_pass=case.stops_at_pass and case.attempts > 1,
        )
        for case in suite.cases
    )
    return replace(suite, cases=cases)


# ------------------------------------------------------------------------------------------- what
# AgentV can say

weights = st.sampled_from(
    [Fraction(1), Fraction(3), Fraction("0.5"), Fraction("2.25"), Fraction(0)]
)
floors = st.none() | st.integers(1, 10).map(lambda n: Fraction(n, 10))
names = texts.filter(lambda text: "\n" not in text and text.isprintable())
words = texts.filter(lambda text: "{{" not in text)


def question(id: str, requirement: str, **more: Any) -> Criterion:
    item = Item(id=id, requirement=requirement, anchors=more.pop("anchors", None), whole=True)
    return Criterion(id=id, requirement=requirement, items=(item,), **more)


@st.composite
def scales(draw: st.DrawFn) -> Anchors:
    inner = draw(st.sets(st.integers(1, 9), max_size=3))
    return Anchors(levels=tuple((Fraction(n), draw(words)) for n in (0, *sorted(inner), 10)))


@st.composite
def questions(draw: st.DrawFn, id: str, name: Name) -> Criterion:
    anchors = draw(st.none() | scales())
    no_required = anchors is not None and name == "2"
    return question(
        id,
        draw(words),
        anchors=anchors,
        weight=draw(weights),
        floor=draw(floors),
        required=not no_required and draw(st.booleans()),
    )


@st.composite
def judged(draw: st.DrawFn, id: str) -> Criterion:
    text = draw(words.filter(lambda t: "." not in t and not t.startswith("file:")))
    return rated(id, text, weight=draw(weights), floor=draw(floors), negate=draw(st.booleans()))


_CHECKS = st.one_of(
    st.builds(lambda kind, value: (kind, value), st.sampled_from(["contains", "icontains"]), words),
    st.builds(
        lambda kind, value: (kind, value),
        st.sampled_from(["contains-any", "icontains-all"]),
        st.lists(words, min_size=1, max_size=3),
    ),
    st.builds(lambda kind, value: (kind, value), st.sampled_from(["equals", "ends-with"]), words),
    st.sampled_from(
        [
            ("is-json", True),
            ("regex", "^a+$"),
            ("latency", 200),
            ("cost", 0.25),
            ("tokens", {"total": 5}),
        ]
    ),
    st.sampled_from([("regex", {"pattern": "(?P<n>x)", "flags": "im"})]),
)


@st.composite
def checked(draw: st.DrawFn, id: str) -> Criterion:
    kind, value = draw(_CHECKS)
    check = Check(kind=kind, value=value, negated=draw(st.booleans()))
    requirement = check_in_words(check)
    item = Item(id=id, requirement=requirement, check=check, whole=True)
    return Criterion(
        id=id,
        requirement=requirement,
        weight=draw(weights),
        floor=draw(floors),
        required=draw(st.booleans()),
        items=(item,),
    )


@st.composite
def sayable(draw: st.DrawFn, id: str, name: Name, depth: int = 2) -> Criterion:
    kinds = [
        "question",
        "judged",
        "turned",
        *(["checked"] if name != "seed" else []),
        *(["group", "rubric"] if depth else []),
    ]
    kind = draw(st.sampled_from(kinds))
    if kind == "judged":
        return draw(judged(id))
    if kind == "checked":
        return draw(checked(id))
    if kind in ("question", "turned"):
        found = draw(questions(id, name))
        return replace(found, negate=True) if kind == "turned" else found
    inner = [f"{id}/{n}" for n in range(draw(st.integers(1, 3)))]
    children = tuple(
        draw(questions(i, name) if kind == "rubric" else sayable(i, name, depth - 1)) for i in inner
    )
    return Criterion(
        id=id,
        requirement=id,
        weight=draw(weights),
        floor=draw(floors),
        negate=draw(st.booleans()),
        children=weighed(children),
    )


def weighed(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """With one weight above 0 at least."""
    if any(c.weight > 0 for c in criteria):
        return tuple(criteria)
    return (replace(criteria[0], weight=Fraction(1)), *criteria[1:])


@st.composite
def sayable_suites(draw: st.DrawFn, name: Name) -> Suite:
    """Suites of what the dialect has words for, as `honestone` holds them."""
    late = name in ("4", "5")
    cases = []
    for id in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        ids = [f"c{n}" for n in range(draw(st.integers(1, 3)))]
        bar = draw(st.sampled_from([Fraction(8, 10), Fraction(7, 10)])) if late else Fraction(8, 10)
        floor = draw(st.sampled_from([Fraction(0), Fraction(6, 10)]))
        rubric = Rubric(
            criteria=weighed([draw(sayable(i, name)) for i in ids]), threshold=bar, floor=floor
        )
        roles = st.sampled_from(["user", "system", "assistant"])
        attempts = draw(st.integers(1, 3)) if name != "seed" else 1
        rules = (
            [AttemptRule.PASS_AT_K] if name == "5" else [AttemptRule.PASS_AT_K, AttemptRule.MEAN]
        )
        cases.append(
            Case(
                id=id,
                rubric=rubric,
                reference=draw(words if not late else st.none() | words),
                messages=tuple(
                    draw(st.lists(st.builds(Message, roles, texts), min_size=1, max_size=3))
                ),
                split=draw(st.none() | st.sampled_from(list(Split))),
                tags=tuple(draw(st.lists(words, max_size=2, unique=True))),
                attempts=attempts,
                attempt_rule=draw(st.sampled_from(rules)),
                timeout=draw(st.none() | st.sampled_from([0.5, 30.0])) if name == "5" else None,
                workspace=draw(st.none() | st.just(CaseWorkspace(copy="./seed"))) if late else None,
            )
        )
    return Suite(
        cases=tuple(cases),
        title=draw(st.sampled_from(["", "my-suite"])),
        concurrency=draw(st.none() | st.integers(1, 9)) if late else None,
        target=TargetSpec(use=draw(st.sampled_from([None, "codex", "openai:gpt-5"]))),
    )


SLOWLY = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@SLOWLY
def test_what_agentv_can_say_comes_back_the_same(name: Name, data: st.DataObject) -> None:
    """Suites of the dialect's own means lose nothing and read back as the same suite, in the same
    dialect.
    """
    suite = data.draw(sayable_suites(name))
    text, losses = dump_agentv(suite, name)
    assert losses == []
    source = read(text)
    assert source.dialect == DIALECTS[name]
    assert source.losses == ()
    assert normal(source.suite) == normal(suite)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(suite=suites())
@SLOWLY
def test_any_suite_can_be_written_and_only_says_nothing_lost_when_it_is_so(
    name: Name, suite: Suite
) -> None:
    """Whatever a native suite holds: text that reads as AgentV, and the same suite unless losses
    were listed.
    """
    text, losses = dump_agentv(suite, name)
    assert all(loss.place and loss.message for loss in losses)
    if not losses:
        assert normal(read(text).suite) == normal(suite)


def simple(criterion: Criterion, **more: Any) -> Suite:
    case = Case(
        id="a",
        rubric=Rubric(
            criteria=(question("q", "Q"), criterion), threshold=Fraction(8, 10), floor=Fraction(0)
        ),
        messages=(Message("user", "hi"),),
        reference="R",
        **more,
    )
    return Suite(cases=(case,))


def lost(suite: Suite, name: Name = "4") -> list[Loss]:
    return dump_agentv(suite, name)[1]


@pytest.mark.parametrize(
    ("criterion", "says"),
    [
        (question("p", "P", weight=Fraction(-1)), "penalty"),
        (question("p", "P", weight=Fraction(1, 3)), "1/3"),
        (question("p", "P", fix="make it"), "fix"),
        (
            replace(
                question("p", "P"),
                items=(Item(id="p", requirement="P", whole=True, may_not_apply=True),),
            ),
            "may_not_apply",
        ),
        (
            replace(
                question("p", "P"),
                items=(Item(id="x", requirement="X"), Item(id="y", requirement="Y")),
            ),
            "checklist",
        ),
        (
            question("p", "P", anchors=Anchors(levels=((Fraction(1), "a"), (Fraction(5), "b")))),
            "scale from 1 to 5",
        ),
        (Criterion(id="g", requirement="Good", children=(question("x", "X"),)), "words of a group"),
        (
            Criterion(id="g", requirement="g", required=True, children=(question("x", "X"),)),
            "required",
        ),
    ],
)
def test_what_agentv_cannot_say_is_listed_with_its_criterion(
    criterion: Criterion, says: str
) -> None:
    """Each thing without a word in AgentV is a loss that names case and criterion."""
    (loss,) = lost(simple(criterion))
    assert says in loss.message
    assert "case `a`" in loss.place
    assert f"`{criterion.id}`" in loss.place


def test_the_page_has_no_checks_and_no_other_threshold() -> None:
    """In the page's dialect a check and a threshold other than 80 are losses; AgentV 4 has both."""
    check = Check(kind="contains", value="x")
    criterion = Criterion(
        id="c",
        requirement=check_in_words(check),
        items=(Item(id="c", requirement=check_in_words(check), check=check, whole=True),),
    )
    suite = simple(criterion)
    (case,) = suite.cases
    low = replace(
        suite, cases=(replace(case, rubric=replace(case.rubric, threshold=Fraction(1, 2))),)
    )
    assert [
        "check" in loss.message or "passes at 80" in loss.message for loss in lost(low, "seed")
    ] == [True, True]
    assert lost(low, "4") == []


@pytest.mark.parametrize(
    ("name", "check"),
    [
        (
            "4",
            Check(
                kind="tool-calls",
                value=[{"tool": "x", "arguments": {"q": 1}}],
                options={"mode": "exact", "args": "subset"},
            ),
        ),
        (
            "5",
            Check(
                kind="tool-calls",
                value=[{"tool": "x"}, {"tool": "y"}],
                options={"mode": "in_order"},
            ),
        ),
        ("5", Check(kind="tool-count", value={"x": {"min": 1, "max": 2}})),
        ("5", Check(kind="skill-loaded", value=True, negated=True)),
        ("5", Check(kind="json-schema", value={"type": "object"})),
    ],
)
def test_programs_and_checks_of_a_run_come_back(name: Name, check: Check) -> None:
    """Graders that are programs and checks of what an agent did are written where the dialect has
    them.
    """
    item = Item(id="c", requirement=check_in_words(check), check=check, whole=True)
    suite = simple(Criterion(id="c", requirement=item.requirement, required=True, items=(item,)))
    text, losses = dump_agentv(suite, name)
    assert losses == []
    assert read(text).suite == suite


def test_images_of_an_input_are_lost() -> None:
    """AgentV reads them from files, and they are in the text here."""
    asked = "How many? [[image: data:image/png;base64,iVBORw0KGgoA]]"
    (case,) = simple(question("x", "X")).cases
    assert [
        "images" in loss.message
        for loss in lost(Suite(cases=(replace(case, messages=(Message("user", asked),)),)))
    ] == [True]


def test_a_goal_and_an_answer_are_written_apart_again() -> None:
    """What was read as goal and reference of one case is written as both."""
    text = "tests:\n  - {id: a, criteria: Be kind, input: q, expected_output: Hello, assertions: [{type: rubrics, criteria: [{id: k, outcome: Kind}]}]}\n"
    suite = read(text).suite
    written, losses = dump_agentv(suite, "4")
    assert not losses
    assert "criteria: Be kind" in written
    assert "expected_output: Hello" in written
    assert read(written).suite == suite


def test_every_dialect_of_one_suite_reads_back_alike() -> None:
    """The same suite written in the four dialects is the same suite four times."""
    group = Criterion(
        id="g",
        requirement="g",
        weight=Fraction(2),
        children=(question("x", "X", required=True), question("y", "Y")),
    )
    suite = simple(group)
    assert {normal(read(dump_agentv(suite, name)[0]).suite) == normal(suite) for name in NAMES} == {
        True
    }


@pytest.mark.parametrize(
    ("floor", "required", "back"),
    [(None, False, None), (Fraction(3, 5), False, Fraction(3, 5)), (None, True, 1)],
)
def test_programs_whose_score_counts_come_back(
    floor: Fraction | None, required: bool, back: Fraction | None
) -> None:
    """A scored program keeps its floor; one that must be met has to reach the score that meets it."""
    check = Check(
        kind="grader",
        value=["python", "a b.py"],
        options={"config": {"a": 1}, "scored": True, "takes_text": True},
    )
    item = Item(id="c", requirement=check_in_words(check), check=check, whole=True)
    suite = simple(
        Criterion(
            id="c", requirement=item.requirement, floor=floor, required=required, items=(item,)
        )
    )
    text, losses = dump_agentv(suite, "4")
    assert losses == []
    (case,) = read(text).suite.cases
    own = case.rubric.criteria[-1]
    assert (own.items, own.floor, own.required) == ((item,), back, False)


def test_a_program_that_is_met_or_not_is_a_loss() -> None:
    """AgentV would count a part of the points."""
    check = Check(kind="grader", value=["python", "a.py"])
    item = Item(id="c", requirement=check_in_words(check), check=check, whole=True)
    _, losses = dump_agentv(
        simple(Criterion(id="c", requirement=item.requirement, items=(item,))), "4"
    )
    assert ["counts its score as it is" in str(loss) for loss in losses] == [True]


def test_the_container_of_all_programs_comes_back() -> None:
    """AgentV 4 has one for a case: two, or another dialect, are a loss."""
    container = {"image": "i:1", "memory": "2g", "cpus": 1.5}
    more = {"scored": True, "takes_text": True, "timeout": 9}
    checks = [
        Check(
            kind="grader", value=["p"], options={"container": {**container, "image": image}, **more}
        )
        for image in ("a", "b")
    ]

    def program(id: str, check: Check) -> Criterion:
        words = check_in_words(check)
        return Criterion(
            id=id,
            requirement=words,
            items=(Item(id=id, requirement=words, check=check, whole=True),),
        )

    def suite(*checks: Check) -> Suite:
        children = tuple(program(f"c{number}", check) for number, check in enumerate(checks))
        return simple(Criterion(id="g", requirement="g", children=children))

    text, losses = dump_agentv(suite(checks[0], checks[0]), "4")
    assert losses == []
    (case,) = read(text).suite.cases
    assert [item.check for _, item in case.rubric.questions()][-2:] == [checks[0], checks[0]]
    two, one = suite(*checks), suite(checks[0])
    for losses in (lost(two), lost(one, "5"), lost(one, "2")):
        assert any("container" in loss.message for loss in losses)


CONVERSATION = """\
tests:
  - id: a
    mode: conversation
    input: [{role: system, content: Be brief}]
    turns:
      - {input: Say moss, assertions: [{type: contains, value: moss}, Is kind]}
      - {input: Hello}
      - {input: Two, assertions: [{type: not-contains, value: fern, weight: 2}]}
    assertions: [{type: contains, value: fern}, {name: whole, type: rubrics, criteria: [Stays on topic]}]
    expected_output: Bye
"""


def test_a_conversation_is_written_as_turns() -> None:
    """Its graders too, each with its turn; nothing is lost, and it reads back as the same."""
    for text in (CONVERSATION, CONVERSATION.replace("[{role: system, content: Be brief}]", "[]")):
        suite = read(text).suite
        written, losses = dump_agentv(suite, "4")
        assert losses == []
        assert normal(read(written).suite) == normal(suite)


def test_what_turns_do_not_say_is_a_loss() -> None:
    """Criteria outside the groups of turns, and messages that nothing replies to."""
    (case,) = read(CONVERSATION).suite.cases
    more = replace(case, messages=(*case.messages, Message("user", "Still there?")))
    assert "last reply" in dump_agentv(Suite(cases=(more,)), "4")[1][0].message
    several = replace(
        case,
        messages=(*case.messages, Message("user", "a"), Message("user", "b"), case.messages[2]),
    )
    assert "turn 4 is not one message" in dump_agentv(Suite(cases=(several,)), "4")[1][0].message
    own = replace(
        case, rubric=replace(case.rubric, criteria=(replace(case.rubric.criteria[0], id="mine"),))
    )
    assert "`mine`" in dump_agentv(Suite(cases=(own,)), "4")[1][0].message
    for name in ("seed", "2", "5"):
        assert any(
            "role `target`" in loss.message for loss in dump_agentv(Suite(cases=(case,)), name)[1]
        )
