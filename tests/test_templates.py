"""The shipped templates: each is sound, passes the linter, is met by a good example and failed by
an empty one.
"""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path

import pytest

from honestone.adapters.checks import CheckRunner
from honestone.core.artifact import Entry, Version
from honestone.core.authoring.lint import lint
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState, Mark
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.formats.rubric.rubric_file import parse_rubric
from honestone.templates import template_names, template_text

GOOD = Path(__file__).parent / "good_examples"
WANTED = {
    "readme",
    "code-review",
    "bug-report",
    "design-doc",
    "skill",
    "prompt",
    "essay",
    "api-docs",
    "release-notes",
    "pull-request",
}
FILE_NAMES = {"skill": "SKILL.md", "readme": "README.md"}


def rubric_of(name: str) -> Rubric:
    return parse_rubric(template_text(name), f"{name}.yaml").rubric


def answers_of_code(
    rubric: Rubric, text: str, file: str
) -> dict[Key, tuple[bool | None, str | None]]:
    """What the checks of a rubric say of a file with this text, alone in its folder."""
    asked = [(key, item.check) for key, item in rubric.questions() if item.check is not None]
    version = Version({file: Entry(text.encode())}, is_folder=False)
    runner = CheckRunner(GOOD)
    findings = asyncio.run(runner.run([check for _, check in asked], version))
    return {key: (found.met, found.note) for (key, _), found in zip(asked, findings, strict=True)}


def test_every_template_that_was_promised_is_there() -> None:
    """Ten kinds of text, and no file that nobody knows of."""
    assert set(template_names()) == WANTED


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_template_is_a_sound_rubric(name: str) -> None:
    """3 to 5 criteria, weights that sum to 100, 5 to 10 items each or five anchors, and nothing for
    the linter to remark.
    """
    rubric = rubric_of(name)
    assert 3 <= len(rubric.criteria) <= 5
    assert sum(criterion.weight for criterion in rubric.criteria) == 100
    for criterion in rubric.criteria:
        anchors = criterion.items[0].anchors
        assert 5 <= len(criterion.items) <= 10 or (anchors is not None and len(anchors.levels) == 5)
    assert [f"{remark.path} {remark.message}" for remark in lint(rubric)] == []


@pytest.mark.parametrize("name", sorted(WANTED))
def test_code_answers_what_it_can(name: str) -> None:
    """Four items in ten at least cost nothing."""
    items = [item for _, item in rubric_of(name).questions()]
    assert Fraction(sum(item.check is not None for item in items), len(items)) >= Fraction(2, 5)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_good_example_meets_every_check(name: str) -> None:
    """Our own example of such a text is refused by none of the checks."""
    text = (GOOD / f"{name}.md").read_text("utf-8")
    found = answers_of_code(rubric_of(name), text, FILE_NAMES.get(name, "text.md"))
    assert {key: note for key, (met, note) in found.items() if met is not True} == {}


@pytest.mark.parametrize("name", sorted(WANTED))
@pytest.mark.parametrize("text", [" \n", "# Title\n\nTODO\n"])
def test_an_empty_text_fails_whatever_judges_say(name: str, text: str) -> None:
    """With a yes of every judge to every item, code alone sends it below a floor."""
    rubric = rubric_of(name)
    found = answers_of_code(rubric, text, FILE_NAMES.get(name, "text.md"))
    checked = Ballot(
        judge=CHECK,
        state=JudgeState.AVAILABLE,
        marks={key: Mark(met) for key, (met, _) in found.items() if met is not None},
    )
    best = {
        key: Mark(True if item.anchors is None else int(item.anchors.highest))
        for key, item in rubric.questions()
        if item.check is None
    }
    flattering = Ballot(judge="flatterer", state=JudgeState.AVAILABLE, marks=best)
    verdict = judge_gate(Scorer(rubric).card([checked, flattering]), rubric)
    assert verdict.outcome is Outcome.FAIL


def test_a_name_that_is_none_gets_the_near_one() -> None:
    """`bug_reprot` is refused with the name that was meant."""
    with pytest.raises(UsageError) as refused:
        template_text("Bug_Reprot")
    assert "bug-report" in str(refused.value.hint)
    with pytest.raises(UsageError):
        template_text("../rubric")
