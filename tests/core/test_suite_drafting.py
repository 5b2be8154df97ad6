"""Drafting suites: tasks from what a skill says, judged by code, with nothing that the linter
minds.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.authoring.skill_text import read_skill
from honestone.core.authoring.suite_drafting import draft_suite, read_model_tasks, telling_words
from honestone.core.authoring.suite_lint import lint_suite
from honestone.core.errors import UsageError
from honestone.core.suite.case import Case
from property_examples import examples

SKILL = """\
---
name: tickets
description: "Sorts support tickets. Use when the user asks to \\"sort my tickets\\" or wants a ticket rated."
---
# Tickets

## When to Use
- When the user asks for a ticket's urgency
- A ticket comes from a customer with a contract

## When NOT to Use
- Writing the reply to a customer → use `reply-writer`
- Never for billing questions

## Rules
- When a customer reports a data loss, answer `SEV-1`
- For a typo on a page: SEV-9
- Always end with the line `-- sorted by hand`
- Never write `ASAP`
- Be kind instead of `curt`

<example>
Input: The login page shows an error 500 since noon
Output: SEV-2, team `identity-crew`
</example>

<anti-example>
Marks everything as `SEV-0`
</anti-example>

## Output
| Request | Deliverable |
| --- | --- |
| A list of open tickets | a file `tickets.csv` |
"""


def checks(case: Case) -> dict[str, list[str]]:
    """The words that code looks for, by the name of the check."""
    found: dict[str, list[str]] = {}
    for _, item in case.rubric.questions():
        if item.check is not None:
            found.setdefault(item.check.name, []).append(item.check.value)
    return found


def drafted(text: str = SKILL, **more: Any) -> dict[str, Case]:
    return {case.id: case for case in draft_suite("tickets", text, **more).suite.cases}


def test_every_part_of_the_skill_becomes_a_task_for_code() -> None:
    """Rules, forbidden words, an example, an output, what it is not for, and a mistake."""
    cases = drafted()
    assert checks(cases["a-customer-reports-a-data-loss"]) == {"icontains": ["SEV-1"]}
    assert checks(cases["a-typo-on-a-page"]) == {"icontains": ["SEV-9"]}
    assert checks(cases["always-sorted-by-hand"]) == {"icontains": ["-- sorted by hand"]}
    assert checks(cases["never-asap"])["not-icontains"] == ["ASAP"]
    assert checks(cases["output-a-list-of-open-tickets"]) == {"icontains": ["tickets.csv"]}
    example = next(case for case in cases.values() if "login page" in case.input)
    assert checks(example) == {"icontains": ["identity-crew"]}
    assert checks(cases["not-for-writing-the-reply-to-a-customer"]) == {
        "icontains": ["reply-writer"]
    }
    outside = checks(cases["not-for-billing-questions"])
    assert "SEV-1" in outside["not-icontains"]
    assert checks(cases["no-sev-0"])["not-icontains"] == ["SEV-0"]
    assert not any(case.rubric.asks_judges for case in cases.values())
    assert 5 <= len(cases) <= 10


def test_silence_does_not_pass_a_task_of_forbidden_words() -> None:
    """Where words must be absent, some words must be there."""
    assert checks(drafted()["never-asap"])["min-words"] == [3]


def test_a_rule_that_says_both_is_left_to_a_person() -> None:
    """`kind instead of curt`: which word belongs where cannot be told by its form."""
    words = [
        word for case in drafted().values() for found in checks(case).values() for word in found
    ]
    assert "curt" not in words


def test_the_linter_minds_nothing_in_a_draft() -> None:
    """No leaked answer, no common word, no prompt twice."""
    draft = draft_suite("tickets", SKILL)
    assert [one for one in lint_suite(draft.suite) if not one.is_advice] == []
    assert draft.to_check


def test_a_skill_with_a_description_alone_gets_tasks_for_judges() -> None:
    """Five ways to ask for it; the rubric is what the skill says of itself."""
    cases = drafted(
        "---\nname: x\ndescription: Folds paper cranes from any sheet.\n---\n# Cranes\n"
    )
    assert len(cases) == 5
    assert all(case.rubric.asks_judges and "paper cranes" in case.input for case in cases.values())


def test_the_phrases_a_skill_answers_to_become_prompts() -> None:
    """What its description quotes, and what its description says users ask for."""
    quoted = read_skill("x", SKILL).requests
    assert quoted[0] == "sort my tickets"
    listed = read_skill(
        "x",
        "---\ndescription: Use when the user asks to sort mail, file it away, or burn it all.\n---\n",
    )
    assert listed.requests == ("sort mail", "file it away", "burn it all")


def test_a_skill_that_says_nothing_is_refused() -> None:
    """No description and no sections: there is nothing to draft from."""
    with pytest.raises(UsageError, match="says too little"):
        draft_suite("x", "---\nname: x\n---\n")


def test_a_chinese_skill_gets_chinese_prompts() -> None:
    """Sections are known by their titles in Chinese and Korean too."""
    text = "---\nname: x\ndescription: 整理工单\n---\n## 何时使用\n- 整理今天的工单\n## 规则\n- 如果丢失数据：回答 `一级故障`\n"
    cases = draft_suite("x", text).suite.cases
    assert any(
        checks(case) == {"icontains": ["一级故障"]} and "丢失数据" in case.input for case in cases
    )
    assert any(case.input.startswith("请帮我处理") for case in cases)


def test_telling_words_are_names_not_words() -> None:
    """Code and quotes first; else what looks like a name; never a place to fill in or a common
    word.
    """
    assert telling_words("answer `SEV-1` and the rest") == ("SEV-1",)
    assert telling_words("write CHANGED_FILES to out.csv, then the end") == (
        "CHANGED_FILES",
        "out.csv",
    )
    assert telling_words("put `<name>` and `the` there") == ()


# ------------------------------------------------------------------------------------------------ a
# model's tasks


def model_task(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"Task {number}",
        "prompt": f"Sort ticket {number}",
        "expected": [f"SEV-{number}"],
        **more,
    }


def test_a_models_sound_tasks_are_taken() -> None:
    """Ids become ids, words stay, a rubric stands alone."""
    read = read_model_tasks(
        [*(model_task(n) for n in range(4)), {"prompt": "Rate it", "rubric": "Names a rate"}]
    )
    assert read.problems == ()
    assert [task.id for task in read.tasks] == ["task-0", "task-1", "task-2", "task-3", "rate-it"]
    assert read.tasks[-1].case().rubric.asks_judges


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (model_task(1, prompt="Is it SEV-1?"), "in the prompt"),
        (model_task(1, expected=["the"]), "nearly any answer"),
        (model_task(1, expected=[]), "nothing says how it is judged"),
        (model_task(1, rubric="x"), "not both"),
        (model_task(1, prompt="  "), "`prompt` must be a text"),
        (model_task(1, expected="SEV"), "lists of texts"),
        (["x"], "must be an object"),
    ],
)
def test_a_models_flawed_task_is_left_out_with_the_reason(entry: Any, problem: str) -> None:
    """The sound ones stay; what was wrong is in words that the model can be told."""
    read = read_model_tasks([*(model_task(n) for n in range(2, 7)), entry])
    assert len(read.tasks) == 5
    assert len(read.problems) == 1
    assert problem in read.problems[0]


def test_too_few_sound_tasks_are_a_problem() -> None:
    """Four are not a suite."""
    assert "5 are needed" in read_model_tasks([model_task(n) for n in range(4)]).problems[-1]
    assert read_model_tasks("x").tasks == ()


@given(st.text(max_size=400), st.lists(st.text(max_size=60), max_size=6))
@settings(max_examples=examples(60))
def test_any_skill_gives_a_sound_draft_or_a_refusal(body: str, bullets: list[str]) -> None:
    """Whatever stands in it: unique ids, no more than asked for, nothing that the linter minds."""
    text = (
        f"---\nname: x\ndescription: {body[:80]!r}\n---\n## Rules\n"
        + "".join(f"- {b}\n" for b in bullets)
        + body
    )
    try:
        suite = draft_suite("x", text, most=7).suite
    except UsageError:
        return
    assert len(suite.cases) <= 7
    assert [one for one in lint_suite(suite) if not one.is_advice] == []
