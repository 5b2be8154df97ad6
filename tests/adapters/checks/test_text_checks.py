"""Checks of a text: every kind and its negation, what is refused when a rubric is read, and files
of a folder.
"""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.adapters.checks import CheckRunner
from honestone.adapters.checks import text as text_checks
from honestone.core.artifact import Entry, Version
from honestone.core.checking import checks
from honestone.core.checking.check_problems import check_problem, read_check
from honestone.core.checking.checks import KINDS, TextCheck, compile_text_check, matching, visible
from honestone.core.errors import RubricError
from honestone.core.judging.rubric import Check
from honestone.ports import Finding, Output
from property_examples import examples

TEXT = "# Title\nHello big world\nBye.\n"


def folder(**files: str) -> Version:
    return Version({name: Entry(text.encode()) for name, text in files.items()}, is_folder=True)


def find(
    written: dict[str, Any], version: Version | str, output: str | None = None, base: Path = Path()
) -> Finding:
    judged = Version.of_text(version) if isinstance(version, str) else version
    made = None if output is None else Output(text=output)
    (finding,) = asyncio.run(
        CheckRunner(base, sandbox="none").run([read_check(written)], judged, made)
    )
    return finding


def opposite(written: dict[str, Any]) -> dict[str, Any]:
    (name, value), *options = written.items()
    return {f"not-{name}": value, **dict(options)}


@pytest.mark.parametrize(
    ("written", "met"),
    [
        ({"contains": "big"}, True),
        ({"contains": "BIG"}, False),
        ({"contains": ["Hello", "Bye"]}, True),
        ({"contains-any": ["nothing", "Bye"]}, True),
        ({"contains-any": ["nothing", "none"]}, False),
        ({"contains-all": ["Hello", "Bye"]}, True),
        ({"contains-all": ["Hello", "none"]}, False),
        ({"icontains": "HELLO"}, True),
        ({"icontains": "straße"}, False),
        ({"icontains-any": ["x", "WORLD"]}, True),
        ({"icontains-any": ["x", "z"]}, False),
        ({"icontains-all": ["WORLD", "bYE"]}, True),
        ({"icontains-all": ["WORLD", "x"]}, False),
        ({"equals": TEXT.rstrip()}, True),
        ({"equals": "Title"}, False),
        ({"starts-with": "# T"}, True),
        ({"starts-with": "T"}, False),
        ({"ends-with": "Bye."}, True),
        ({"ends-with": "\n"}, True),
        ({"ends-with": "world"}, False),
        ({"regex": "(?m)^Bye"}, True),
        ({"regex": "^Bye"}, False),
        ({"regex": {"pattern": "^bye", "flags": "im"}}, True),
        ({"regex": {"pattern": "h.*bye", "flags": "i"}}, False),
        ({"max-words": 6}, True),
        ({"max-words": 5}, False),
        ({"min-words": 6}, True),
        ({"min-words": 7}, False),
        ({"max-chars": len(TEXT)}, True),
        ({"max-chars": len(TEXT) - 1}, False),
        ({"min-chars": len(TEXT)}, True),
        ({"min-chars": len(TEXT) + 1}, False),
        ({"is-json": True}, False),
    ],
)
def test_every_kind_and_its_negation(written, met):
    """Each kind says yes or no, its `not-` the contrary, and whichever is unmet says why."""
    for check, expected in ((written, met), (opposite(written), not met)):
        finding = find(check, TEXT)
        assert finding.met is expected
        assert (finding.note is None) == expected
        assert finding.sandbox is None


def test_no_letter_is_special_when_case_is_ignored():
    """Letters beyond ASCII are compared without case too."""
    assert find({"icontains": "STRASSE"}, "Hauptstraße").met is True
    assert find({"icontains": "ÉTÉ"}, "un été").met is True


def test_not_contains_with_a_list_means_none_of_them():
    """Forbidding two words forbids each; `not-contains-all` is there for the other meaning."""
    assert find({"not-contains": ["TODO", "FIXME"]}, "one FIXME left").met is False
    assert find({"not-icontains": ["todo", "fixme"]}, "one FIXME left").met is False
    assert find({"not-contains-all": ["TODO", "FIXME"]}, "one FIXME left").met is True


@pytest.mark.parametrize(
    ("written", "note"),
    [
        ({"contains": ["Hello", "Usage", "Install"]}, 'not found: "Usage", "Install"'),
        ({"not-contains": "Bye"}, 'found "Bye" on line 3'),
        ({"not-icontains-any": ["x", "HELLO"]}, 'found "HELLO" on line 2'),
        ({"regex": "^nope"}, "nothing matches /^nope/"),
        ({"not-regex": r"(?m)^B\w+"}, 'found "Bye" on line 3'),
        ({"max-words": 2}, "6 words, more than 2"),
        ({"min-words": 20}, "6 words, fewer than 20"),
        ({"not-max-words": 6}, "6 words, fewer than 7"),
        ({"not-min-words": 6}, "6 words, more than 5"),
        ({"equals": "# Title\nHello small world\nBye."}, "differs on line 2"),
        ({"starts-with": "Intro"}, 'starts with "# Title'),
        ({"ends-with": "End"}, "Bye."),
        ({"is-json": True}, "not JSON: expecting value at line 1, column 1"),
    ],
)
def test_notes_say_what_and_where(written, note):
    """An unmet check names what is missing, or what was found and on which line."""
    assert note in str(find(written, TEXT).note)


def test_notes_are_short_and_printable():
    """Control characters and long texts from an artifact cannot mess up a terminal."""
    hostile = "\x1b[2J\u202e" + "a" * 10_000
    for written in ({"not-regex": "(?s).+"}, {"starts-with": "b" * 500}, {"equals": "x"}):
        note = find(written, hostile).note
        assert note and len(note) <= 300 and note.isprintable()


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        ('{"a": [1, 2.5e3, null, true, "x"]}', True),
        (" 3 \n", True),
        ('"text"', True),
        ("9" * 10_000, True),
        ("", False),
        ("{'a': 1}", False),
        ('{"a": NaN}', False),
        ("[1,]", False),
        ("{} {}", False),
    ],
)
def test_is_json_is_strict(text, is_json):
    """One JSON value and nothing else; NaN, single quotes and trailing commas are not JSON."""
    assert find({"is-json": True}, text).met is is_json
    assert find({"not-is-json": True}, text).met is not is_json


# ------------------------------------------------------------------------------------------------
# folders, outputs


def test_without_path_all_texts_of_a_folder_count():
    """A folder is looked at as one text."""
    version = folder(a="one", b="two")
    assert find({"contains": ["one", "two"]}, version).met is True
    assert find({"max-words": 1}, version).met is False


def test_with_path_every_file_has_to_meet_it():
    """`path` chooses files, each has to meet the check as written; the note names the first that
    does not.
    """
    version = folder(
        **{"a.md": "# A", "docs/b.md": "# B", "docs/deep/c.md": "C TODO", "d.txt": "D"}
    )
    assert find({"regex": "^# ", "path": "docs/*.md"}, version).met is True
    unmet = find({"regex": "^# ", "path": "**/*.md"}, version)
    assert unmet.met is False and str(unmet.note).startswith("docs/deep/c.md: ")
    assert find({"not-contains": "TODO", "path": "**/*.md"}, version).met is False
    assert find({"not-contains": "TODO", "path": ["a.md", "docs/b.md"]}, version).met is True
    assert find({"max-words": 1, "path": "d.txt"}, version).met is True


def test_match_any_needs_one_file():
    """With `match: any` one file that meets the check as written is enough."""
    version = folder(**{"a.md": "x", "b.md": "TODO"})
    assert find({"contains": "TODO", "path": "*.md", "match": "any"}, version).met is True
    assert find({"contains": "DONE", "path": "*.md", "match": "any"}, version).met is False
    assert find({"not-contains": "TODO", "path": "*.md", "match": "any"}, version).met is True


@pytest.mark.parametrize(
    "written", [{"contains": "x"}, {"not-contains": "x"}, {"max-words": 3}, {"is-json": True}]
)
def test_no_matching_file_is_unmet(written):
    """A check of files that are not there is unmet, negated or not, and says so."""
    finding = find({**written, "path": "missing/*.md"}, folder(**{"a.md": "x"}))
    assert finding.met is False and "missing/*.md" in str(finding.note)


def test_an_output_is_what_text_checks_look_at():
    """What a target produced is looked at instead of the artifact, under the name output.txt."""
    version = folder(**{"a.md": "artifact"})
    assert find({"contains": "produced"}, version, output="produced").met is True
    assert find({"contains": "artifact"}, version, output="produced").met is False
    assert (
        find({"contains": "produced", "path": "output.txt"}, version, output="produced").met is True
    )
    assert find({"contains": "x"}, version, output="x\ud800").met is True


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "docs/b.md", "docs/deep/c.md"]),
        ("docs/**", ["docs/b.md", "docs/deep/c.md"]),
        ("docs", ["docs/b.md", "docs/deep/c.md"]),
        ("./docs/", ["docs/b.md", "docs/deep/c.md"]),
        ("docs/?.md", ["docs/b.md"]),
        ("[ab].md", ["a.md"]),
        ("[!b].md", ["a.md"]),
        ("[z-a]", []),
        ("d", []),
        ("a.m", []),
    ],
)
def test_globs(glob, found):
    """`*` stays in a folder, `**` crosses them, a folder's name means what is in it."""
    assert matching(["a.md", "docs/b.md", "docs/deep/c.md"], glob) == found


@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_globs_never_crash(glob, path):
    """Any text is a glob; the worst that it does is to match nothing."""
    assert matching([path], glob) in ([], [path])


# -----------------------------------------------------------------------------------------------------
# bad rubrics


@pytest.mark.parametrize(
    ("written", "key", "message", "hint"),
    [
        ({"contians": "x"}, "contians", "unknown check `contians`", "contains"),
        ({"not-regx": "x"}, "not-regx", "unknown check", "not-regex"),
        ({"path": "x"}, None, "needs a kind", "contains"),
        ({}, None, "needs a kind", "contains"),
        ({1: "x"}, "1", "unknown check `1`", ""),
        ({"contains": "x", "regex": "y"}, "regex", "one kind", "two items"),
        ({"contains": 5}, "contains", "a text or a list of texts, not 5", "quotes"),
        ({"contains": []}, "contains", "not []", ""),
        ({"contains": ""}, "contains", 'not ""', ""),
        ({"contains": ["a", 3]}, "contains", "list of texts", ""),
        ({"contains": None}, "contains", "not nothing", ""),
        ({"max-words": "ten"}, "max-words", "whole number from 0", ""),
        ({"max-words": -1}, "max-words", "not -1", ""),
        ({"max-words": 1.5}, "max-words", "not 1.5", ""),
        ({"max-words": True}, "max-words", "not true", ""),
        ({"is-json": False}, "is-json", "takes true", "not-is-json"),
        ({"regex": "a(b"}, "regex", "position 1", ""),
        ({"regex": "(?<name>x)"}, "regex", "not a valid pattern", "(?P<name>"),
        ({"regex": {"pattern": "a", "flags": "g"}}, "regex", "unknown flag `g`", "flags"),
        ({"regex": {"patern": "a"}}, "regex", "a pattern, or", ""),
        ({"contains": "x", "pth": "y"}, "pth", "no option `pth`", "path"),
        ({"contains": "x", "timeout": 3}, "timeout", "no option", ""),
        ({"contains": "x", "path": "../y"}, "path", "leads out", ""),
        ({"contains": "x", "match": "all"}, "match", "`every` or `any`", ""),
        ({"file-exists": "/etc/passwd"}, "file-exists", "leads out", ""),
        ({"command": "true", "timeout": -1}, "timeout", "above 0, not -1", ""),
        ({"command": "true", "timeout": float("nan")}, "timeout", "above 0", ""),
        ({"command": "true", "expect_exit": 300}, "expect_exit", "0 to 255", ""),
        (
            {"command": "true", "expect_stdout": {"regex": "("}},
            "expect_stdout",
            "not a valid pattern",
            "",
        ),
        ({"command": "true", "expect_stdout": {}}, "expect_stdout", "takes", ""),
        ({"command": "true", "stdin": "file"}, "stdin", "`artifact`", ""),
        ({"command": "grep 'x"}, "command", "split into words", "quote"),
        ({"command": "  "}, "command", "empty", "program"),
        ({"python": "nothing"}, "python", "`module:function`", "python"),
        ({"python": "a:b", "with": "file"}, "with", "`text` or `path`", ""),
        ({"json-schema": 3}, "json-schema", "JSON Schema", ""),
        ({"links-resolve": "docs"}, "links-resolve", "takes true", ""),
    ],
)
def test_what_is_wrong_is_named(written, key, message, hint):
    """A mistake in a check is named with its key, what was meant and what to do, when the rubric is
    read.
    """
    with pytest.raises(RubricError) as caught:
        read_check(written)
    assert caught.value.path == (() if key is None else (key,))
    assert message in caught.value.message and hint in str(caught.value.hint)


def test_check_problem_agrees_with_reading():
    """A check made without reading is judged by the same rules."""
    assert check_problem(Check(kind="contains", value="x")) is None
    assert "unknown check" in check_problem(Check(kind="contians", value="x"))[0]
    assert (
        "`not-regex` is not a valid pattern"
        in check_problem(Check(kind="regex", value="(", negated=True))[0]
    )


@given(
    st.dictionaries(
        st.one_of(st.sampled_from([*KINDS, "path", "timeout"]), st.text()),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
    )
)
def test_no_check_crashes_the_reader(written):
    """Whatever a file holds, it is a check or a named mistake."""
    try:
        check = read_check(written)
    except RubricError:
        return
    assert check.kind in KINDS


def test_every_kind_is_described_and_its_example_is_valid():
    """The examples of the reference page are checks that can be read."""
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    for name, kind in KINDS.items():
        written = yaml.load(kind.example)
        assert read_check(written).kind == name
        assert kind.doc and kind.takes and all(option.doc for option in kind.options.values())


def test_the_json_schema_agrees_with_the_reader():
    """What an editor accepts by the schema is what the reader accepts, for a row of good and bad
    checks.
    """
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(checks.check_schema())
    good = [
        {"contains": ["a"]},
        {"not-max-words": 3, "path": "*.md"},
        {"command": "true", "timeout": 3},
        {"is-json": True},
    ]
    bad = [
        {"contains": 3},
        {"contians": "x"},
        {"contains": "x", "pth": "y"},
        {"command": "x", "timeout": 0},
        {},
    ]
    for written in good:
        assert validator.is_valid(written) and read_check(written)
    for written in bad:
        assert not validator.is_valid(written)
        with pytest.raises(RubricError):
            read_check(written)


# ------------------------------------------------------------------------------------------------
# bounded patterns


@pytest.fixture
def short_patience(monkeypatch):
    monkeypatch.setattr(text_checks, "PATTERN_SECONDS", 0.3)


@pytest.mark.slow
@pytest.mark.starts_processes
@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|a)*b", r"a*a*a*a*a*a*a*b", r"(?x) ( a + ) + $", r"^(\w+\s?)*$"]
)
@pytest.mark.parametrize("negated", ["", "not-"])
def test_a_pattern_that_backtracks_for_ever_is_given_up(short_patience, pattern, negated):
    """Such a pattern cannot hang the command: it cannot be judged, negated or not, and says why."""
    began = time.monotonic()
    finding = find({f"{negated}regex": pattern}, "a" * 3000 + "!")
    assert finding.met is None and "simplify" in str(finding.note)
    assert time.monotonic() - began < 300


@pytest.mark.starts_processes
def test_it_is_given_up_in_any_thread(short_patience, monkeypatch):
    """In a thread that no signal reaches, the search is done where it can be ended."""
    found: list[Finding] = []
    version = "a" * 3000 + "!"

    def work() -> None:
        found.append(find({"regex": r"(a+)+$"}, version))
        monkeypatch.setattr(text_checks, "PATTERN_SECONDS", 100)
        found.append(find({"regex": r"(a)+!"}, version))
        found.append(find({"not-regex": r"(!)+"}, "aa\n!"))
        found.append(find({"regex": r"(b)+"}, version))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [f.met for f in found] == [None, True, False, False]
    assert found[2].note == 'found "!" on line 2' and found[3].note == "nothing matches /(b)+/"


UNITS = st.text("a b\n🎉🚀😀é\ud83c", max_size=8)


@pytest.mark.slow
@pytest.mark.starts_processes
@settings(max_examples=examples(10), deadline=None)
@given(
    UNITS, st.sampled_from(["(?:[🎉🚀])+", "^(?:..)+$", "(?:.\\n)+", "(?:\\ud83c)+b", "(?:é|😀)+$"])
)
@example("hello 🎉 world", "(?:[🎉🚀])+")
@example("😀", "^(?:..)+$")
def test_a_pattern_of_javascript_says_the_same_in_any_thread(text: str, pattern: str) -> None:
    """Halves of characters are not joined on the way, and the note is the same."""
    for kind in ("regex", "not-regex"):
        compiled = compile_text_check(read_check({kind: pattern, "exact": "javascript"}))
        assert compiled.guard_from == 0
        here = text_checks.text_answer(compiled, text)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(text_checks.text_answer, compiled, text).result() == here


@pytest.mark.slow
@pytest.mark.starts_processes
def test_the_time_limit_leaves_nothing_behind(short_patience, monkeypatch):
    """After a pattern was given up, later work is not broken off."""
    find({"regex": r"(a+)+$"}, "a" * 3000 + "!")
    monkeypatch.setattr(text_checks, "PATTERN_SECONDS", 100)
    began = time.monotonic()
    while time.monotonic() - began < 0.5:
        pass
    assert find({"regex": r"(a)+!"}, "aaa!").met is True


def texts_told(text: str, *written: dict[str, Any]) -> list[tuple[bool | None, str | None]]:
    """What several checks say of one text, asked together."""
    runner = CheckRunner(Path())
    compiled = [runner.compile(read_check(one)) for one in written]
    return runner.run_texts([one for one in compiled if one is not None], text)


@pytest.mark.slow
def test_one_pattern_that_takes_for_ever_leaves_the_others_their_answers(monkeypatch):
    """Patterns of one text share an alarm: when it rings, each has its own time, and only the slow
    one is given up.
    """
    monkeypatch.setattr(text_checks, "PATTERN_SECONDS", 1)
    quick = [{"regex": r"(a)+!"}, {"regex": "b"}, {"contains": "!"}, {"not-regex": r"(!)+"}]
    told = texts_told("a" * 3000 + "!", *quick[:2], {"regex": r"(a+)+$"}, *quick[2:])
    assert [met for met, _ in told] == [True, False, None, True, False]
    assert "simplify" in str(told[2][1]) and told[4][1] == 'found "!" on line 1'


def test_patterns_are_not_given_up_for_the_time_of_others(monkeypatch):
    """When the alarm that they share rings, each is tried again with the whole time, and no alarm
    is left behind.
    """
    calls: list[str] = []

    def check(name: str) -> TextCheck:
        def evaluate(text: str) -> tuple[bool, str | None]:
            calls.append(name)
            while calls == ["a", "b"]:
                pass
            return True, None

        return TextCheck(check=read_check({"regex": "(x)+"}), evaluate=evaluate, guard_from=0)

    in_time = text_checks.in_time
    monkeypatch.setattr(
        text_checks, "in_time", lambda compute, _: in_time(compute, 300 if calls else 0.3)
    )
    checks = [check(name) for name in "abc"]
    assert text_checks.text_answers(checks, "x") == [(True, None)] * 3
    assert "".join(calls) == "ababc"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_together_and_one_by_one_say_the_same():
    """Whether checks of a text are asked together or each by itself, every answer and note is the
    same.
    """
    written = [
        {"regex": r"(\w\s)+b"},
        {"not-regex": "(o)+"},
        {"contains": "two"},
        {"regex": "(z)+"},
        {"max-words": 2},
    ]
    for text in ("one two b", "", "o" * 50, "zz\ntwo"):
        assert texts_told(text, *written) == [texts_told(text, one)[0] for one in written]


def test_simple_patterns_need_no_guard():
    """Patterns without repeats are never guarded; one repeat only on long texts; repeated groups
    always.
    """
    assert compile_text_check(read_check({"regex": "^abc|def"})).guard_from is None
    assert compile_text_check(read_check({"regex": "a+b"})).guard_from > 1000
    assert compile_text_check(read_check({"regex": "(ab)+"})).guard_from == 0
    assert compile_text_check(read_check({"contains": "(a+)+"})).guard_from is None


# ------------------------------------------------------------------------------------------------------
# properties


@given(st.text(max_size=50), st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4))
def test_word_checks_mean_what_python_means(text, words):
    """contains-all and contains-any are `all` and `any` of `in`; negation is the contrary."""
    for kind, expected in (("contains-all", all), ("contains-any", any), ("contains", all)):
        assert find({kind: words}, Version.of_text("x"), output=text).met is expected(
            w in text for w in words
        )
    for kind, expected in (
        ("not-contains-all", all),
        ("not-contains-any", any),
        ("not-contains", any),
    ):
        assert find({kind: words}, Version.of_text("x"), output=text).met is not expected(
            w in text for w in words
        )


@given(st.text(max_size=60), st.integers(0, 70))
def test_counts_are_exact(text, bound):
    """At most n and at least n+1 are contrary, at every n."""
    for unit in ("words", "chars"):
        at_most = compile_text_check(read_check({f"max-{unit}": bound}))(text)
        at_least = compile_text_check(read_check({f"min-{unit}": bound + 1}))(text)
        assert at_most[0] is not at_least[0]
        assert at_most[0] == (len(text.split() if unit == "words" else text) <= bound)


@given(st.text(), st.integers(4, 80))
def test_shown_text_is_printable_and_short(text, limit):
    """Whatever is shown fits and can be printed."""
    shown = visible(text, limit)
    assert len(shown) <= limit and shown.isprintable()


@given(st.text(max_size=40))
def test_equals_is_itself(text):
    """A text equals itself, with or without line breaks at its end, and contains each of its parts."""
    assert compile_text_check(Check(kind="equals", value=text))(text + "\n") == (True, None)
    assert compile_text_check(Check(kind="regex", value=re.escape(text)))(text) == (True, None)
