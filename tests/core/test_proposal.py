"""Proposals: what a worker did is what the bytes say, whatever it says itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.editing.proposal import (
    ProposalOutcome,
    classify,
    diff_size,
    size_limit,
    unified_diff,
)

LONG = "".join(f"line {n} of the text\n" for n in range(60))
lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\n"]), max_size=12).map("".join)


def text(content: str) -> Version:
    return Version.of_text(content, "a.md")


def folder(**files: str) -> Version:
    return Version(
        {name: Entry(content.encode()) for name, content in files.items()}, is_folder=True
    )


def outcome(before: Version, after: Version | None, ended: str = "exited", **more: Any) -> str:
    return str(classify(before, after, ended=ended, **more)[0])


@pytest.mark.parametrize(
    ("ended", "after", "made"),
    [
        ("exited", "new\n", "changed"),
        ("crashed", "new\n", "changed"),
        ("denied", "new\n", "changed"),
        ("timeout", "new\n", "timeout"),
        ("exited", "old\n", "unchanged"),
        ("crashed", "old\n", "crashed"),
        ("denied", "old\n", "denied"),
        ("not-applied", "old\n", "not-applied"),
        ("timeout", "old\n", "timeout"),
        ("exited", None, "shrunk"),
    ],
)
def test_bytes_decide_and_not_exit_codes(ended: str, after: str | None, made: str) -> None:
    """A worker that crashed after a good edit has edited; one that says "done" over the same bytes
    has not.
    """
    assert outcome(text("old\n"), None if after is None else text(after), ended) == made


def test_what_is_outside_the_artifact() -> None:
    """Touching it throws the proposal away, whatever else it did; the first few are named."""
    change, detail = classify(text("a"), text("b"), ended="exited", strays=("rubric.yaml",))
    assert change is ProposalOutcome.OUT_OF_SCOPE and detail == "touched rubric.yaml"
    _, many = classify(text("a"), text("b"), ended="exited", strays=tuple("abcdefg"))
    assert many == "touched a, b, c, d, e and more"
    assert outcome(text("a"), text("b"), trouble="it is a link now") == "out-of-scope"


@pytest.mark.parametrize(
    ("before", "after", "made"),
    [
        (LONG, LONG[:200], "shrunk"),
        (LONG, LONG[: len(LONG) // 2], "changed"),
        (LONG, "", "shrunk"),
        ("short\n" * 20, "s\n", "changed"),
    ],
)
def test_a_truncated_file(before: str, after: str, made: str) -> None:
    """A long file that keeps less than three tenths of its bytes was cut, not edited."""
    assert outcome(text(before), text(after)) == made


def test_a_deleted_file_of_a_folder_is_shrunk() -> None:
    """If it was a long one; a short one may go."""
    assert outcome(folder(a=LONG, b="x"), folder(b="x")) == "shrunk"
    assert outcome(folder(a="short", b="x"), folder(b="x")) == "changed"


@pytest.mark.parametrize(
    "line",
    [
        "... rest unchanged ...",
        "# ... existing code here",
        "[The rest of the document remains the same]",
        "<!-- remaining sections omitted -->",
        "(rest of file unchanged)",
        "// previous content as before",
        "* … other sections stay the same …",
        "{existing code here}",
        "The rest of the document remains the same.",
    ],
)
def test_placeholders_in_place_of_content(line: str) -> None:
    """Somebody's note that the rest is as before is not the rest."""
    change, detail = classify(text(LONG), text(LONG + line + "\n"), ended="exited")
    assert (
        change is ProposalOutcome.PLACEHOLDER
        and detail is not None
        and "in place of content" in detail
    )


@pytest.mark.parametrize(
    "line",
    [
        "The order of keys is unchanged by this.",
        "Rest well.",
        "We kept the remaining budget for travel.",
        "restaurants here",
        "It runs as before, the rest is new.",
        "- Existing behaviour is unchanged.",
        "Other tools are described here.",
        "- [Other guides](guides.md): see here",
        "Previous releases are listed here",
    ],
)
def test_ordinary_sentences_are_no_placeholders(line: str) -> None:
    """Only a line that begins as such a note counts."""
    assert outcome(text(LONG), text(LONG + line + "\n")) == "changed"


def test_a_placeholder_that_was_there_before_may_stay() -> None:
    """It is content then."""
    note = "... rest unchanged ...\n"
    assert outcome(text(LONG + note), text("new\n" + LONG + note)) == "changed"


@pytest.mark.parametrize(
    "filler", ["\n" * 5000, " " * 20_000, "# " * 5000, "...  [" * 3000, "the rest " * 3000]
)
def test_no_text_makes_the_search_slow(filler: str) -> None:
    """Blank lines by the thousand are read in no time (they once took hours)."""
    assert outcome(text("x\n"), text("x\n" + filler + "y\n"), max_diff=10**9) in (
        "changed",
        "placeholder",
    )


def test_too_large_a_change() -> None:
    """More changed lines than allowed; exactly as many are fine."""
    before, after = text("a\n" * 10), text("b\n" * 10)
    assert outcome(before, after, max_diff=19) == "too-large"
    assert outcome(before, after, max_diff=20) == "changed"


def test_too_large_an_artifact() -> None:
    """Over all rounds; what was larger before may not grow further, and may shrink."""
    small, large, larger = text("a\n" * 10), text("a\n" * 30), text("a\n" * 31)
    assert (
        outcome(small, large, max_size=59) == "too-large"
        and outcome(small, large, max_size=60) == "changed"
    )
    assert (
        outcome(large, larger, max_size=10) == "too-large"
        and outcome(larger, large, max_size=10) == "changed"
    )
    assert size_limit(text("x" * 100)) == 40_000 and size_limit(text("x" * 30_000), 2) == 60_000


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", (1, 1)),
        ("a\n", "a\nb\n", (1, 0)),
        ("a\nb\n", "b\n", (0, 1)),
        ("a", "a\n", (1, 1)),
        ("", "a\n", (1, 0)),
        ("same\n" * 3000, "new\n" + "same\n" * 3000, (1, 0)),
    ],
)
def test_the_size_of_a_change(before: str, after: str, size: tuple[int, int]) -> None:
    """Lines added and removed."""
    found = diff_size(text(before), text(after))
    assert (found.added, found.removed) == size


def test_a_binary_file_is_one_line() -> None:
    """And is named in the diff, not shown."""
    before, after = (
        Version({"p": Entry(b"\0a")}, is_folder=True),
        Version({"p": Entry(b"\0b")}, is_folder=True),
    )
    assert (diff_size(before, after).files, unified_diff(before, after)) == (
        1,
        "Binary file p differs\n",
    )


def test_a_mode_is_a_change_of_a_folder() -> None:
    """Making a script executable changes no line, but counts."""
    before = Version({"s": Entry(b"x\n")}, is_folder=True)
    after = Version({"s": Entry(b"x\n", executable=True)}, is_folder=True)
    assert outcome(before, after) == "changed"
    size = diff_size(before, after)
    assert (size.files, size.lines) == (1, 0)


def test_a_diff_names_new_and_removed_files() -> None:
    """As other tools read it."""
    shown = unified_diff(folder(a="1\n", b="2"), folder(b="3", c="4\n"))
    assert shown == (
        "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
        "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-2\n\\ No newline at end of file\n+3\n\\ No newline at end of file\n"
        "--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+4\n"
    )


@given(lines, lines)
def test_a_change_of_no_lines_is_no_change(before: str, after: str) -> None:
    """Size and diff agree with the bytes, and the balance of lines is right."""
    size = diff_size(text(before), text(after))
    assert (size.lines == 0) == (before == after) == (unified_diff(text(before), text(after)) == "")
    assert size.added - size.removed == len(after.splitlines()) - len(before.splitlines())


@given(
    lines,
    lines,
    st.sampled_from(["exited", "timeout", "denied", "not-applied", "crashed"]),
    st.integers(0, 30),
)
def test_changed_means_other_bytes(before: str, after: str, ended: str, max_diff: int) -> None:
    """And never more than was allowed, nor after its time was up."""
    made, detail = classify(text(before), text(after), ended=ended, max_diff=max_diff)
    if made is ProposalOutcome.CHANGED:
        assert (
            before != after
            and ended != "timeout"
            and diff_size(text(before), text(after)).lines <= max_diff
        )
    else:
        assert detail or made is ProposalOutcome.NOT_APPLIED
