"""The suite reader: what each key means, and every mistake told with its place and its case."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.errors import UsageError
from honestone.core.suite.case import AttemptRule, Case, CaseWorkspace, Message, Split, TargetSpec
from honestone.formats.source import SourceErrors, SuiteSource
from honestone.formats.suite.places import Places
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.suite_values import split_ref, unsafe_name
from honestone.formats.syntax import json_nodes
from honestone.formats.syntax.document import MOST_HEAD, Document
from honestone.formats.syntax.nodes import DrawnKey, Node
from honestone.interop.recognise import read_any_suite
from property_examples import examples


def source(folder: Path, text: str) -> SuiteSource:
    (folder / "suite.yaml").write_text(text, encoding="utf-8")
    return read_any_suite(folder / "suite.yaml")


def one(folder: Path, case: str, head: str = "") -> Case:
    """The case of a suite with this one."""
    return source(folder, f"suite: 1\n{head}cases:\n  - {case}\n").suite.cases[0]


def errors(folder: Path, text: str) -> list[str]:
    """`line:column: message` of everything that is told to be wrong."""
    with pytest.raises(UsageError) as raised:
        source(folder, text)
    found = raised.value.errors or (raised.value,)
    assert all(error.place for error in found)
    return [f"{Path(str(error.place)).name}: {error.message}" for error in found]


GOOD = """\
suite: 1
cases:
  - {id: fine, input: x, checks: [{contains: x}]}
  - {id: wrong, checks: [{contains: x}]}
"""


# ------------------------------------------------------------------------------------------------
# what keys mean


def test_every_key_of_a_suite_is_read(tmp_path: Path) -> None:
    """All keys at once; what a case does not say it has from the suite."""
    (tmp_path / "app").mkdir()
    found = source(
        tmp_path,
        """\
suite: 1
title: Words
artifact: skills/triage
target: {use: claude, skill: true, timeout: 12.5, output: json}
rubric: [Is polite]
threshold: 80
floor: 0
attempts: 3
attempt_rule: pass^k
timeout: 60
setup: make seed
teardown: make clean
workspace: {copy: app}
concurrency: 4
cases:
  - {id: plain, input: Hello}
  - id: rich
    input: [{role: system, content: Be brief}, {role: user, content: Hello}]
    reference: "  A greeting\\n"
    rubric: [Is short]
    checks: [{contains: [Hi]}, is-json]
    split: val
    tags: [slow, 1.0]
    timeout: 0.5
    attempts: 1
    attempt_rule: best
    setup: [a 1, b 2]
    teardown: c
    workspace: {files: {src/x.py: "x = 1\\n"}}
    skip: not ready
    expect: {verdict: fail, score: [10, 30.5], is-short: [0, 100]}
""",
    )
    suite, (plain, rich) = found.suite, found.suite.cases
    assert (suite.title, suite.artifact, suite.concurrency) == ("Words", "skills/triage", 4)
    assert suite.target == TargetSpec(use="claude", skill=True, timeout=12.5, output="json")
    assert (plain.attempts, plain.attempt_rule, plain.timeout) == (3, AttemptRule.PASS_HAT_K, 60)
    assert (plain.setup, plain.teardown, plain.workspace) == (
        ("make seed",),
        ("make clean",),
        CaseWorkspace(copy="app"),
    )
    assert (plain.rubric.threshold, plain.rubric.floor) == (Fraction(4, 5), 0)
    assert plain.messages == (Message("user", "Hello"),)
    assert rich.messages == (Message("system", "Be brief"), Message("user", "Hello"))
    assert rich.reference == "  A greeting\n"
    assert [c.id for c in rich.rubric.criteria] == [
        "is-polite",
        "is-short",
        "contains-hi",
        "is-json",
    ]
    assert (rich.split, rich.tags, rich.skip) == (Split.VAL, ("slow", "1.0"), "not ready")
    assert (rich.timeout, rich.attempts, rich.attempt_rule) == (0.5, 1, AttemptRule.BEST)
    assert rich.setup == ("make seed", "a 1", "b 2") and rich.teardown == ("c", "make clean")
    assert rich.workspace == CaseWorkspace(files={"src/x.py": "x = 1\n"})
    assert rich.expect is not None and rich.expect.verdict == "fail"
    assert rich.expect.score == (Fraction(1, 10), Fraction(305, 1000))
    assert rich.expect.criteria == {"is-short": (0, 1)}
    assert found.places == {
        "plain": f"{tmp_path / 'suite.yaml'}:16:5",
        "rich": f"{tmp_path / 'suite.yaml'}:17:5",
    }
    assert (found.dialect, found.base, found.files) == (
        "honestone",
        tmp_path,
        (tmp_path / "suite.yaml",),
    )
    assert not found.notes and not found.losses


@pytest.mark.parametrize("id", ["off", "no", "1.0", "0x1f", "true", "1_000", "한국어", "a b"])
def test_an_id_is_the_text_as_written(tmp_path: Path, id: str) -> None:
    """`off` is no boolean and `1.0` is no number when it names a case."""
    assert one(tmp_path, f"{{id: {id}, input: x, rubric: [Is short]}}").id == id


def test_a_target_may_be_a_plain_text(tmp_path: Path) -> None:
    """`target: cmd:cat` is enough."""
    found = source(tmp_path, GOOD.replace("suite: 1", "suite: 1\ntarget: 'cmd:cat x'"))
    assert found.suite.target == TargetSpec(use="cmd:cat x")


def test_equal_checks_get_ids_of_their_own(tmp_path: Path) -> None:
    """Two checks that ask the same, and one whose name a criterion has already, do not collide."""
    case = one(
        tmp_path,
        "{id: a, rubric: [{id: is-json, requirement: x}], checks: [is-json, is-json, {contains: x}]}",
    )
    assert [c.id for c in case.rubric.criteria] == [
        "is-json",
        "is-json-2",
        "is-json-3",
        "contains-x",
    ]
    assert all(c.weight == 1 and c.items[0].check for c in case.rubric.criteria[1:])


# ------------------------------------------------------------------------------------------------
# whose gate holds

OWN = {
    "": "[Own]",
    "40": "{threshold: 40, criteria: [Own]}",
    "40/10": "{threshold: 40, floor: 10, criteria: [Own]}",
}
SHARED = {
    "": "[Shared]",
    "90": "{threshold: 90, criteria: [Shared]}",
    "90/20": "{file: shared.yaml}",
}


@pytest.mark.parametrize("suite", ["", "50/30"])
@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("own", OWN)
def test_the_gate_is_the_cases_own_then_the_shared_one_then_the_suites(
    tmp_path: Path, own: str, shared: str, suite: str
) -> None:
    """Threshold and floor, each by itself, come from the nearest rubric that names it, else from
    the suite, else 70 and 60.
    """
    (tmp_path / "shared.yaml").write_text(
        "rubric: 1\nthreshold: 90\nfloor: 20\ncriteria: [Shared]\n"
    )
    head = f"rubric: {SHARED[shared]}\n" + ("threshold: 50\nfloor: 30\n" if suite else "")
    rubric = one(tmp_path, f"{{id: a, input: x, rubric: {OWN[own]}}}", head).rubric
    named = [pair.split("/") for pair in (own, shared, suite or "70/60", "70/60") if pair]
    threshold = next(pair[0] for pair in named)
    floor = next(pair[1] for pair in named if len(pair) > 1)
    assert (rubric.threshold * 100, rubric.floor * 100) == (int(threshold), int(floor))
    assert [c.id for c in rubric.criteria] == ["shared", "own"]


@pytest.mark.parametrize(
    ("own", "shared", "quorum"),
    [
        ("[Own]", "[Shared]", None),
        ("{quorum: 2, criteria: [Own]}", "[Shared]", 2),
        ("[Own]", "{quorum: all, criteria: [Shared]}", "all"),
        ("[Own]", "{file: shared.yaml}", 3),
        ("{quorum: 2, criteria: [Own]}", "{file: shared.yaml}", 2),
    ],
)
def test_a_quorum_is_that_of_the_nearest_rubric_that_names_one(
    tmp_path: Path, own: str, shared: str, quorum: int | str | None
) -> None:
    """As the bars of the gate are."""
    (tmp_path / "shared.yaml").write_text("rubric: 1\nquorum: 3\ncriteria: [Shared]\n")
    case = one(tmp_path, f"{{id: a, input: x, rubric: {own}}}", f"rubric: {shared}\n")
    assert case.rubric.quorum == quorum


def test_a_penalty_may_stand_beside_the_checks_that_it_takes_from(tmp_path: Path) -> None:
    """An own rubric with nothing but a penalty is sound where checks stand beside it."""
    case = one(
        tmp_path,
        "{id: a, input: x, rubric: [{id: rude, requirement: Is rude, weight: -1}], checks: [is-json]}",
    )
    assert [c.weight for c in case.rubric.criteria] == [-1, 1]


# ------------------------------------------------------------------------------------------------
# files beside it


def test_rubrics_and_inputs_are_read_from_files(tmp_path: Path) -> None:
    """`{file: PATH}` means beside the suite; every file read is listed, once."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r/shared.yaml").write_text("rubric: 1\ntitle: Shared\ncriteria: [Is polite]\n")
    (tmp_path / "long.md").write_text("  Two\nlines\n")
    (tmp_path / "b.md").write_text("B\n")
    found = source(
        tmp_path,
        """\
suite: 1
rubric: {file: r/shared.yaml}
cases:
  - {id: a, input: {file: long.md}, reference: {file: b.md}}
  - {id: b, input: {files: [long.md, b.md]}}
  - {id: c, input: [{role: user, content: {file: b.md}}]}
""",
    )
    a, b, c = found.suite.cases
    assert a.input == "  Two\nlines\n" and a.reference == "B\n" and c.input == "B\n"
    assert b.input == "long.md:\n\n  Two\nlines\n\nb.md:\n\nB"
    assert a.rubric.title == "Shared"
    assert sorted(path.name for path in found.files) == [
        "b.md",
        "long.md",
        "shared.yaml",
        "suite.yaml",
    ]


def test_errors_of_a_rubric_file_have_its_place(tmp_path: Path) -> None:
    """A mistake in a shared rubric is told once, in the file where it is to be mended."""
    (tmp_path / "shared.yaml").write_text(
        "rubric: 1\ncriteria:\n  - {id: a, requirement: x, wieght: 2}\n"
    )
    text = "suite: 1\ncases:\n  - {id: a, input: x, rubric: {file: shared.yaml}}\n  - {id: b, input: x, rubric: {file: shared.yaml}}\n"
    assert errors(tmp_path, text) == ["shared.yaml:3:29: unknown key `wieght` in criterion `a`"]


def test_a_missing_file_is_told_where_it_is_named(tmp_path: Path) -> None:
    """Rubric, input and folder that are not there: the place in the suite, and the case."""
    text = "suite: 1\ncases:\n  - {id: a, input: {file: no.md}, rubric: {file: no.yaml}, workspace: {copy: no}}\n"
    found = errors(tmp_path, text)
    assert len(found) == 3 and all(
        error.startswith("suite.yaml:3:") and "case `a`" in error for error in found
    )


def test_a_pipe_is_no_input(tmp_path: Path) -> None:
    """A named pipe or a device would keep the reader waiting for ever."""
    os.mkfifo(tmp_path / "pipe")
    assert (
        "is not a file"
        in errors(tmp_path, "suite: 1\ncases: [{id: a, input: {file: pipe}, rubric: [x]}]\n")[0]
    )


# ------------------------------------------------------------------------------------------------
# mistakes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{id: wrong,", "{id: wrong, inptu: x,", "4:17: case `wrong`: unknown key `inptu`"),
        (
            "wrong, checks: [{contains: x}]",
            "wrong",
            "4:5: case `wrong`: there is nothing to judge it by",
        ),
        (
            "id: fine",
            "id: wrong",
            "4:10: case `wrong`: two cases have this id, the first in line 3",
        ),
        (
            "{id: wrong,",
            "{id: wrong, attempts: 0,",
            "4:27: case `wrong`: `attempts` is 0, but must be a whole number from 1",
        ),
        (
            "{id: wrong,",
            "{id: wrong, attempts: 1.5,",
            "`attempts` is 1.5, but must be a whole number",
        ),
        (
            "{id: wrong,",
            "{id: wrong, attempts: true,",
            "`attempts` is true, but must be a whole number",
        ),
        ("{id: wrong,", "{id: wrong, attempts: 99999999,", "10000 is the most"),
        (
            "{id: wrong,",
            "{id: wrong, attempt_rule: most,",
            'case `wrong`: `attempt_rule` is "most"',
        ),
        ("wrong, checks: [{contains", "wrong, checks: [{contians", "unknown check `contians`"),
        ("wrong, checks: [{contains: x}]", "wrong, checks: []", "`checks` is empty"),
        ("{id: wrong,", "{id: wrong, timeout: soon,", '4:26: case `wrong`: `timeout` is "soon"'),
        (
            "{id: wrong,",
            "{id: wrong, timeout: 0,",
            "`timeout` is 0, but must be a number of seconds above 0",
        ),
        ("{id: wrong,", "{id: wrong, timeout: 1e300,", "seconds are the most"),
        ("{id: wrong,", "{id: wrong, split: dev,", '`split` is "dev"'),
        ("{id: wrong,", "{id: wrong, skip: true,", "`skip` is true, but must be text"),
        ("{id: wrong,", "{id: wrong, rubric: shared.yaml,", '`rubric` is "shared.yaml"'),
        ("{id: wrong,", "{id: wrong, rubric: {title: x},", "this rubric has no `criteria`"),
        (
            "{id: wrong,",
            "{id: wrong, rubric: {threshold: 101, criteria: [x]},",
            "`threshold` is 101",
        ),
        (
            "{id: wrong,",
            "{id: wrong, rubric: [{id: contains-y, requirement: x, flor: 3}],",
            "unknown key `flor`",
        ),
        (
            "{id: wrong,",
            "{id: wrong, rubric: [{id: a, requirement: x}, {id: a, requirement: y}],",
            "two criteria have the id `a`",
        ),
        ("{id: wrong,", "{id: wrong, expect: {score: [30, 10]},", "the lower end first"),
        ("{id: wrong,", "{id: wrong, expect: {score: 30},", "must be a range of two numbers"),
        ("{id: wrong,", "{id: wrong, expect: {contain-x: [0, 10]},", "`expect` names `contain-x`"),
        ("{id: wrong,", "{id: wrong, expect: {verdict: maybe},", "`verdict` of `expect`"),
        ("{id: wrong,", "{id: wrong, setup: 'a \"b',", "`setup` cannot be split into words"),
        ("{id: wrong,", "{id: wrong, workspace: {files: {../x: y}},", "leads out of the folder"),
        (
            "{id: wrong,",
            "{id: wrong, workspace: {files: {a: x, a/b: y}},",
            "a file and a folder at once",
        ),
        ("{id: wrong,", "{id: wrong, workspace: {copy: '.', git: r},", "both `copy` and `git`"),
        (
            "{id: wrong,",
            "{id: wrong, workspace: {git: '--upload-pack=x'},",
            "is not the name of a repository",
        ),
        ("{id: wrong,", "{id: wrong, input: [hello],", "message number 1 must be a mapping"),
        (
            "{id: wrong,",
            "{id: wrong, input: [{role: user}],",
            "`content` of message number 1 is missing",
        ),
        ("{id: wrong,", "{id: wrong, input: 5,", "`input` is 5, but must be text"),
        ("{id: wrong,", '{id: "wr\\nong",', "characters that cannot be shown"),
        ("{id: wrong,", "{", "case number 2: `id` is missing"),
        ("suite: 1", "suite: 2", "1:8: this suite has format version 2"),
        ("suite: 1", "suite: one", '`suite` is "one"'),
        ("suite: 1", "suite: 1\ntargt: x", "2:1: unknown key `targt`"),
        ("suite: 1", "suite: 1\nthreshold: 120", "`threshold` is 120"),
        ("suite: 1", "suite: 1\nconcurrency: 0", "`concurrency` is 0"),
        ("suite: 1", "suite: 1\nworkspace: fixture", '`workspace` is "fixture"'),
    ],
)
def test_a_mistake_is_told_with_place_and_case(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """One mistake in an otherwise sound suite: one error, that says where and in which case."""
    before, found_old, after = GOOD.rpartition(old)
    assert found_old
    changed = before + new + after
    found = errors(tmp_path, changed)
    assert len(found) == 1 and message in found[0], found


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Nobody mends a file one error at a time."""
    text = (
        GOOD.replace("suite: 1", "suite: 1\ntitel: x")
        .replace("{id: fine,", "{id: fine, atempts: 2,")
        .replace("{id: wrong,", "{id: wrong, timeout: soon, split: dev,")
    )
    found = errors(tmp_path, text)
    assert [error.split(":")[1] for error in found] == ["2", "4", "5", "5"]


@pytest.mark.parametrize(
    "text",
    ["suite: 1\n", "suite: 1\ncases: []\n", "suite: 1\ncases: x\n", "suite: 1\ncases: [text]\n"],
)
def test_a_suite_needs_cases(tmp_path: Path, text: str) -> None:
    """Without one sound case there is nothing to run."""
    assert len(errors(tmp_path, text)) == 1


def test_hints_say_what_was_meant(tmp_path: Path) -> None:
    """Another tool's word for a key is understood well enough to name ours."""
    for word, ours in (
        ("prompt", "input"),
        ("expected_output", "reference"),
        ("repeat", "attempts"),
        ("tgs", "tags"),
    ):
        with pytest.raises(SourceErrors) as raised:
            source(tmp_path, GOOD.replace("{id: wrong,", f"{{id: wrong, {word}: x,"))
        assert raised.value.errors[0].hint == f"did you mean `{ours}`?"


def test_a_case_without_input_and_a_file_without_version_are_noted(tmp_path: Path) -> None:
    """Allowed, but rarely meant: so it is said."""
    found = source(tmp_path, "cases:\n  - {id: a, rubric: [Is short]}\n")
    assert (
        len(found.notes) == 2
        and "version 1" in found.notes[0]
        and "`a` has no input" in found.notes[1]
    )


@settings(max_examples=examples(60), deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.sampled_from(["x", "", "a: b", "file", "criteria"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "file",
                        "files",
                        "criteria",
                        "id",
                        "role",
                        "content",
                        "use",
                        "git",
                        "repo",
                        "contains",
                    ]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=6,
    ),
    st.sampled_from(
        [
            "id",
            "input",
            "reference",
            "rubric",
            "checks",
            "split",
            "tags",
            "timeout",
            "attempts",
            "setup",
            "workspace",
            "skip",
            "expect",
        ]
    ),
)
def test_any_value_of_any_key_is_read_or_refused_in_words(value: object, key: str) -> None:
    """Whatever stands there, the answer is a suite or an error with a place, never a crash."""
    import json

    case = {"id": "a", "input": "x", "rubric": ["Is short"], key: value}
    document = Document(
        path=Path("no-such-folder/suite.yaml"),
        text=json.dumps({"suite": 1, "cases": [case], key: value}),
    )
    place: str | None = "read"
    try:
        read_suite(document)
    except UsageError as error:
        place = error.place
    assert place


# ------------------------------------------------------------------------------------------------
# small parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("repo", ("repo", None)),
        ("../a b@v1", ("../a b", "v1")),
        ("https://host/a.git@feature/x", ("https://host/a.git", "feature/x")),
        ("git@host:a/b.git", ("git@host:a/b.git", None)),
        ("git@host:a/b.git@main", ("git@host:a/b.git", "main")),
        ("ssh://git@host/a", ("ssh://git@host/a", None)),
        ("ssh://git@host/a@v2", ("ssh://git@host/a", "v2")),
    ],
)
def test_a_ref_is_what_follows_the_last_at_sign_of_a_path(
    text: str, parts: tuple[str, str | None]
) -> None:
    """User names in addresses are no refs."""
    assert split_ref(text) == parts


@pytest.mark.parametrize(
    "name", ["", " ", "/a", "../a", "a/../b", "a//b", "./a", "C:x", "a\\b", "a\nb", "~/x"]
)
def test_names_that_lead_out_of_a_folder_are_unsafe(name: str) -> None:
    """A suite writes into the workspace and nowhere else."""
    assert unsafe_name(name) is not None
    assert unsafe_name("src/" + "main.py") is None


# ------------------------------------------------------------------------------------------------
# large files


def _many(wrong: str = "") -> str:
    """A suite in JSON, a case a line, with this in the middle of it."""
    cases = [
        json.dumps({"id": f"c{n}", "input": f"Question {n}?" * 9, "rubric": [f"It is {n}."]})
        for n in range(300)
    ]
    if wrong:
        cases.insert(150, wrong)
    return '{"suite": 1, "cases": [\n' + ",\n".join(cases) + '\n], "threshold": 50}'


def _read_in_both_ways(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What reading a JSON suite gives when its cases are drawn from the text, and when not: cases
    and places, or every error with its place and hint.
    """
    found: list[object] = []
    (folder / "suite.json").write_text(text)
    for large in (0, len(text) + 1):
        monkeypatch.setattr(json_nodes, "LARGE", large)
        try:
            read = read_any_suite(folder / "suite.json")
            found.append((read.suite, read.places, read.notes))
        except UsageError as error:
            every = error.errors or (error,)
            found.append([(one.message, one.place, one.hint) for one in every])
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        '{"id": "v", "input": "{{ name }}", "vars": {"name": "x"}, "checks": [{"contains": "x"}]}',
        '{"id": "v", "input": "x", "checks": [{"contains": "x"}], "depends_on": ["c299"]}',
        '{"id": "v", "input": "x"}',
        '{"id": "c7", "input": "the same id", "checks": [{"contains": "x"}]}',
        '{"id": "v", "input": "x", "checks": [{"contains": "x"}], "depends_on": ["nothing"]}',
        '{"id": "v", "input": 5, "rubrics": [], "checks": [{"contained": "x"}]}',
        '{"id": "v", "id": "w"}',
        '{"id": NaN}, {"id": "v", "id": "w"}',
        '{"id": 1e999}',
        '{"id": "\\u0000"}',
        '{"id": "v", "id": "w"}, {"id": "x" "input": 1}',
        '{"id": tru}',
        "[" * 150 + "]" * 150,
        "{'id': 'v'}",
        '{"id": "v"',
        '"cases.csv"',
        "7",
    ],
)
def test_a_large_suite_reads_as_a_small_one(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases drawn from the text are the same cases, and each error is the same at the same place."""
    drawn, whole = _read_in_both_ways(tmp_path, _many(wrong), monkeypatch)
    assert drawn == whole


def test_cases_of_a_large_suite_are_not_kept_as_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While case after case is read, about the nodes of one of them are in memory."""
    monkeypatch.setattr(json_nodes, "LARGE", 0)
    (tmp_path / "suite.json").write_text(_many())
    alive: list[int] = []

    def keep(found: Iterable[tuple[Case, str]]) -> tuple[Sequence[Case], Mapping[str, str]]:
        cases: list[Case] = []
        for number, (case, _) in enumerate(found):
            cases.append(case)
            if number % 100 == 50:
                alive.append(sum(isinstance(one, Node) for one in gc.get_objects()))
        return cases, {}

    gc.collect()
    before = sum(isinstance(one, Node) for one in gc.get_objects())
    read_any_suite(tmp_path / "suite.json", keep_cases=keep)
    assert len(alive) == 3
    assert max(alive) - before < 100


def test_the_text_of_a_large_suite_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entries are in a temporary file; of the text its beginning is left, which names a schema."""
    text = _many()
    assert len(text) > MOST_HEAD
    (tmp_path / "suite.json").write_text(text)
    for large, kept in ((0, text[:MOST_HEAD]), (len(text) + 1, text)):
        monkeypatch.setattr(json_nodes, "LARGE", large)
        document = Document.of(tmp_path / "suite.json")
        document.drawn = DrawnKey("cases", after="suite")
        assert document.marked.value["cases"][299]["id"] == "c299"
        assert document.text == kept


def test_without_a_temporary_file_a_large_suite_is_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: the same cases."""

    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json_nodes, "TemporaryFile", full)
    drawn, whole = _read_in_both_ways(tmp_path, _many(), monkeypatch)
    assert drawn == whole


@given(st.lists(st.tuples(st.text(), st.text() | st.from_regex(r"f:y.json:\d+:\d+\Z"))))
def test_places_are_given_back_as_they_were(pairs: list[tuple[str, str]]) -> None:
    """Those of the file itself are kept as a number, all others as they are."""
    places = Places("f:y.json")
    for id, place in pairs:
        places.put(id, place)
    assert places == dict(pairs)
