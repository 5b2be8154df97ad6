"""Agent Skills: a skill's evals become a suite; a recorded grading is read as marks and never taken
for a suite.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import never_crashes, put, suite_of

from honestone.core.checking.checks import KINDS
from honestone.core.errors import UsageError
from honestone.core.suite.case import Message
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import words
from honestone.interop.agent_skills.read import READERS
from honestone.interop.recognise import read_any_suite
from property_examples import examples

SAMPLES = Path(__file__).parents[3] / "../shared/data/samples/agentv/v5-next/agent-skills"

GOOD: dict[str, Any] = {
    "skill_name": "greeter",
    "evals": [
        {
            "id": 1,
            "prompt": "Greet me",
            "expected_output": "Hello",
            "assertions": ["Greets back", "Is short"],
        },
        {
            "id": "two",
            "prompt": "Count",
            "expected_output": "Three",
            "files": ["evals/files/a.csv"],
            "expectations": ["Says 3"],
        },
        {"id": 3, "prompt": "Say why", "expected_output": "Because"},
    ],
}


def skill(folder: Path, **files: str | bytes) -> Path:
    """A skill's folder with files below evals/files; its evals folder."""
    place = folder / "skill/evals/files"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (place / name.replace("_", ".")).write_bytes(
            content.encode() if isinstance(content, str) else content
        )
    return folder / "skill/evals"


def read(folder: Path, content: Any) -> SuiteSource:
    (folder / "evals.json").write_text(json.dumps(content, indent=1))
    return read_any_suite(folder / "evals.json")


def wrong(folder: Path, content: Any) -> list[str]:
    with pytest.raises(UsageError) as raised:
        read(folder, content)
    found = raised.value.errors or (raised.value,)
    assert all(error.place for error in found)
    return [error.message for error in found]


def test_evals_are_cases(tmp_path: Path) -> None:
    """Prompt, expected output, assertions and files of each eval; ids as written."""
    evals = skill(tmp_path, a_csv="x,y\n1,2\n")
    found = read(evals, GOOD)
    one, two, three = found.suite.cases
    assert (found.suite.skill_id, found.dialect, [c.id for c in found.suite.cases]) == (
        "greeter",
        "agent-skills",
        ["1", "two", "3"],
    )
    assert (one.messages, one.reference) == ((Message("user", "Greet me"),), "Hello")
    assert [c.requirement for c in one.rubric.criteria] == ["Greets back", "Is short"]
    assert [c.requirement for c in two.rubric.criteria] == ["Says 3"]
    assert two.messages == (Message("user", "Count\n\nInput files: evals/files/a.csv"),)
    assert two.workspace is not None and dict(two.workspace.files) == {
        "evals/files/a.csv": "x,y\n1,2\n"
    }
    assert [c.requirement for c in three.rubric.criteria] == ["Gives what is expected: Because"]
    assert not found.losses and evals.parent / "evals/files/a.csv" in found.files


def test_every_assertion_has_to_hold(tmp_path: Path) -> None:
    """One that most judges deny fails the case, whatever the mean; half of the judges are not most."""
    rubric = read(skill(tmp_path, a_csv=""), GOOD).suite.cases[0].rubric
    assert all(rubric.floor_of(c, None) > c.weight / 2 for c in rubric.criteria)


def test_whether_the_skill_is_used_is_a_check(tmp_path: Path) -> None:
    """`should_trigger` asks the trace, both ways, where such a check exists."""
    evals = [
        {"id": 1, "prompt": "p", "should_trigger": True},
        {"id": 2, "prompt": "q", "should_trigger": False, "assertions": []},
    ]
    found = read(tmp_path, {"skill_name": "s", "evals": evals})
    if "skill-loaded" in KINDS:
        checks = [case.rubric.criteria[0].items[0].check for case in found.suite.cases]
        assert [check.name for check in checks if check] == ["skill-loaded", "not-skill-loaded"]
    else:
        assert len(found.losses) == 2


def test_an_eval_without_anything_to_judge_by_is_skipped(tmp_path: Path) -> None:
    """It is in the suite, says why it is not run, and is told."""
    found = read(tmp_path, {"skill_name": "s", "evals": [{"id": 1, "prompt": "p"}]})
    assert found.suite.cases[0].skip and any("eval `1`" in note for note in found.notes)


def test_a_path_from_the_evals_folder_may_be_elsewhere_in_the_skill(tmp_path: Path) -> None:
    """`../tests/a.swift` is a file of the skill: it is in the workspace by its path in the skill."""
    evals = skill(tmp_path)
    (evals.parent / "tests").mkdir()
    (evals.parent / "tests/a.swift").write_text("let x = 1\n")
    one = {"id": 1, "prompt": "p", "files": ["../tests/a.swift"], "assertions": ["a"]}
    found = read(evals, {"skill_name": "s", "evals": [one]})
    workspace = found.suite.cases[0].workspace
    assert not found.losses and workspace is not None
    assert dict(workspace.files) == {"tests/a.swift": "let x = 1\n"}


def test_an_assertion_that_names_what_to_look_for_is_a_check(tmp_path: Path) -> None:
    """`regex` with `pattern`, `contains` with `value` and their opposites are answered by code;
    keys of other types are losses.
    """
    told = [
        {"text": "Has a date", "type": "regex", "pattern": r"\d{4}-\d\d"},
        {"text": "Names Lima", "type": "contains", "value": "Lima"},
        {"text": "Names no one", "type": "regex_absent", "pattern": "Bob"},
        {"text": "Not Rome", "type": "not_contains", "value": "Rome"},
        {"text": "Looks right", "type": "shape", "pattern": "Bob"},
    ]
    found = read(
        tmp_path, {"skill_name": "s", "evals": [{"id": 1, "prompt": "p", "assertions": told}]}
    )
    date, *more, other = found.suite.cases[0].rubric.criteria
    checks = [one.check for criterion in (date, *more) for one in criterion.items]
    assert [(one.name, one.value) for one in checks if one] == [
        ("regex", r"\d{4}-\d\d"),
        ("contains", "Lima"),
        ("not-regex", "Bob"),
        ("not-contains", "Rome"),
    ]
    assert date.requirement == "Has a date" and other.items[0].check is None
    assert ["`pattern`" in loss.message for loss in found.losses] == [True]


EXPECTING: list[dict[str, Any]] = [
    {
        "id": "a",
        "prompt": "Count",
        "expected_behavior": ["Says 3", "Is short"],
        "fail": ["Guesses"],
    },
    {"id": "b", "prompt": "Bye", "expect": "Says goodbye"},
    {
        "id": "c",
        "prompt": "p",
        "assertions": [{"name": "polite", "check": "Is it polite?"}],
        "expected_behaviors": ["x"],
    },
]


@pytest.mark.parametrize("key", [None, "evals", "test_cases", "cases"])
def test_evals_in_other_words_are_the_same_evals(tmp_path: Path, key: str | None) -> None:
    """The file may be the list itself, or have it under another key; what is expected may be
    written in place of assertions.
    """
    found = read(tmp_path, EXPECTING if key is None else {"skill_name": "s", key: EXPECTING})
    assert found.dialect == "agent-skills" and not found.losses
    asked = [[(c.id, c.requirement) for c in case.rubric.criteria] for case in found.suite.cases]
    assert asked == [
        [
            ("says-3", "Says 3"),
            ("is-short", "Is short"),
            ("not-guesses", "This does not happen: Guesses"),
        ],
        [("gives-what-is-expected", "Gives what is expected: Says goodbye")],
        [("polite", "Is it polite?")],
    ]
    assert found.suite.cases[1].reference == "Says goodbye"


def test_cases_with_prompts_and_nothing_to_judge_by_are_not_evals(tmp_path: Path) -> None:
    """A list of prompts alone is refused, and not read as evals that are all skipped."""
    assert wrong(tmp_path, {"cases": [{"id": "a", "prompt": "p", "category": "x"}]})
    assert wrong(tmp_path, [{"id": "a", "prompt": "p"}])


@pytest.mark.parametrize(
    "said",
    [
        {"required_artifacts": ["x.md"]},
        {"expectedMarkers": ["# Plan"]},
        {"expected_status": 3},
        {"expect": "deploy"},
        {"expected": "find-skills"},
        {"checks": 5},
    ],
)
def test_what_is_measured_and_not_read_is_a_loss(tmp_path: Path, said: dict[str, Any]) -> None:
    """A key that says what is expected in a way that nothing here asks: the eval is skipped, and
    not in silence.
    """
    found = read(tmp_path, {"skill_name": "s", "cases": [{"id": "a", "prompt": "p", **said}]})
    (key,) = said
    assert [f"`{key}`" in loss.message for loss in found.losses] == [True]
    (case,) = found.suite.cases
    assert case.skip and (case.metadata == said or case.reference == said[key])


def test_assertions_may_be_a_text_or_have_names(tmp_path: Path) -> None:
    """One text is one question; below names, the names are the ids; both lists of assertions are
    read.
    """
    named = {"short": "Is short", "kind": {"description": "Is kind"}}
    evals = [
        {"prompt": "p", "assertions": "Is short"},
        {"prompt": "q", "evaluation_criteria": named},
        {"query": "r", "assertions": ["a"], "expectations": ["b"], "must_not": ["c"]},
    ]
    found = read(tmp_path, {"evals": {"basic": evals[:2], "hard": evals[2:]}})
    assert [case.id for case in found.suite.cases] == ["1", "2", "3"] and not found.losses
    asked = [
        [(one.id, one.requirement) for one in case.rubric.criteria] for case in found.suite.cases
    ]
    assert asked == [
        [("is-short", "Is short")],
        [("short", "Is short"), ("kind", "Is kind")],
        [("a", "a"), ("b", "b")],
    ]
    assert found.suite.cases[2].metadata == {"must_not": ["c"]}


def test_what_must_not_be_there_is_asked_where_nothing_else_is(tmp_path: Path) -> None:
    """`must_have` and `must_not_have` are criteria of an eval without assertions."""
    found = read(
        tmp_path,
        {"evals": [{"prompt": "p", "must_have": ["A date"], "must_not_have": ["A guess"]}]},
    )
    asked = [one.requirement for one in found.suite.cases[0].rubric.criteria]
    assert asked == ["A date", "This does not happen: A guess"] and not found.losses


def test_expected_output_in_other_forms_is_one_text(tmp_path: Path) -> None:
    """A list is its lines, a mapping is JSON, and a text in other words is the same; next to
    assertions it is metadata.
    """
    said: list[dict[str, Any]] = [
        {"expected_output": ["A", {"b": 1}]},
        {"expected_result": "Says so."},
        {"expected_result": "Says so.", "expected_output": "C", "assertions": ["d"]},
    ]
    found = read(
        tmp_path, {"evals": [{"id": str(n), "prompt": "p", **one} for n, one in enumerate(said)]}
    )
    assert [case.reference for case in found.suite.cases] == ['A\n{"b": 1}', "Says so.", "C"]
    assert found.suite.cases[2].metadata == {"expected_result": "Says so."} and not found.losses


def test_a_prompt_may_be_messages(tmp_path: Path) -> None:
    """A conversation with its replies is the input; turns that wait for a reply are a loss."""
    talk = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    found = read(tmp_path, {"evals": [{"prompt": talk, "assertions": ["x"]}]})
    assert [one.content for one in found.suite.cases[0].messages] == [
        "a",
        "b",
        "c",
    ] and not found.losses
    turns = read(
        tmp_path, {"tests": [{"query_flow": ["a", "b"], "assertions": ["x"]}, {"query": "q"}]}
    )
    assert ["each turn" in loss.message for loss in turns.losses] == [
        True
    ] and turns.dialect == "agent-skills"
    assert wrong(tmp_path, {"evals": [{"prompt": [5], "assertions": ["x"]}]})


def test_files_may_hold_their_content(tmp_path: Path) -> None:
    """`path` with `content`, or names with contents: the file of the workspace; unsafe names are
    losses.
    """
    files = [{"path": "a.txt", "content": "A"}, {"name": "../../b", "content": "B"}]
    evals = [
        {"prompt": "p", "files": files, "assertions": ["x"]},
        {"prompt": "q", "files": {"c.txt": "C"}, "assertions": ["x"]},
    ]
    found = read(tmp_path, {"evals": evals})
    one, two = (case.workspace for case in found.suite.cases)
    assert one is not None and two is not None
    assert (dict(one.files), dict(two.files)) == ({"a.txt": "A"}, {"c.txt": "C"})
    assert ["leads out" in loss.message for loss in found.losses] == [True]


def test_the_prompt_of_an_assertion_is_asked(tmp_path: Path) -> None:
    """It says how to judge, so it is part of the question and not metadata."""
    told = [
        {
            "text": "Uses real data",
            "type": "semantic",
            "prompt": "Pass only with three values that are not round.",
        }
    ]
    found = read(
        tmp_path, {"skill_name": "s", "evals": [{"id": 1, "prompt": "p", "assertions": told}]}
    )
    (case,) = found.suite.cases
    assert "Pass only with three values" in case.rubric.criteria[0].requirement and not found.losses
    assert case.metadata["assertions"] == [{"type": "semantic"}]


def test_a_folder_of_files_is_given_whole(tmp_path: Path) -> None:
    """Every text file below it, by its path; links are left out, and what is not text is a loss."""
    evals = skill(tmp_path, a_csv="x\n", b_bin=b"\0\1")
    (evals / "files/deep").mkdir()
    (evals / "files/deep/c.txt").write_text("c\n")
    (evals / "files/link").symlink_to("/etc/passwd")
    found = read(
        evals,
        {
            "skill_name": "s",
            "evals": [{"id": 1, "prompt": "p", "files": ["evals/files/"], "assertions": ["a"]}],
        },
    )
    workspace = found.suite.cases[0].workspace
    assert workspace is not None
    assert dict(workspace.files) == {"evals/files/a.csv": "x\n", "evals/files/deep/c.txt": "c\n"}
    (loss,) = found.losses
    assert "`evals/files/b.bin` is not a text file" in loss.message


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("evals/files/b.bin", "is not a text file"),
        ("evals/files/out", "leads out"),
        ("../../x", "leads out"),
        ("/etc/passwd", "is not relative"),
    ],
)
def test_a_file_that_cannot_be_given_is_a_loss(tmp_path: Path, file: str, why: str) -> None:
    """Binary, a link out of the skill, a path from elsewhere: named with its place, not left out in
    silence.
    """
    evals = skill(tmp_path, b_bin=b"\0\1")
    (tmp_path / "secret").write_text("s")
    (evals / "files/out").symlink_to(tmp_path / "secret")
    found = read(
        evals,
        {
            "skill_name": "s",
            "evals": [{"id": 1, "prompt": "p", "files": [file], "assertions": ["a"]}],
        },
    )
    (loss,) = found.losses
    assert why in loss.message and "eval `1`" in loss.message and ":8:" in loss.place
    assert found.suite.cases[0].workspace is None


@pytest.mark.parametrize(
    "file", ["evals/files/none.csv", "../x", "evals/files/a.csv/b", "fixture repo: no spec"]
)
def test_a_file_that_is_not_there_is_a_loss(tmp_path: Path, file: str) -> None:
    """Without its input a case measures something else: a loss with the place. Accepted, the agent
    hears the name alone.
    """
    evals = skill(tmp_path, a_csv="")
    found = read(
        evals,
        {
            "skill_name": "s",
            "evals": [{"id": 1, "prompt": "p", "files": [file], "assertions": ["a"]}],
        },
    )
    assert found.suite.cases[0].workspace is None
    assert found.suite.cases[0].input == f"p\n\nInput files: {file.removeprefix('../')}"
    assert [":8:" in loss.place for loss in found.losses if "is not there" in loss.message] == [
        True
    ]


def test_files_next_to_a_folder_named_eval_are_those_of_the_skill(tmp_path: Path) -> None:
    """Some name it `eval`."""
    (tmp_path / "eval/files").mkdir(parents=True)
    (tmp_path / "eval/files/a.txt").write_text("A")
    found = read(
        tmp_path / "eval",
        {"evals": [{"prompt": "p", "files": ["eval/files/a.txt"], "assertions": ["a"]}]},
    )
    workspace = found.suite.cases[0].workspace
    assert workspace is not None and dict(workspace.files) == {"eval/files/a.txt": "A"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evals": []}, "`evals` must be a list of one eval at least"),
        ({"evals": ["x"]}, "an eval must be a mapping"),
        ({"evals": [{"id": 1, "prompt": "p", "assertions": 5}]}, "`assertions` must be a list"),
        (
            {"evals": [{"id": 1, "prompt": "p", "assertions": [5]}]},
            "an entry of `assertions` must be text",
        ),
    ],
)
def test_a_mistake_is_told_with_place_and_eval(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """One mistake, one error."""
    evals = skill(tmp_path, a_csv="")
    found = wrong(evals, {**GOOD, **change})
    assert len(found) == 1 and message in found[0], found


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"should_trigger": "sometimes"}, "`should_trigger` must be true or false"),
        ({"files": [["x"]]}, "must be a path, not a list"),
        ({"prompt": None}, "an eval without a `prompt`"),
    ],
)
def test_what_cannot_be_read_of_one_eval_is_a_loss(
    tmp_path: Path, said: dict[str, Any], why: str
) -> None:
    """It is named with its eval; the others are read."""
    evals = [
        {"id": "a", "prompt": "p", "assertions": ["x"], **said},
        {"id": "b", "prompt": "q", "assertions": ["y"]},
    ]
    found = read(tmp_path, {"skill_name": "s", "evals": evals})
    assert [why in loss.message and "eval `a`" in loss.message for loss in found.losses] == [True]
    assert found.suite.cases[-1].id == "b"


def test_two_evals_of_one_id_are_two_cases(tmp_path: Path) -> None:
    """The second gets a number, with a note: an id is a name here, and measures nothing."""
    told = {"id": 1, "prompt": "p", "assertions": ["a"]}
    found = read(tmp_path, {"skill_name": "s", "evals": [told, {**told, "prompt": "q"}]})
    assert [(case.id, case.input) for case in found.suite.cases] == [("1", "p"), ("1-2", "q")]
    assert not found.losses and any("two evals have the id `1`" in note for note in found.notes)


def test_a_slip_in_a_key_is_a_loss(tmp_path: Path) -> None:
    """It would drop what judges, so it is refused with the key that was meant, unless losses are
    accepted.
    """
    told = {"id": 1, "prompt": "p", "asertions": ["a"], "expected_output": "b"}
    found = read(tmp_path, {"skill_name": "s", "evals": [told], "evlas": 1})
    assert [(loss.message.split("`")[-2], loss.hint) for loss in found.losses if loss.hint] == [
        ("asertions", "did you mean `assertions`?"),
        ("evlas", found.losses[-1].hint),
    ]


def test_the_published_samples_load() -> None:
    """Evals files at hand; what is lost is only files that were not published."""
    if not SAMPLES.is_dir():
        pytest.skip("the shared samples are not here")
    for path in SAMPLES.glob("*.json"):
        found = read_any_suite(path)
        assert len(found.suite.cases) == 2
        assert all(
            "sales.csv" in loss.message or "should_trigger" in loss.message for loss in found.losses
        )


@settings(max_examples=examples(60), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    words(
                        "id prompt files file path content assertions checks text should_trigger expect fail check type value role"
                    )
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
)
def test_no_evals_crash_the_reader(value: object) -> None:
    """Whatever stands in the file, it is read or refused in words."""
    text = json.dumps({"skill_name": "s", "evals": [value]}, ensure_ascii=True)
    never_crashes(READERS[0], Document(path=Path("no-such-folder/evals.json"), text=text))


# ------------------------------------------------------------------------------------------------
# gradings

GRADING: dict[str, Any] = {
    "expectations": [
        {"text": "Greets back", "passed": True, "evidence": "It says hello"},
        {"text": "Is short", "passed": False, "evidence": "900 words"},
        {"text": "Is kind", "passed": None},
    ],
    "summary": {"passed": 1, "failed": 1, "total": 3, "pass_rate": 0.33},
}


def grading(folder: Path, content: Any) -> Path:
    (folder / "grading.json").write_text(json.dumps(content))
    return folder / "grading.json"


def test_a_grading_is_no_suite(tmp_path: Path) -> None:
    """It is known for what it is, with the way to its suite."""
    with pytest.raises(UsageError, match="recorded grading") as raised:
        read_any_suite(grading(tmp_path, GRADING))
    assert raised.value.place and "evals.json" in str(raised.value.hint)


def test_assertions_may_be_mappings_and_other_keys_are_metadata(tmp_path: Path) -> None:
    """`name` is the criterion's id, `description` (or `text`) its question; what an eval has
    besides is kept with the case.
    """
    evals = [
        {
            "id": 1,
            "prompt": "Greet me",
            "category": "basic",
            "must_have": ["x"],
            "assertions": [
                {"name": "greets", "description": "Greets back"},
                {"text": "Is short", "weight": 2},
                "Is kind",
            ],
        },
        {"id": 2, "prompt": "Bye", "expected_output": "Bye"},
    ]
    document = put(
        tmp_path, json.dumps({"skill_name": "greeter", "notes": "n", "evals": evals}), "evals.json"
    )
    source = suite_of(READERS[0], document)
    first, second = source.suite.cases
    assert [(c.id, c.requirement) for c in first.rubric.criteria] == [
        ("greets", "Greets back"),
        ("is-short", "Is short"),
        ("is-kind", "Is kind"),
    ]
    assert first.metadata == {"notes": "n", "category": "basic", "must_have": ["x"]}
    assert second.metadata == {"notes": "n"}
    (loss,) = source.losses
    assert "`weight` of an assertion" in loss.message


def test_what_an_assertion_says_of_itself_is_metadata(tmp_path: Path) -> None:
    """`kind` and the like are kept with the case; what would change the judging is a loss."""
    told = [
        {"text": "Greets", "kind": "behavioral"},
        "Is short",
        {"name": "n", "description": "Ends", "pattern": "x$"},
    ]
    found = read(
        tmp_path, {"skill_name": "s", "evals": [{"id": 1, "prompt": "p", "assertions": told}]}
    )
    (case,) = found.suite.cases
    assert case.metadata == {"assertions": [{"kind": "behavioral"}, {}, {}]}
    assert ["`pattern`" in loss.message for loss in found.losses] == [True]


@pytest.mark.parametrize("key", ["schema_version", "expected_route", "note", "kind"])
def test_a_key_of_its_own_is_no_slip(tmp_path: Path, key: str) -> None:
    """Only a key that is a known one but for a letter, or for their order, is an error."""
    found = read(
        tmp_path,
        {
            "skill_name": "s",
            key: 1,
            "evals": [{"id": 1, "prompt": "p", "assertions": ["a"], key: 2}],
        },
    )
    assert found.suite.cases[0].metadata == {key: 2} and not found.losses
