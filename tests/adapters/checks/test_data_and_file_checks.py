"""Checks of JSON by a schema, of the files of an artifact, and of the links of its Markdown."""

from __future__ import annotations

import asyncio
import builtins
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.adapters.checks import CheckRunner
from honestone.adapters.checks.markdown import read_page, slug_of_heading
from honestone.core.artifact import Entry, Version
from honestone.core.checking.check_problems import read_check
from honestone.core.checking.gave_up import GaveUp
from honestone.core.errors import FileError, UsageError
from honestone.ports import Finding, Output
from honestone.system.files import load_artifact
from property_examples import examples


def folder(files: dict[str, str]) -> Version:
    return Version({name: Entry(text.encode()) for name, text in files.items()}, is_folder=True)


def find(
    written: dict[str, Any], version: Version, base: Path = Path(), output: str | None = None
) -> Finding:
    made = None if output is None else Output(text=output)
    (finding,) = asyncio.run(
        CheckRunner(base, sandbox="none").run([read_check(written)], version, made)
    )
    return finding


# -----------------------------------------------------------------------------------------------------
# json-schema

SCHEMA = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}


def test_a_schema_written_in_the_rubric():
    """JSON that fits meets it, JSON that does not names the place, text that is no JSON says so."""
    pytest.importorskip("jsonschema")
    good, bad, none = (Version.of_text(text) for text in ('{"name": "x"}', '{"name": 3}', "hello"))
    assert find({"json-schema": SCHEMA}, good).met is True
    assert find({"not-json-schema": SCHEMA}, good).met is False
    unmet = find({"json-schema": SCHEMA}, bad)
    assert unmet.met is False and "$.name" in str(unmet.note)
    assert find({"not-json-schema": SCHEMA}, bad).met is True
    assert "not JSON" in str(find({"json-schema": SCHEMA}, none).note)


HOSTILE = st.lists(
    st.sampled_from(
        "{ } [ ] , : a 1 &x *x !!bool !!int !!float !!binary !!set !!omap !!timestamp !!python/name:a "
        "!a ' \" # // << | > ? - % @ ` 1e400 -1e400 .nan .inf NaN Infinity 0x 2001-99-99 ~ \0".split(
            " "
        )
    )
    | st.sampled_from(["\n", " ", '"n": ', "a: "])
    | st.text(max_size=2),
    max_size=14,
).map("".join)


@settings(max_examples=examples(300), deadline=None)
@given(
    HOSTILE, st.sampled_from(["{a: ", "{", '{"n": ', ""]), st.sampled_from(["}", "", "} {b: 1}"])
)
@example("!!bool zzz", "{a: ", "}")
@example("!!int ''", "{a: ", "}")
@example("!!float ''", "{a: ", "}")
@example("!!timestamp x", "{a: ", "}")
@example("!!binary é", "{a: ", "}")
@example("1e400", '{"n": ', "}")
@example("1" + "0" * 400, '{"n": ', "}")
@example("9" * 5000, '{"n": ', "}")
def test_hostile_json_and_yaml_is_answered(inside: str, before: str, after: str) -> None:
    """Whatever a model writes, a check that looks for JSON as promptfoo does has an answer."""
    pytest.importorskip("jsonschema")
    text = before + inside + after
    numbers = {"properties": {"n": {"format": "int32", "multipleOf": 0.5}}}
    for kind, schema in (
        ("contains-json", True),
        ("contains-json", numbers),
        ("json-schema", numbers),
    ):
        for options in ({}, {"exact": "javascript"}):
            found = find({kind: schema, **options}, Version.of_text("-"), output=text)
            assert found.met is not None or found.note


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400])
def test_a_number_that_javascript_does_not_hold_is_none(number: str) -> None:
    """Ajv's `type` refuses it; its other rules for numbers say nothing of it."""
    pytest.importorskip("jsonschema")
    output = f'{{"n": {number}}}'

    def met(rule: dict[str, Any]) -> bool | None:
        written = {"json-schema": {"properties": {"n": rule}}, "exact": "javascript"}
        return find(written, Version.of_text("-"), output=output).met

    assert met({"type": "number"}) is False and met({"type": "integer"}) is False
    assert met({"format": "int32"}) is True and met({"format": "int64"}) is True
    assert met({"maximum": 1, "minimum": 0}) is True


CITY = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
ROME = json.dumps({"city": "Rome"})


@pytest.mark.parametrize(
    ("said", "met"),
    [
        (
            [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": ROME}}],
            True,
        ),
        (
            {
                "role": "assistant",
                "content": "so",
                "tool_calls": [{"function": {"name": "now", "arguments": "{}"}}],
            },
            True,
        ),
        ({"name": "weather", "arguments": ROME}, True),
        ([{"text": "so"}, {"functionCall": {"name": "weather", "args": {"city": "Rome"}}}], True),
        (
            {
                "toolCall": {
                    "functionCalls": [
                        {"name": "now"},
                        {"name": "weather", "args": {"city": "Rome"}},
                    ]
                }
            },
            True,
        ),
        ({"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Rome"}}, True),
        ([{"function": {"name": "weather", "arguments": json.dumps({"city": 3})}}], False),
        ([{"function": {"name": "weather", "arguments": json.dumps({"town": "Rome"})}}], False),
        (
            [{"functionCall": {"name": "now"}}, {"functionCall": {"name": "other", "args": {}}}],
            False,
        ),
        ({"name": "weather", "arguments": "city=Rome"}, False),
        ({"name": "weather", "arguments": "[]"}, False),
        ([], False),
        ("It is sunny in Rome.", False),
    ],
)
def test_calls_of_functions_fit_what_there_is(said, met):
    """In the words of each API: a function that is there, with arguments that fit, for each call of
    one at least.
    """
    pytest.importorskip("jsonschema")
    functions = {"weather": CITY, "now": {}}
    version = Version.of_text(said if isinstance(said, str) else json.dumps(said))
    assert find({"function-calls": functions}, version).met is met
    assert find({"not-function-calls": functions}, version).met is not met


def test_a_schema_beside_the_rubric(tmp_path):
    """A path is looked up in the rubric's folder; its bytes are part of the check's identity."""
    pytest.importorskip("jsonschema")
    (tmp_path / "s.json").write_text('{"type": "array"}')
    check = read_check({"json-schema": "s.json", "path": "*.json"})
    runner = CheckRunner(tmp_path)
    version = folder({"a.json": "[]", "b.json": "{}"})
    (finding,) = asyncio.run(runner.run([check], version))
    assert finding.met is False and str(finding.note).startswith("b.json: $:")
    before = runner.identity(check)
    (tmp_path / "s.json").write_text('{"type": "object"}')
    assert runner.identity(check) != before


def test_a_schema_in_the_artifact(tmp_path):
    """A path that is not beside the rubric is looked up in the version judged."""
    pytest.importorskip("jsonschema")
    version = folder({"s.json": '{"type": "array"}', "data.json": "[]"})
    assert find({"json-schema": "s.json", "path": "data.json"}, version, tmp_path).met is True


def test_schemas_that_are_none_stop_before_anything_is_spent(tmp_path):
    """No such file, no JSON, no schema: a usage error from `preflight`."""
    pytest.importorskip("jsonschema")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "binary.json").write_bytes(b"\0")
    runner, version = CheckRunner(tmp_path), Version.of_text("x")
    for value, error in [
        ("missing.json", FileError),
        ("broken.json", UsageError),
        ("binary.json", FileError),
        ({"type": "objct"}, UsageError),
    ]:
        with pytest.raises(error):
            runner.preflight([read_check({"json-schema": value})], version)
    runner.preflight([read_check({"json-schema": "missing.json"})])  # it may stand in a version


def test_without_the_library_the_command_to_type_is_named(monkeypatch):
    """jsonschema is an extra; where it is missing the error says how to get it."""
    real = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if name.startswith("jsonschema"):
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr("honestone.adapters.checks.data.import_module", without)
    with pytest.raises(UsageError) as caught:
        CheckRunner(Path()).preflight([read_check({"json-schema": SCHEMA})], Version.of_text("x"))
    assert "pip install 'honestone[schema]'" in str(caught.value.hint)


def test_a_schema_never_reaches_for_the_network(monkeypatch):
    """A reference to a schema elsewhere is not fetched: the check cannot be judged."""
    pytest.importorskip("jsonschema")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("tried to reach the network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    for written in (
        {"json-schema": {"$ref": "http://127.0.0.1:9/x.json"}},
        {"not-json-schema": {"$ref": "http://127.0.0.1:9/x.json"}},
    ):
        finding = find(written, Version.of_text("{}"))
        assert finding.met is None and "cannot be applied" in str(finding.note)


def test_the_library_is_not_loaded_for_other_checks():
    """Text checks do not import jsonschema."""
    real, seen = builtins.__import__, []

    def watch(name: str, *rest: Any, **more: Any) -> Any:
        seen.append(name)
        return real(name, *rest, **more)

    builtins.__import__ = watch
    try:
        find({"is-json": True}, Version.of_text("{}"))
    finally:
        builtins.__import__ = real
    assert not [name for name in seen if name.startswith("jsonschema")]


# -----------------------------------------------------------------------------------------------------
# file-exists


@pytest.mark.parametrize(
    ("value", "met"),
    [
        ("LICENSE", True),
        ("docs", True),
        ("docs/", True),
        ("docs/*/x.md", True),
        ("**/*.py", False),
        ("license", False),
        (["LICENSE", "docs"], True),
        ("do*", True),
    ],
)
def test_file_exists(value, met):
    """A path, a folder or a glob is there or not; of a list, all."""
    version = folder({"LICENSE": "x", "docs/deep/x.md": "y"})
    assert find({"file-exists": value}, version).met is met
    assert find({"not-file-exists": value}, version).met is not met


def test_not_file_exists_with_a_list_means_none():
    """A list of forbidden files forbids each."""
    version = folder({"a.log": "x"})
    unmet = find({"not-file-exists": ["*.tmp", "*.log"]}, version)
    assert unmet.met is False and "a.log" in str(unmet.note)
    assert find({"file-exists": ["*.tmp", "*.log"]}, version).met is False


def test_a_link_in_the_artifact_is_not_a_file_of_it(tmp_path):
    """A symbolic link out of the folder is never followed: its target is no file of the artifact."""
    (tmp_path / "secret.md").write_text("secret words")
    art = tmp_path / "art"
    art.mkdir()
    (art / "a.md").write_text("[x](linked.md)")
    (art / "linked.md").symlink_to(tmp_path / "secret.md")
    version = load_artifact(art).version
    assert find({"file-exists": "linked.md"}, version).met is False
    assert find({"contains": "secret words"}, version).met is False
    assert find({"links-resolve": True}, version).met is False


# ---------------------------------------------------------------------------------------------------
# links-resolve


def broken(text: str, **others: str) -> str | None:
    """The note of links-resolve on README.md, None when every link resolves."""
    files = {
        "README.md": text,
        **{name.replace("__", "/").replace("_md", ".md"): t for name, t in others.items()},
    }
    finding = find({"links-resolve": True, "path": "README.md"}, folder(files))
    assert (
        find({"not-links-resolve": True, "path": "README.md"}, folder(files)).met is not finding.met
    )
    return None if finding.met else finding.note


OTHERS = {
    "docs__guide_md": "# Start here\n\n## Über uns!\n",
    "my file.txt": "x",
    "docs__a(b)_md": "x",
    "img.png": "x",
}


@pytest.mark.parametrize(
    "text",
    [
        "no links at all",
        "[web](https://example.org/x) [mail](mailto:a@b.c) [phone](tel:1) <https://x.y> [same](//example.org/a)",
        "[guide](docs/guide.md) [folder](docs) [folder](docs/) [dot](./docs/guide.md) [self](README.md) [here](.)",
        "[root](/docs/guide.md)",
        "[part](docs/guide.md#start-here) [part](docs/guide.md#%C3%BCber-uns) [part](docs/guide.md#über-uns)",
        "[query](docs/guide.md?plain=1#start-here)",
        "[space](my%20file.txt) [angle](<my file.txt>) [title](docs/guide.md \"a title\") [t](docs/guide.md 'x') [t](docs/guide.md (x))",
        "[brackets](docs/a(b).md) [escaped](docs/a\\(b\\).md)",
        "![image](img.png) [![both](img.png)](docs/guide.md)",
        '[over\nlines](docs/guide.md\n"title")',
        "[ref][g] [g][] [g]\n\n[g]: docs/guide.md 'Guide'",
        "[Ref][The  Guide]\n\n[the guide]: <docs/guide.md>",
        "> quoted [x](docs/guide.md)\n> [q]: docs/guide.md",
        "# Top\n\n[up](#top) [up](#) [own](#top)",
        "# A\n# A\n# A-1\n# A\n[1](#a) [2](#a-1) [3](#a-1-1) [4](#a-2)",
        "Setext\n======\n\nOther one\n---\n[a](#setext) [b](#other-one)",
        '<a name="here"></a> <p id=\'there\'> <h2 align="center">Big Title</h2>\n\n[a](#here) [b](#there)',
        '<h2 align="center">Big Title</h2>\n\n[c](#big-title)',
        "`[code](missing.md)` and ``a ` [b](missing.md)``",
        "```\n[code](missing.md)\n```\n~~~md\n```\n[x](y.md)\n~~~",
        "- item\n\n  ```sh\n  [x](missing.md)\n  ```\n",
        "text\n\n    [indented](missing.md)\n\ntext",
        "<!-- [old](missing.md)\n\n[older](gone.md) -->",
        "\\[not](missing.md)\\)",
        "matrix[i][j] and a footnote[^1] and [x] and [ ] todo\n\n[^1]: see there",
        "[odd text]\n\n- [ ] task\n- [x] done",
        '<img src="img.png"> <a href="docs/guide.md#start-here">x</a> <a href="https://x.y">x</a>',
        "---\ntitle: x\nlink: [a](missing.md)\n---\n# Hi\n[x](#hi)",
        "[js](docs/guide.md 'it\\'s')",
        "# `code()` and *emphasis* and [link](docs/guide.md)\n\n[x](#code-and-emphasis-and-link)",
        "use `<!--` to open\n\n# Later\n\nand `-->` to close [x](#later)",
        "### snake_case and _emph_ ###\n[x](#snake_case-and-emph)",
        "<https://a.b/[x][y]> and <mailto:a@b.c> and \\[a\\][b] and `[x][y]`",
        "[^1]: see\n\ntext [^1]",
    ],
)
def test_links_that_resolve(text):
    """Every way of writing a link that GitHub understands, and everything that only looks like one."""
    assert broken(text, **OTHERS) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[x](missing.md)", 'README.md: line 1: "missing.md" is not there'),
        ("\n\n![x](docs/missing.png)", "line 3"),
        ("[x](docs/Guide.md)", "is not there"),
        ("[x](../README.md)", "leads out of the artifact"),
        ("[x](docs/../../etc)", "leads out"),
        ("[x](/../x)", "leads out"),
        ("[x](#nowhere)", "names no heading"),
        ("[x](docs/guide.md#nowhere)", "no such heading"),
        ("[x](docs/guide.md#Start-Here)", "no such heading"),
        ("# A\n# A\n[x](#a-2)", "#a-2"),
        ("[r][r]\n\n[r]: missing.md", "line 3"),
        ("[text][undefined]", "[undefined] is not defined"),
        ("[undefined][]", "[undefined] is not defined"),
        ("[![both](missing.png)](docs/guide.md)", "missing.png"),
        ("[![both](img.png)](missing.md)", "missing.md"),
        ('<img src="gone.png">', "gone.png"),
        ("<a href='gone.md'>x</a>", "gone.md"),
        ("- item\n\n    continued [x](missing.md)", "missing.md"),
        ("```\ncode\n```\n[x](missing.md)", "line 4"),
        ("[x]()", "leads nowhere"),
        ("a `b [x](missing.md)", "missing.md"),
        ("[x](%00)", "leads out"),
        ("a\r\nb\r\n[x](missing.md)\r\n", "line 3"),
        ("`code\nover lines` [x][none]", "line 2: [none] is not defined"),
        ("a\n`code\nover lines` and\n<b\nid=b>[x](missing.md)", "line 5"),
        ("<p>\n<!-- x\n -->\n<img src='gone.png'>\n</p>", "line 4"),
        ("`<a name='here'>` [x](#here)", "names no heading"),
        ("[`code`][none]", "[none] is not defined"),
    ],
)
def test_links_that_do_not_resolve(text, words):
    """A broken link is named with its file and line."""
    note = broken(text, **OTHERS)
    assert note is not None and words in note


def test_all_markdown_of_a_folder_is_looked_at():
    """Without `path`, every Markdown file; links are seen from the file that they stand in."""
    files = {
        "README.md": "[g](docs/g.md)",
        "docs/g.md": "[up](../README.md) [side](h.md#x)",
        "docs/h.md": "# X",
    }
    assert find({"links-resolve": True}, folder(files)).met is True
    files["docs/g.md"] = "[wrong](docs/h.md)"
    assert str(find({"links-resolve": True}, folder(files)).note).startswith("docs/g.md: line 1")


def test_a_single_file_is_judged_alone(tmp_path):
    """Own anchors resolve; other files only with `beside`, and the note says so."""
    (tmp_path / "other.md").write_text("# There")
    (tmp_path.parent / "outside.md").write_text("x")
    version = Version(
        {"a.md": Entry(b"# Here\n[x](#here) [y](other.md#there) [z](a.md)")}, is_folder=False
    )
    alone = find({"links-resolve": True}, version, tmp_path)
    assert alone.met is False and "other.md" in str(alone.note) and "`beside`" in str(alone.note)
    assert find({"links-resolve": True, "beside": "."}, version, tmp_path).met is True
    out = Version({"a.md": Entry(b"[x](../outside.md)")}, is_folder=False)
    assert find({"links-resolve": True, "beside": "."}, out, tmp_path).met is False
    wrong = Version({"a.md": Entry(b"[y](other.md#elsewhere)")}, is_folder=False)
    assert find({"links-resolve": True, "beside": "."}, wrong, tmp_path).met is False


def test_what_stands_beside_is_part_of_the_identity(tmp_path):
    """When the neighbours change, an old answer is no answer; a folder that is not there is a usage
    error.
    """
    check = read_check({"links-resolve": True, "beside": "."})
    runner = CheckRunner(tmp_path)
    before = runner.identity(check)
    (tmp_path / "new.md").write_text("# New")
    assert runner.identity(check) != before
    with pytest.raises(UsageError, match="no such folder"):
        runner.preflight([read_check({"links-resolve": True, "beside": "nowhere"})])


def test_an_output_has_links_too():
    """The Markdown that a target produced is looked at as a file of its own."""
    assert find({"links-resolve": True}, folder({"a.md": "x"}), output="# Hi\n[x](#hi)").met is True
    assert find({"links-resolve": True}, folder({"a.md": "x"}), output="[x](a.md)").met is False


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("Hello World", "hello-world"),
        ("What's new in 2.0?", "whats-new-in-20"),
        ("a & b", "a--b"),
        ("C++ / C#", "c--c"),
        ("`code_name` here", "code_name-here"),
        ("**bold** _it_ ~~no~~", "bold-it-no"),
        ("Größe ändern", "größe-ändern"),
        ("你好 世界", "你好-世界"),
        ("🚀 Launch", "-launch"),
        ("[text](target.md) ![alt](i.png)end", "text-end"),
        ("A <b>tag</b> &amp; more", "a-tag--more"),
        ("dots... and -- dashes", "dots-and----dashes"),
    ],
)
def test_slugs(heading, slug):
    """Headings get the anchors that GitHub gives them."""
    assert slug_of_heading(heading) == slug


@given(st.text(alphabet="[]()<>!`\\#-= \n\t>a*_~\"':", max_size=200))
def test_no_markdown_crashes_the_reader(text):
    """Any mixture of marks is read; line numbers stay within the text."""
    page = read_page(text)
    assert all(1 <= link.line <= text.count("\n") + 1 for link in page.links)


@pytest.mark.parametrize(
    "piece",
    [
        "[a](",
        "[",
        "![",
        "](",
        "`",
        "``a`",
        "<!--",
        "[a][",
        '[a](b "',
        "<a href=",
        "_a ",
        "(",
        "# `",
        "> - ",
    ],
)
def test_hostile_markdown_takes_linear_work(piece):
    """A megabyte of one mark is read; a reader with quadratic work would not come back."""
    text = piece * (300_000 // len(piece))
    assert read_page(text).links is not None


def test_a_page_of_brackets_costs_little_or_gives_up():
    """What holds no link is not looked at; where too much may be one, it is neither yes nor no."""
    assert read_page("[" * 1_000_000 + "\n\n[a](b.md)\n\n# [A] _b_").anchors == {"a-b"}
    assert [link.target for link in read_page("*" * 1_000_000 + "\n\n[a](b.md)").links] == ["b.md"]
    with pytest.raises(GaveUp, match="brackets"):
        read_page("[a](" * 500_001)
