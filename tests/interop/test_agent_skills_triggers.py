"""Agent Skills trigger evals: queries become cases about whether the skill is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import never_crashes

from honestone.core.errors import UsageError
from honestone.core.suite.case import Case
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.agent_skills.read import READERS
from honestone.interop.recognise import read_any_suite
from property_examples import examples

READER = next(one for one in READERS if one.name == "agent-skills-triggers")


def read(folder: Path, content: Any) -> SuiteSource:
    (folder / "trigger-eval.json").write_text(json.dumps(content, indent=1))
    return read_any_suite(folder / "trigger-eval.json")


def wanted(case: Case) -> str:
    check = case.rubric.criteria[0].items[0].check
    assert check is not None and len(case.rubric.criteria) == 1
    return check.name


@pytest.mark.parametrize("key", [None, "evals", "queries", "cases"])
def test_each_query_is_a_case_about_the_skill(tmp_path: Path, key: str | None) -> None:
    """A list, or a list below one of the keys that are in use; what else an entry says is metadata."""
    queries = [
        {"query": "Make a page", "should_trigger": True, "reason": "pages"},
        {"id": "w", "query": "The weather?", "should_trigger": False},
    ]
    found = read(
        tmp_path, queries if key is None else {"skill_name": "pages", "owner": "me", key: queries}
    )
    one, two = found.suite.cases
    assert [one.id, two.id, one.input, two.input] == ["1", "w", "Make a page", "The weather?"]
    assert [wanted(one), wanted(two)] == ["skill-loaded", "not-skill-loaded"]
    assert one.metadata["reason"] == "pages" and not found.losses
    assert found.suite.skill_id == (None if key is None else "pages")
    assert key is None or two.metadata == {"owner": "me"}


@pytest.mark.parametrize(
    ("said", "check"),
    [
        ("trigger", "skill-loaded"),
        ("should_trigger", "skill-loaded"),
        ("do_not_trigger", "not-skill-loaded"),
        ("No trigger", "not-skill-loaded"),
        ("yes", "skill-loaded"),
        ("negative", "not-skill-loaded"),
    ],
)
def test_whether_it_triggers_may_be_written_in_words(tmp_path: Path, said: str, check: str) -> None:
    """`expected: trigger` in place of `should_trigger: true`; next to that key it is metadata like
    any other.
    """
    found = read(
        tmp_path,
        {"cases": [{"query": "q", "expected": said}, {"query": "r", "expected": "trigger"}]},
    )
    assert (
        wanted(found.suite.cases[0]) == check
        and not found.losses
        and "expected" not in found.suite.cases[0].metadata
    )
    both = read(tmp_path, [{"query": "q", "should_trigger": False, "expected": said}])
    assert wanted(both.suite.cases[0]) == "not-skill-loaded" and both.suite.cases[0].metadata == {
        "expected": said
    }


def test_two_lists_of_texts_say_what_should_trigger(tmp_path: Path) -> None:
    """The form in which a list says it for all of its queries."""
    found = read(
        tmp_path, {"skill_name": "s", "should_trigger": ["a", "b"], "should_not_trigger": ["c"]}
    )
    assert [(c.input, wanted(c)) for c in found.suite.cases] == [
        ("a", "skill-loaded"),
        ("b", "skill-loaded"),
        ("c", "not-skill-loaded"),
    ]


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("positive", "negative"),
        ("triggers", "non_triggers"),
        ("positive_cases", "negative_cases"),
        ("Trigger", "no-trigger"),
    ],
)
def test_lists_may_have_other_names_and_be_below_another_key(
    tmp_path: Path, yes: str, no: str
) -> None:
    """The words in use for the two lists, with texts or mappings."""
    lists = {yes: ["a", {"prompt": "b", "why": "w"}], no: [{"text": "c"}]}
    for content in (lists, {"skill_name": "s", "trigger_tests": lists}):
        found = read(tmp_path, content)
        assert [(c.input, wanted(c)) for c in found.suite.cases] == [
            ("a", "skill-loaded"),
            ("b", "skill-loaded"),
            ("c", "not-skill-loaded"),
        ]
        assert not found.losses and found.suite.cases[1].metadata["why"] == "w"


def test_lists_for_several_skills_are_a_loss(tmp_path: Path) -> None:
    """Each is about a skill of its own, and one skill is installed."""
    lists = {"should_trigger": ["a"], "should_not_trigger": ["b"]}
    found = read(tmp_path, {"pages": lists, "mails": lists})
    assert len(found.suite.cases) == 4 and [
        "several skills" in loss.message for loss in found.losses
    ] == [True]


@pytest.mark.parametrize("said", [{}, {"should_trigger": "maybe"}, {"expected": "pages"}])
def test_a_query_of_which_nothing_says_whether_it_triggers_is_a_loss(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    """It is skipped; the others are asked."""
    found = read(tmp_path, [{"query": "a", "should_trigger": "no"}, {"query": "b", **said}])
    one, two = found.suite.cases
    assert wanted(one) == "not-skill-loaded" and not one.skip and two.skip
    assert ["nothing says whether" in loss.message for loss in found.losses] == [True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"query": "a", "should_trigger": True}, {"should_trigger": True}], "`query` is missing"),
        ([{"query": "a", "should_trigger": True}, "b"], "a query must be a mapping"),
        ({"should_trigger": ["a", "  "]}, "a query must be text"),
        (
            [
                {"query": "a", "should_trigger": True, "id": "x"},
                {"query": "b", "should_trigger": True, "id": "x"},
            ],
            "two",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    """Each is an error that names what is wrong, and where."""
    with pytest.raises(UsageError) as raised:
        read(tmp_path, content)
    found = raised.value.errors or (raised.value,)
    assert any(message in error.message and error.place for error in found), [
        error.message for error in found
    ]


words = st.sampled_from(
    [
        "query",
        "should_trigger",
        "should_not_trigger",
        "positive",
        "negative",
        "evals",
        "queries",
        "skill_name",
        "id",
        "expected",
        "x",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", " ", "ask", "yes"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(values)
def test_whatever_a_file_holds_is_read_or_refused(value: Any) -> None:
    """No file of this shape crashes the reader."""
    never_crashes(READER, Document(path=Path("t.json"), text=json.dumps(value)))
