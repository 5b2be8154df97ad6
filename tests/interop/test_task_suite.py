"""Task suites 1.0: the rules of the format, the three judges and two of our own, and writing them."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.checking.checks import compile_text_check
from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Check, Criterion, Item, Rubric
from honestone.core.suite.case import Case, Message, Split, Suite
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.recognise import read_any_rubric, read_any_suite
from honestone.interop.task_suite.read import (
    keywords_rubric,
    pytest_rubric,
    read_task_suite,
    scored_rubric,
)
from honestone.interop.task_suite.write import dump_task_suite
from property_examples import examples

DATA = Path(__file__).parents[3] / "../shared/data"

GOOD = """\
skill_id: "greeter"
version: "1.0"
description: Greets well
tasks:
  - id: words
    description: Says it
    prompt: |
      Greet me
      warmly
    judge: {type: contains, expected: [Hello, 世界]}
    timeout_seconds: 30
    source: issue 12
  - {id: graded, prompt: Greet, judge: {type: llm-rubric, rubric: Sounds warm, pass_threshold: 0.65}}
"""


def source(folder: Path, text: str) -> SuiteSource:
    (folder / "any-name").write_text(text, encoding="utf-8")
    return read_any_suite(folder / "any-name")


def wrong(folder: Path, text: str) -> list[str]:
    with pytest.raises(UsageError) as raised:
        source(folder, text)
    found = raised.value.errors or (raised.value,)
    return [f"{Path(str(error.place)).name}: {error.message}" for error in found]


def judged(folder: Path, judge: str) -> Rubric:
    """The rubric of a task with this judge."""
    return (
        source(
            folder, f'skill_id: s\nversion: "1.0"\ntasks: [{{id: a, prompt: p, judge: {judge}}}]\n'
        )
        .suite.cases[0]
        .rubric
    )


def met(rubric: Rubric, text: str) -> list[bool]:
    return [compile_text_check(item.check)(text)[0] for _, item in rubric.questions() if item.check]


# ------------------------------------------------------------------------------------------------
# reading


def test_a_task_suite_is_a_suite(tmp_path: Path) -> None:
    """Every documented key has its meaning; a key of somebody else's is noted and changes nothing."""
    found = source(tmp_path, GOOD)
    words, graded = found.suite.cases
    assert (found.suite.skill_id, found.suite.title, found.dialect) == (
        "greeter",
        "Greets well",
        "task-suite-1.0",
    )
    assert (words.messages, words.timeout) == ((Message("user", "Greet me\nwarmly\n"),), 30)
    assert (words.description, words.metadata) == ("Says it", {"source": "issue 12"})
    assert (graded.timeout, graded.attempts) == (300, 1)
    assert found.places["graded"].endswith(":13:5")
    assert sum("`source`" in note for note in found.notes) == 1 and not found.losses


def test_keywords_are_found_in_any_case_and_all_are_needed(tmp_path: Path) -> None:
    """The score is the share that was found; only all of them pass."""
    rubric = judged(tmp_path, "{type: contains, expected: [Hello, 世界, hello]}")
    assert met(rubric, "HELLO 世界") == [True, True, True] and met(rubric, "hello") == [
        True,
        False,
        True,
    ]
    assert (rubric.threshold, rubric.floor) == (1, 0)
    assert len({item.id for _, item in rubric.questions()}) == 3


def test_keywords_that_must_not_be_there(tmp_path: Path) -> None:
    """Ours: the mirror image of `contains`."""
    rubric = judged(tmp_path, "{type: not-contains, expected: [Delve, tapestry]}")
    assert met(rubric, "We delve") == [False, True] and rubric.threshold == 1


def test_a_graded_task_passes_from_its_threshold_on(tmp_path: Path) -> None:
    """A judge answers from 0 to 1; without a threshold it is 0.7, and that is said."""
    graded = source(tmp_path, GOOD).suite.cases[1].rubric
    (item,) = graded.criteria[0].items
    assert (graded.threshold, graded.floor) == (Fraction(65, 100), 0)
    assert item.anchors is not None and (item.anchors.lowest, item.anchors.highest) == (0, 1)
    assert item.requirement == "Sounds warm"
    found = source(tmp_path, GOOD.replace(", pass_threshold: 0.65", ""))
    assert found.suite.cases[1].rubric.threshold == Fraction(7, 10) and any(
        "0.7" in note for note in found.notes
    )


def test_a_whole_rubric_may_be_the_judge(tmp_path: Path) -> None:
    """Ours: criteria, gate and files as in a suite of ours, with errors at their place."""
    rubric = judged(
        tmp_path, "{type: rubric, rubric: {threshold: 40, criteria: [Is short, {check: is-json}]}}"
    )
    assert (rubric.threshold, rubric.floor, len(rubric.criteria)) == (
        Fraction(2, 5),
        Fraction(3, 5),
        2,
    )
    assert len(judged(tmp_path, "{type: rubric, rubric: [Is short]}").criteria) == 1
    text = 'skill_id: s\nversion: "1.0"\ntasks:\n  - {id: a, prompt: p, judge: {type: rubric, rubric: [{id: b, requirement: c, wieght: 1}]}}\n'
    assert wrong(tmp_path, text) == ["any-name:4:79: unknown key `wieght` in criterion `b`"]


def test_the_number_one_is_the_version_too(tmp_path: Path) -> None:
    """Unquoted 1.0 is what people write; the tool refuses it, so it is noted."""
    found = source(tmp_path, GOOD.replace('"1.0"', "1.0"))
    assert any("quotes" in note for note in found.notes)


def test_a_key_that_was_probably_meant_is_named(tmp_path: Path) -> None:
    """Extra keys are allowed, but a slip of the pen is not left unsaid."""
    notes = source(tmp_path, GOOD.replace("timeout_seconds: 30", "timeout_second: 30")).notes
    assert any("did you mean `timeout_seconds`" in note for note in notes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"greeter"', '""', "1:11: `skill_id` is empty"),
        ('skill_id: "greeter"\n', "skill_id:\n", "`skill_id` is empty"),
        ('"1.0"', '"2.0"', "2:10: `version` is '2.0'"),
        ('version: "1.0"\n', "", "`version` is missing"),
        (
            "id: graded",
            "id: words",
            "13:10: task `words`: two tasks have the id `words`: the first is at ",
        ),
        ("id: graded", 'id: ""', "`id` is empty"),
        ("id: graded", "name: graded", "`id` is missing"),
        ("prompt: Greet,", "prompt: ' ',", "task `graded`: `prompt` is empty"),
        ("prompt: Greet,", "", "13:5: task `graded`: `prompt` is missing"),
        ("prompt: Greet,", "prompt: [a],", "task `graded`: `prompt` must be text"),
        ("llm-rubric", "vibes", "task `graded`: `type` is `vibes`, but must be one of"),
        ("type: llm-rubric, ", "", "`type` of `judge` is missing"),
        (
            "judge: {type: llm-rubric, rubric: Sounds warm, pass_threshold: 0.65}",
            "x: y",
            "`judge` is missing",
        ),
        (
            "{type: llm-rubric, rubric: Sounds warm, pass_threshold: 0.65}",
            "yes",
            "`judge` must be a mapping",
        ),
        ("rubric: Sounds warm", "rubric: ''", "`rubric` is empty"),
        ("0.65", "1.5", "`pass_threshold` is 1.5, but must be from 0 to 1"),
        ("0.65", "high", "`pass_threshold` must be a number"),
        ("[Hello, 世界]", "[]", "task `words`: `expected` must be a list"),
        ("[Hello, 世界]", "Hello", "`expected` must be a list"),
        ("[Hello, 世界]", "[Hello, 42]", "10:47: task `words`: `expected` must hold texts, not 42"),
        ("[Hello, 世界]", "['']", "`expected` must hold texts"),
        ("timeout_seconds: 30", "timeout_seconds: 0", "`timeout_seconds` must be above 0"),
        ("timeout_seconds: 30", "timeout_seconds: soon", "`timeout_seconds` must be a number"),
    ],
)
def test_a_broken_rule_is_told_with_place_and_task(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """The validation rules of the format, each with one file that breaks it and nothing else."""
    assert old in GOOD
    found = wrong(tmp_path, GOOD.replace(old, new))
    assert len(found) == 1 and message in found[0], found


@pytest.mark.parametrize("tasks", ["", "tasks: []\n", "tasks: {}\n", "tasks: [text]\n"])
def test_a_suite_needs_tasks(tmp_path: Path, tasks: str) -> None:
    """No tasks, nothing to run."""
    assert len(wrong(tmp_path, f'skill_id: s\nversion: "1.0"\n{tasks}')) == 1


def test_all_broken_rules_are_told_at_once(tmp_path: Path) -> None:
    """In the order of the file."""
    found = wrong(
        tmp_path,
        GOOD.replace('"greeter"', '""')
        .replace("[Hello, 世界]", "[]")
        .replace("vibes", "")
        .replace("0.65", "7"),
    )
    assert [int(error.split(":")[1]) for error in found] == [1, 10, 13]


# ------------------------------------------------------------------------------------------------
# tests beside the suite

PYTEST = 'skill_id: s\nversion: "1.0"\ntasks: [{id: a, prompt: p, judge: {type: pytest, test_file: FILE}}]\n'


def test_a_test_file_beside_the_suite_is_a_check(tmp_path: Path) -> None:
    """It is run by the `pytest` check, which hands over the output's path in AI_OUTPUT_FILE."""
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures/test_it.py").write_text("def test_it(): pass\n")
    found = source(tmp_path, PYTEST.replace("FILE", "fixtures/test_it.py"))
    rubric = found.suite.cases[0].rubric
    (item,) = rubric.criteria[0].items
    assert item.check == Check(kind="pytest", value="fixtures/test_it.py") and rubric.threshold == 1
    assert tmp_path / "fixtures/test_it.py" in found.files


@pytest.mark.parametrize(
    "name",
    [
        "../evil.py",
        "evil.py",
        "/etc/passwd",
        "fixtures/../evil.py",
        "fixtures/none.py",
        "fixtures/sub",
        "fixtures/out.py",
        "fixtures/outdir/evil.py",
        "fixtures/loop",
        "fixtures/pipe",
        "fixturesx/evil.py",
        "fixtures/",
        "''",
    ],
)
def test_a_test_file_cannot_lead_out_of_the_fixtures(tmp_path: Path, name: str) -> None:
    """By its real path: `..`, links that lead out, and what is no file are refused."""
    (tmp_path / "evil.py").write_text("import os\n")
    (tmp_path / "fixturesx").mkdir()
    (tmp_path / "fixturesx/evil.py").write_text("import os\n")
    (tmp_path / "fixtures/sub").mkdir(parents=True)
    (tmp_path / "fixtures/out.py").symlink_to(tmp_path / "evil.py")
    (tmp_path / "fixtures/outdir").symlink_to(tmp_path)
    (tmp_path / "fixtures/loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fixtures/pipe")
    found = wrong(tmp_path, PYTEST.replace("FILE", name))
    assert len(found) == 1 and "task `a`" in found[0]


def test_the_fixtures_folder_itself_is_no_link_out(tmp_path: Path) -> None:
    """A suite cannot call a folder elsewhere its fixtures."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/test_it.py").write_text("")
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/fixtures").symlink_to(tmp_path / "elsewhere")
    assert (
        "leads out" in wrong(tmp_path / "suite", PYTEST.replace("FILE", "fixtures/test_it.py"))[0]
    )


# ------------------------------------------------------------------------------------------------
# real files, specifications


def test_every_suite_that_was_published_loads() -> None:
    """All task suites at hand, with nothing lost."""
    files = sorted(DATA.glob("*/task_suites/*.yaml")) + sorted(
        DATA.glob("samples/**/task_suites/*.yaml")
    )
    if not files:
        pytest.skip("the shared samples are not here")
    for path in files:
        found = read_any_suite(path)
        assert found.dialect == "task-suite-1.0" and len(found.suite.cases) > 1 and not found.losses


SPEC = """\
name: greeter
purpose: Greets
quality_criteria:
  - {name: warmth, description: Sounds warm, weight: 0.75}
  - {name: length, description: Is short, weight: 0.25}
"""


def test_a_skill_specification_is_a_rubric(tmp_path: Path) -> None:
    """What it says about quality can judge; as a suite it is refused for what it is."""
    (tmp_path / "spec").write_text(SPEC)
    found = read_any_rubric(tmp_path / "spec")
    assert isinstance(found, ForeignRubric)
    assert [(c.id, c.weight) for c in found.rubric.criteria] == [
        ("warmth", Fraction(3, 4)),
        ("length", Fraction(1, 4)),
    ]
    assert found.rubric.floor == 0 and found.rubric.title == "greeter"
    with pytest.raises(UsageError, match="is a skill specification") as raised:
        read_any_suite(tmp_path / "spec")
    assert raised.value.place


def test_a_skill_specification_with_tasks_is_a_suite(tmp_path: Path) -> None:
    """Each task has its own judge, else the quality criteria."""
    text = (
        SPEC
        + "tasks:\n  - {id: a, prompt: p}\n  - {id: b, prompt: p, judge: {type: contains, expected: [x]}}\n"
    )
    one, other = source(tmp_path, text).suite.cases
    assert [c.id for c in one.rubric.criteria] == [
        "warmth",
        "length",
    ] and other.rubric.threshold == 1


# ------------------------------------------------------------------------------------------------
# writing

texts = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=30
).filter(lambda text: bool(text.strip()))
trimmed = texts.map(str.strip).filter(bool)
rubrics = st.one_of(
    st.builds(keywords_rubric, st.lists(texts, min_size=1, max_size=4), negated=st.booleans()),
    st.builds(scored_rubric, trimmed, st.integers(0, 1000).map(lambda n: Fraction(n, 1000))),
    st.just(pytest_rubric("fixtures/test_it.py")),
    trimmed.map(
        lambda text: Rubric(
            criteria=(
                Criterion(
                    id="a", requirement=text, items=(Item(id="a", requirement=text, whole=True),)
                ),
            )
        )
    ),
)


@st.composite
def suites(draw: st.DrawFn) -> Suite:
    ids = draw(st.lists(trimmed.filter(str.isprintable), min_size=1, max_size=3, unique=True))
    return Suite(
        skill_id=draw(trimmed),
        title=draw(trimmed),
        cases=tuple(
            Case(
                id=id,
                rubric=draw(rubrics),
                messages=(Message("user", draw(texts)),),
                timeout=draw(st.sampled_from([300.0, 30.0, 0.5])),
                description=draw(st.none() | trimmed),
                metadata=draw(
                    st.dictionaries(
                        st.sampled_from(["source", "generated by"]),
                        texts | st.integers(),
                        max_size=2,
                    )
                ),
            )
            for id in ids
        ),
    )


@settings(max_examples=examples(120), deadline=None)
@given(suites())
def test_what_is_written_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, suite: Suite
) -> None:
    """A suite in the words of the format is the same after writing and reading; losses name only
    our own judges.
    """
    folder = tmp_path_factory.getbasetemp() / "task-suite"
    (folder / "fixtures").mkdir(parents=True, exist_ok=True)
    (folder / "fixtures/test_it.py").write_text("")
    text, losses = dump_task_suite(suite)
    assert read_task_suite(Document(path=folder / "t.yaml", text=text)).suite == suite
    ours = [
        c
        for c in suite.cases
        if "which only honestone reads"
        in " ".join(x.message for x in losses if x.place == f"case `{c.id}`")
    ]
    assert (
        len(losses) == len(ours) == text.count("type: not-contains") + text.count("type: rubric\n")
        or "type:" in suite.title
    )


def test_checks_of_a_native_case_become_keywords(tmp_path: Path) -> None:
    """Case-blind words that all have to be there are what `contains` means; words in their case are
    not.
    """
    (tmp_path / "s.yaml").write_text(
        "suite: 1\ncases:\n  - {id: a, input: p, checks: [{icontains: x}, {icontains: y}]}\n  - {id: b, input: p, checks: [{contains: X}]}\n"
    )
    text, losses = dump_task_suite(read_any_suite(tmp_path / "s.yaml").suite)
    assert text.count("type: contains") == 1 and text.count("type: rubric") == 1
    assert [loss.place for loss in losses] == ["case `b`"]


def test_what_a_task_suite_cannot_say_is_listed(tmp_path: Path) -> None:
    """Nothing of a suite is dropped without a word."""
    suite = source(tmp_path, GOOD).suite
    rich = replace(
        suite.cases[0],
        reference="r",
        split=Split.TEST,
        tags=("t",),
        attempts=3,
        setup=("a",),
        teardown=("b",),
        skip="later",
        messages=(Message("system", "s"), Message("user", "u")),
    )
    text, losses = dump_task_suite(replace(suite, artifact="skill", cases=(rich,)))
    said = " ".join(loss.message for loss in losses)
    for what in (
        "artifact",
        "reference",
        "split",
        "tags",
        "attempts",
        "set-up",
        "teardown",
        "skipped",
        "messages",
    ):
        assert what in said
    assert "system: s" in text
    with pytest.raises(UsageError, match="needs a prompt"):
        dump_task_suite(replace(suite, cases=(replace(rich, messages=()),)))
