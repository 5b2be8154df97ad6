"""Plans: edits of a skill as data, applied purely, and never outside the skill."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.skill.plan import (
    EditSection,
    Plan,
    PlanError,
    Refusal,
    UpdateFrontMatter,
    WriteFiles,
    apply_plan,
    plan_between,
    plan_to_plain,
    read_plan,
    target_of,
)

SKILL = """---
name: gardener
description: "Knows: plants"
# who wrote it
license: MIT
---
# Gardener

## Rules
- water daily

```sh
## not a heading
```

## Limits

None.
"""


def skill(text: str = SKILL, **more: str) -> Version:
    files = {"SKILL.md": Entry(text.encode()), **{n.replace("__", "/"): Entry(t.encode()) for n, t in more.items()}}
    return Version(dict(sorted(files.items())), is_folder=True)


def text_of(version: Version, path: str = "SKILL.md") -> str:
    return version.files[path].data.decode()


def applied(plain: dict[str, Any], version: Version | None = None, target: str = "SKILL.md") -> Version:
    return apply_plan(read_plan(plain, target=target), version or skill())


def refused(plain: Any, version: Version | None = None, target: str = "SKILL.md") -> Refusal:
    with pytest.raises(PlanError) as caught:
        applied(plain, version, target)
    return caught.value.refusal


def section(action: str, heading: str, *lines: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "section_heading": heading, "content_lines": list(lines), **more}


def test_an_appended_section_is_a_list_after_a_blank_line() -> None:
    """Plain lines become entries; the rest of the file keeps its bytes."""
    after = applied(section("append_markdown_section", "## More", "one", "- two", "", "| a |"))
    assert text_of(after) == SKILL + "\n## More\n\n- one\n- two\n\n| a |\n"


def test_appending_what_is_there_changes_nothing() -> None:
    """A second run of the same plan is refused and not doubled."""
    assert refused(section("append_markdown_section", "## Limits", "x")) is Refusal.NO_CHANGE


def test_a_replaced_section_ends_at_the_next_of_its_level() -> None:
    """A heading inside a code block ends no section."""
    after = text_of(applied(section("replace_markdown_section", "## Rules", "prune")))
    assert "water" not in after and "not a heading" not in after
    assert after.endswith("# Gardener\n\n## Rules\n\n- prune\n\n## Limits\n\nNone.\n")


def test_replacing_a_section_that_is_missing_or_double_is_an_error() -> None:
    """Nothing is guessed: the section has to be there exactly once."""
    assert refused(section("replace_markdown_section", "## not a heading", "x")) is Refusal.ERROR
    twice = skill(SKILL + "\n## Rules\n\nagain\n")
    assert refused(section("replace_markdown_section", "Rules", "x"), twice) is Refusal.ERROR


def test_a_section_is_put_in_before_another() -> None:
    """It takes the level of its neighbour where its heading does not say one."""
    after = text_of(applied(section("insert_before_section", "Tools", "spade", before_heading="## Limits")))
    assert "```\n\n## Tools\n\n- spade\n\n## Limits\n" in after
    assert refused(section("insert_before_section", "Tools", "spade")) is Refusal.ERROR


def test_front_matter_changes_one_key_and_keeps_the_rest() -> None:
    """Comments, order and quotes of the other keys stay as they are."""
    after = text_of(
        applied({"action": "update_yaml_frontmatter", "frontmatter_updates": {"description": "a: b", "version": 2}})
    )
    assert after == SKILL.replace('description: "Knows: plants"', 'description: "a: b"').replace(
        "license: MIT\n", "license: MIT\nversion: 2\n"
    )


def test_front_matter_is_made_where_there_is_none_and_refused_where_it_never_ends() -> None:
    """What cannot be edited safely is left alone."""
    plan = {"action": "update_yaml_frontmatter", "frontmatter_updates": {"name": "x"}}
    assert text_of(applied(plan, skill("# A\n"))) == "---\nname: x\n---\n\n# A\n"
    assert refused(plan, skill("---\nname: y\n# A\n")) is Refusal.ERROR
    assert refused(plan, skill('---\n"name": y\n---\n# A\n')) is Refusal.ERROR


def test_line_ends_stay_what_they_are() -> None:
    """A file of CRLF lines gets CRLF lines."""
    dos = skill(SKILL.replace("\n", "\r\n"))
    for plan in (
        section("append_markdown_section", "## More", "one"),
        section("replace_markdown_section", "## Limits", "one"),
        {"action": "update_yaml_frontmatter", "frontmatter_updates": {"name": "x"}},
    ):
        after = text_of(applied(plan, dos))
        assert after.count("\n") == after.count("\r\n") > 0


def test_files_are_written_deleted_and_made_executable() -> None:
    """Modes are kept where a plan names none."""
    before = Version(
        {"SKILL.md": Entry(b"# A\n"), "old.md": Entry(b"x"), "run.sh": Entry(b"echo\n", executable=True)},
        is_folder=True,
    )
    files = [
        {"path": "run.sh", "text": "echo 2\n"},
        {"path": "bin/new.sh", "text": "echo\n", "mode": "0755"},
        {"path": "data.bin", "base64": "AP8="},
    ]
    after = applied({"action": "write_files", "files": files, "delete": ["old.md"]}, before)
    assert sorted(after.files) == ["SKILL.md", "bin/new.sh", "data.bin", "run.sh"]
    assert after.files["run.sh"] == Entry(b"echo 2\n", executable=True)
    assert after.files["bin/new.sh"].executable and after.files["data.bin"] == Entry(b"\0\xff")


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x", "a/../../x", "a//b", "", ".", "a\\b", ".git/config", "a/.env", "__pycache__/x.pyc"]
)
def test_no_path_leaves_the_skill_or_hides_in_it(path: str) -> None:
    """Up, absolute, empty and hidden parts are refused, for writing and deleting and as a target."""
    assert refused({"action": "write_files", "files": [{"path": path, "text": "x"}]}) is Refusal.OUTSIDE
    assert refused({"action": "write_files", "delete": [path]}) is Refusal.OUTSIDE
    assert refused(section("append_markdown_section", "## A", "x"), target=path) is Refusal.OUTSIDE


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {},
        {"action": 1},
        {"action": "write_files", "files": {}},
        {"action": "write_files", "files": [1]},
        {"action": "write_files", "files": [{"path": "a", "text": 1}]},
        {"action": "write_files", "files": [{"path": "a", "text": "x", "base64": "AA=="}]},
        {"action": "write_files", "files": [{"path": "a", "text": "x", "mode": "4755"}]},
        {"action": "write_files", "files": [{"path": "a", "text": "x"}] * 2},
        {"action": "write_files", "files": [{"path": "a", "text": "x"}], "delete": ["a"]},
        {"action": "write_files", "files": [{"path": "a", "text": "x"}, {"path": "a/b", "text": "x"}]},
        {"action": "write_files", "delete": ["missing.md"]},
        {"action": "write_files", "delete": ["SKILL.md"]},
        {"action": "write_files", "files": [{"path": "a\x1b.md", "text": "x"}]},
        section("append_markdown_section", "a\nb", "x"),
        section("append_markdown_section", "##", "x"),
        {"action": "append_markdown_section", "section_heading": "## A", "content_lines": "x"},
        {"action": "update_yaml_frontmatter", "frontmatter_updates": {}},
        {"action": "update_yaml_frontmatter", "frontmatter_updates": {"a\nb": 1}},
        {"action": "update_yaml_frontmatter", "frontmatter_updates": {"a": float("nan")}},
        {"action": "update_yaml_frontmatter", "frontmatter_updates": {"a": ["x\0"]}},
        {"action": "update_yaml_frontmatter", "frontmatter_updates": {"a": "\ud800"}},
        section("append_markdown_section", "## A", "\ud800"),
        {"action": "write_files", "files": [{"path": "a", "text": "\ud800"}]},
    ],
)
def test_a_plan_that_makes_no_sense_is_an_error(plain: Any) -> None:
    """Whatever another program wrote, the answer is a refusal and never a crash."""
    assert refused(plain) is Refusal.ERROR


def test_what_no_program_can_apply_is_for_a_person() -> None:
    """An unknown action is not tried, nor a known one with something that it does not know."""
    assert refused({"action": "unsupported_manual_refactor", "notes": "n"}) is Refusal.UNSUPPORTED
    assert refused(section("append_markdown_section", "## A", "x", insert_after="## B")) is Refusal.UNSUPPORTED
    assert (
        refused({"action": "write_files", "files": [{"path": "a", "text": "x", "owner": "root"}]})
        is Refusal.UNSUPPORTED
    )


def test_a_plan_that_writes_the_same_bytes_changes_nothing() -> None:
    """Bytes decide, not intentions."""
    assert refused({"action": "write_files", "files": [{"path": "SKILL.md", "text": SKILL}]}) is Refusal.NO_CHANGE
    assert refused({"action": "write_files"}) is Refusal.NO_CHANGE


def test_an_edit_that_is_exactly_a_markdown_action_is_told_as_one() -> None:
    """So that programs that know only the four actions can carry it out."""
    before = skill()
    for plain in (
        section("append_markdown_section", "## More", "- one"),
        section("replace_markdown_section", "## Limits", "- one"),
        section("insert_before_section", "## Tools", "- spade", before_heading="## Limits"),
    ):
        plan = plan_between(before, applied(plain, before))
        assert plan_to_plain(plan) == plain and target_of(plan) == "SKILL.md"
    free = skill(SKILL.replace("water daily", "water weekly\n\nAnd more prose.").replace("Gardener", "G"))
    assert isinstance(plan_between(before, free), WriteFiles)


NAMES = st.sampled_from(["SKILL.md", "references/a.md", "references/b.md", "scripts/run.sh", "data.bin"])
TEXTS = st.text(st.sampled_from("#ab \n-`\r\0é\ufeff"), max_size=60).map(str.encode) | st.binary(max_size=20)
VERSIONS = st.dictionaries(NAMES, st.builds(Entry, TEXTS, st.booleans()), max_size=4).map(
    lambda files: Version(dict(sorted({"SKILL.md": Entry(b"# A\n"), **files}.items())), is_folder=True)
)


@settings(max_examples=150, deadline=None)
@given(VERSIONS, VERSIONS)
def test_the_plan_between_two_versions_leads_from_one_to_the_other(old: Version, new: Version) -> None:
    """Through JSON and back, byte for byte and mode for mode."""
    if old.digest == new.digest:
        with pytest.raises(PlanError):
            plan_between(old, new)
        return
    plan = plan_between(old, new)
    again: Plan = read_plan(plan_to_plain(plan), target=target_of(plan))
    assert apply_plan(again, old).digest == new.digest


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.sampled_from("#ab \n-`\r\t"), max_size=80), st.text(st.sampled_from("ab#- `"), min_size=1, max_size=10)
)
def test_a_section_added_to_any_text_leaves_that_text_whole(text: str, line: str) -> None:
    """Appending never takes a byte away, and a second time it is known."""
    before = skill(text)
    plan = EditSection(target="SKILL.md", heading="## Zebra", lines=(line,))
    after = text_of(apply_plan(plan, before))
    assert after.startswith(text) and "## Zebra" in after


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""No file may hold a NUL character, and no lone surrogate can be written."""


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9-]{0,5}", fullmatch=True),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(CHARACTERS, max_size=20)
        | st.lists(st.text(CHARACTERS, max_size=5), max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_front_matter_is_read_back_by_yaml_as_it_was_given(updates: dict[str, Any]) -> None:
    """Whatever the value, a YAML reader finds it again, and the body stays."""
    from honestone.core.skill.skill_file import split
    from honestone.formats.marked import parse_marked

    plan = UpdateFrontMatter(target="SKILL.md", updates={"zz": "new", **updates})
    after = apply_plan(plan, skill())
    parts = split(text_of(after))
    assert parts.block is not None and parts.rest == split(SKILL).rest
    found = parse_marked(parts.block, "x").value
    assert {key: found[key] for key in updates} == updates
