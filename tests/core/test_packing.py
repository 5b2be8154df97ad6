"""Artifacts that are too big: estimates, refusals that help, and parts that are never cut inside a
line.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.judging.packing import (
    Budget,
    Pack,
    characters_for_text,
    estimate_tokens,
    pack,
    text_size,
    too_big,
    what_to_do,
)

STRATEGIES = (Pack.HEAD, Pack.OUTLINE)


def folder(**files: str) -> Version:
    return Version({path: Entry(text.encode()) for path, text in files.items()}, is_folder=True)


folders = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(st.sampled_from(["# head", "def f():", "word " * 7, "", "x"]), max_size=12).map(
        lambda lines: "\n".join(lines)
    ),
    min_size=1,
).map(lambda files: folder(**files))


def test_the_estimate_is_characters_by_four_rounded_up() -> None:
    """And is called an estimate, beside the limit and the three largest files, largest first."""
    assert [estimate_tokens(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    said = too_big(Budget(tokens=10), 48_002, [folder(a="x" * 5, b="y" * 9, c="z" * 7, d="")])
    assert "about 12,001 tokens (an estimate" in said and "its limit is 10" in said
    assert said.endswith("b (9 characters), c (7 characters), a (5 characters)")


def test_what_to_do_names_packing_only_while_nothing_is_packed() -> None:
    """Whoever packs already is not told to."""
    assert "--pack head" in what_to_do() and "max_input_tokens" in what_to_do()
    assert "--pack" not in what_to_do(Pack.HEAD)


def test_head_keeps_the_beginning_of_each_file_in_proportion() -> None:
    """A file three times as long is shown three times as much of."""
    version = folder(long="1234\n" * 30, short="1234\n" * 10)
    packed = pack(version, Pack.HEAD, 100)
    assert packed is not None
    assert {path: part.lines for path, part in packed.parts.items()} == {"long": 15, "short": 5}
    assert packed.version.texts == {"long": "1234\n" * 15, "short": "1234\n" * 5}
    assert packed.label("long") == "first 15 of 30 lines"
    assert packed.whole.digest == version.digest


def test_outline_reduces_the_largest_files_and_no_more_than_needed() -> None:
    """Small files stay whole; of the largest, headings and definitions are left."""
    big = "# One\n\ntext text\n\n## Two\n\nmore text\n\ndef run(x):\n    return x\n" * 3
    packed = pack(folder(big=big, small="keep me\n"), Pack.OUTLINE, 120)
    assert packed is not None
    assert packed.version.texts["small"] == "keep me\n"
    assert packed.version.texts["big"] == "# One\n## Two\ndef run(x):\n" * 3
    assert packed.label("big") == "outline, 9 of 30 lines" and packed.label("small") == ""
    assert (
        packed.sentence == "1 of 2 files whole, 1 by their headings and definitions, 0 not at all"
    )


def test_a_file_of_which_nothing_fits_is_named_as_not_shown() -> None:
    """It is not passed off as an empty one."""
    packed = pack(folder(a="1\n" * 20, b="x" * 50), Pack.HEAD, 45)
    assert packed is not None
    assert "b" not in packed.version.texts and packed.label("b") == "not shown, 1 line"
    assert packed.to_plain()["files"] == [
        {"path": "a", "lines": 10, "of": 20},
        {"path": "b", "lines": 0, "of": 1},
    ]


def test_one_endless_line_cannot_be_packed() -> None:
    """Lines are never cut, so nothing could be shown of it."""
    assert pack(Version.of_text("x" * 1000), Pack.HEAD, 100) is None
    assert pack(Version.of_text("x" * 1000), Pack.OUTLINE, 100) is None


@given(folders, st.sampled_from(STRATEGIES), st.integers(-5, 600))
def test_what_is_shown_are_whole_lines_in_order_that_fit(
    version: Version, how: Pack, room: int
) -> None:
    """Never more than there is room for, never half a line, counted right, the same each time."""
    packed = pack(version, how, room)
    assert packed == pack(version, how, room)
    if packed is None:
        return
    assert text_size(packed.version) <= room
    for path, text in version.texts.items():
        lines, shown = text.splitlines(keepends=True), packed.version.texts.get(path, "")
        some = shown.splitlines(keepends=True)
        rest = iter(lines)
        assert all(line in rest for line in some)
        assert (packed.parts[path].lines, packed.parts[path].of) == (len(some), len(lines))
        assert (packed.label(path) == "") == (shown == text)
        if how is Pack.HEAD:
            assert lines[: len(some)] == some


@given(folders)
def test_what_fits_is_shown_whole(version: Version) -> None:
    """With room for all, nothing is left out."""
    for how in STRATEGIES:
        packed = pack(version, how, text_size(version))
        assert packed is None or packed.version.texts == version.texts


def test_the_room_is_what_the_rest_of_the_prompt_leaves() -> None:
    """Requirements and the reply's form stay; text takes what is left, less what it takes to say
    so.
    """
    version = Version.of_text("x" * 1000)
    room = characters_for_text(Budget(tokens=300), "p" * 200 + version.text, [version])
    assert 600 < room < 1000
