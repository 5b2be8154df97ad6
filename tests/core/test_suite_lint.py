"""The linter of suites: each flaw is found where it is, a sound suite has none, and advice is
apart.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.authoring import suite_lint
from honestone.core.authoring.suite_lint import (
    RULES,
    SuiteRemark,
    TaskOutcome,
    is_common,
    lint_results,
    lint_suite,
    lint_with_skill,
)
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric
from honestone.core.numbers import ONE, ZERO
from honestone.core.suite.case import Case, Message, Split, Suite


def checked(*checks: Check, id: str = "keywords") -> Criterion:
    items = tuple(
        Item(id=f"{id}-{n}", requirement=f"check {n}", check=check)
        for n, check in enumerate(checks)
    )
    return Criterion(id=id, requirement=id, items=items)


def words(*expected: str, kind: str = "icontains", negated: bool = False) -> Rubric:
    """A rubric of keywords, as a task suite has them."""
    return Rubric(
        criteria=(checked(*(Check(kind=kind, value=word, negated=negated) for word in expected)),),
        threshold=ONE,
        floor=ZERO,
    )


def judged(text: str = "It is right") -> Criterion:
    item = Item(
        id="j", requirement=text, whole=True, anchors=Anchors(levels=((ZERO, "no"), (ONE, "yes")))
    )
    return Criterion(id="j", requirement=text, items=(item,))


def task(id: str, prompt: str, rubric: Rubric | None = None, **more: object) -> Case:
    return Case(
        id=id, messages=(Message("user", prompt),), rubric=rubric or words(f"zebra-{id}"), **more
    )  # type: ignore[arg-type]


def suite(*cases: Case, **more: object) -> Suite:
    return Suite(cases=cases, **more)  # type: ignore[arg-type]


def flaws(found: list[SuiteRemark]) -> list[tuple[str, str | None]]:
    return [(one.rule, one.case) for one in found if not one.is_advice]


def advice(found: list[SuiteRemark]) -> list[str]:
    return [one.rule for one in found if one.is_advice]


SOUND = [
    task(name, f"What about {name}?")
    for name in ("amber", "birch", "cedar", "daisy", "elder", "fern")
]


def test_a_sound_suite_of_six_has_no_flaw() -> None:
    """Six tasks, each with a word of its own that its prompt does not hold."""
    assert flaws(lint_suite(suite(*SOUND, skill_id="plants"))) == []


@pytest.mark.parametrize(
    ("flawed", "rule"),
    [
        (task("bad", "What about it?", words("is")), "common-words"),
        (task("bad", "What about it?", words("is", "the", "ok")), "common-words"),
        (task("bad", "What about it? The answer is ans-it.", words("ANS-it")), "answer-in-prompt"),
        (task("bad", "You must not use the word delve.", words("plainly")), "only-presence"),
        (task("bad", "Rewrite this and remove every AI word.", words("plainly")), "only-presence"),
        (task("bad", "改写这段话，不要使用这些词。", words("清楚")), "only-presence"),
        (task("bad", "Say something", words("delve", negated=True)), "silence-passes"),
        (
            task("bad", "Q?", Rubric(criteria=(judged(),), threshold=ZERO, floor=ZERO)),
            "cannot-fail",
        ),
        (task("bad", "what about  AMBER?", words("other")), "same-prompt"),
    ],
)
def test_each_flaw_is_found_in_its_case_and_in_no_other(flawed: Case, rule: str) -> None:
    """Among sound tasks the flawed one is the only one named."""
    found = flaws(lint_suite(suite(*SOUND, flawed)))
    assert (rule, "bad") in found
    assert {case for _, case in found} == {"bad"}


@pytest.mark.parametrize(
    "sound",
    [
        task("x", "You must not use the word delve.", words("delve", negated=True)),
        task("x", "You must not use the word delve.", Rubric(criteria=(judged(),))),
        task("x", "Show me\n```\ndo not use x; remove all\n```", words("plainly")),
        task(
            "x",
            "Fix SELECT",
            Rubric(criteria=(checked(Check(kind="contains", value="SELECT")), judged())),
        ),
        task("x", "Fix SELECT", words("SELECT", "placeholder")),
        task("x", "What tier?", words("AI", kind="contains")),
        task(
            "x",
            "Say it",
            Rubric(criteria=(checked(Check(kind="icontains", value="no", negated=True)), judged())),
        ),
    ],
)
def test_what_only_looks_like_a_flaw_is_let_be(sound: Case) -> None:
    """Another check, a judge, a missing word or code in the prompt make it a sound task."""
    assert [
        one for one in flaws(lint_suite(suite(*SOUND, sound))) if one[0] != "silence-passes"
    ] == []


@given(st.from_regex(re.compile(suite_lint._WORDS["absence"], re.VERBOSE)))
def test_words_for_absence_have_one_of_their_signs(text: str) -> None:
    """Texts without a sign are not searched, so no text that the pattern matches may lack one."""
    assert any(sign in text.casefold() for sign in suite_lint._SIGNS_OF_ABSENCE)


def test_any_of_several_words_is_common_when_one_is() -> None:
    """`contains-any` is met by its weakest word."""
    weak = Rubric(criteria=(checked(Check(kind="icontains-any", value=["zebra", "the"])),))
    strong = Rubric(criteria=(checked(Check(kind="icontains-any", value=["zebra", "giraffe"])),))
    assert flaws(lint_suite(suite(task("a", "Q?", weak)))) == [("common-words", "a")]
    assert flaws(lint_suite(suite(task("a", "Q?", strong)))) == []


def test_case_counts_where_the_check_minds_it() -> None:
    """`contains` looks for the letters as they are, so another case in the prompt gives nothing
    away.
    """
    assert (
        flaws(lint_suite(suite(task("a", "about plan b", words("PLAN B", kind="contains"))))) == []
    )
    assert flaws(lint_suite(suite(task("a", "about plan b", words("PLAN B"))))) == [
        ("answer-in-prompt", "a")
    ]


def test_advice_about_size_splits_limits_and_judges() -> None:
    """Few and many tasks, an empty split, odd limits and no check at all are advice only."""
    one = suite(task("a", "Q?", Rubric(criteria=(judged(),)), timeout=1.0), skill_id="s")
    assert advice(lint_suite(one)) == ["short-timeout", "few-tasks", "no-code"]
    many = [task(f"t{n}", f"Q{n}?", split=Split.TRAIN, timeout=9000.0) for n in range(11)]
    found = lint_suite(suite(*many, skill_id="s"))
    assert advice(found) == ["long-timeout"] * 11 + ["many-tasks", "empty-split"]
    assert "val or test" in found[-1].message
    assert flaws(found) == []


def test_size_is_no_matter_where_there_is_no_skill() -> None:
    """A suite of a thousand cases for a model is no skill's suite."""
    assert "many-tasks" not in advice(
        lint_suite(suite(*(task(f"t{n}", f"Q{n}?") for n in range(30))))
    )


def test_runs_show_what_needs_no_skill_and_what_nobody_does() -> None:
    """Passed bare: no signal. Failed everywhere: never passed. A crash shows nothing."""
    shown = [
        TaskOutcome(case="amber", passed=True, is_bare=True),
        TaskOutcome(case="amber", passed=True),
        TaskOutcome(case="birch", passed=False, is_bare=True),
        TaskOutcome(case="birch", passed=True),
        TaskOutcome(case="cedar", passed=False, is_bare=True),
        TaskOutcome(case="cedar", passed=False),
        TaskOutcome(case="daisy", passed=None, is_bare=True),
        TaskOutcome(case="elder", passed=True, is_bare=True),
        TaskOutcome(case="elder", passed=False, is_bare=True),
    ]
    found = lint_results(suite(*SOUND), shown)
    assert flaws(found) == [("no-signal", "amber"), ("never-passed", "cedar")]


def test_one_failure_is_no_pattern() -> None:
    """Once may be chance; twice, with nobody passing it, is told."""
    once = [TaskOutcome(case="amber", passed=False)]
    assert lint_results(suite(*SOUND), once) == []
    assert flaws(lint_results(suite(*SOUND), once * 2)) == [("never-passed", "amber")]


def test_beside_the_skill_names_and_authors_are_looked_at() -> None:
    """Another skill's suite, a prompt that names the skill, one author for both."""
    ours = suite(
        task("a", "Use the plants skill on this."),
        task("b", "What plants grow?"),
        skill_id="animals",
    )
    found = lint_with_skill(ours, "plants", suite_authors=["me@x"], skill_authors=["me@x"])
    assert [(one.rule, one.case) for one in found] == [
        ("other-skill", None),
        ("prompt-names-skill", "a"),
        ("one-author", None),
    ]
    assert all(one.is_advice for one in found)
    two = lint_with_skill(ours, "animals", suite_authors=["me@x"], skill_authors=["me@x", "you@x"])
    assert two == []
    assert lint_with_skill(ours, "animals", suite_authors=[], skill_authors=["me@x"]) == []


@given(st.text(max_size=40), st.text(min_size=1, max_size=20), st.text(max_size=40))
def test_a_prompt_that_holds_its_answer_is_always_found(before: str, word: str, after: str) -> None:
    """Whatever stands around it, an echo of the prompt passes."""
    found = flaws(lint_suite(suite(task("a", f"{before}{word}{after} ?", words(word)))))
    assert ("answer-in-prompt", "a") in found


@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.text(min_size=1, max_size=10)), min_size=1, max_size=8
    )
)
def test_every_remark_has_a_reason_and_a_known_case(rows: list[tuple[str, str]]) -> None:
    """Whatever a suite holds, remarks name cases that are there and rules that are explained."""
    cases = [task(f"c{n}", prompt, words(word)) for n, (prompt, word) in enumerate(rows)]
    for one in lint_suite(suite(*cases)):
        assert one.rule in RULES
        assert one.case is None or one.case in {case.id for case in cases}
        assert one.message
        assert one.suggestion


def test_two_letters_are_common_unless_they_are_an_abbreviation() -> None:
    """`ai` stands in `again`; `AI` with its case does not. Digits and longer words mean something."""
    assert is_common("ai")
    assert not is_common("AI", ignores_case=False)
    assert not is_common("42")
    assert not is_common("injection")
    assert is_common("  The. ")
