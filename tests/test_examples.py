"""The examples do what they say: each fails as it stands, passes after its loop, and works out its
edits from its files.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
import warm
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from honestone.cli.demo import EXAMPLES, examples_folder
from honestone.formats.findings import find
from honestone.formats.rubric.rubric_file import read_rubric

NAMES = sorted(EXAMPLES)


class Copy:
    """A private copy of an example, with a home of its own."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.folder = root / name
        self.artifact = self.folder / EXAMPLES[name]
        self._home = root / "home"
        self._home.mkdir()
        shutil.copytree(
            examples_folder() / name,
            self.folder,
            ignore=shutil.ignore_patterns("__pycache__", ".honestone"),
        )

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([warm.path(), os.environ.get("PATH", os.defpath)])
        env = {"HOME": str(self._home), "PATH": path, "LANG": "C.UTF-8", "NO_COLOR": "1"}
        return subprocess.run(
            [warm.command(), *args],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def improve(self) -> dict[str, Any]:
        words = [EXAMPLES[self.name], "--rubric", "rubric.yaml", "--worker", "fix", "--json"]
        done = self.run("improve", *words)
        document: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == 0, done.stderr
        return document

    def replace(self, path: str, old: str, new: str) -> None:
        place = self.folder / path
        text = place.read_text(encoding="utf-8")
        assert old in text, f"the test expects {old!r} in {path}"
        place.write_text(text.replace(old, new), encoding="utf-8")


def tool(name: str, example: str = "readme") -> ModuleType:
    """A tool of an example as a module; tools import their neighbours."""
    folder = examples_folder() / example / "tools"
    sys.path.insert(0, str(folder))
    before = set(sys.modules)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec = importlib.util.spec_from_file_location(
            f"example_{example}_{name}", folder / f"{name}.py"
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.dont_write_bytecode = writes
        sys.path.remove(str(folder))
        for added in set(sys.modules) - before:
            if str(getattr(sys.modules[added], "__file__", "")).startswith(str(folder)):
                del sys.modules[added]


# ------------------------------------------------------------------------------------------------------
# whole loops


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_its_page_take_it_from_failing_to_passed(name: str, tmp_path: Path) -> None:
    """The two commands of the example's README, typed as they stand: exit 1, then exit 0; then
    there is nothing to do.
    """
    copy = Copy(name, tmp_path)
    page = (copy.folder / "README.md").read_text(encoding="utf-8")
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("    honestone ")]
    assert [words[0] for words in commands] == ["eval", "improve"]
    scored = copy.run(*commands[0], "--json")
    assert scored.returncode == 1, scored.stderr
    improved = copy.run(*commands[1], "--json")
    assert improved.returncode == 0, improved.stderr
    assert json.loads(improved.stdout)["result"] == "PASSED"
    assert copy.run(*commands[0]).returncode == 0
    assert json.loads(copy.run(*commands[1], "--json").stdout)["rounds"] == []


@pytest.mark.parametrize("name", NAMES)
def test_its_rubric_is_sound(name: str) -> None:
    """No finding, weights that sum to 100, checklists of 4 to 10 items, code for every item, a fix
    for some of each.
    """
    source = read_rubric(examples_folder() / name / "rubric.yaml")
    rubric = source.rubric
    assert find(source.rubric, source.marked) == []
    assert sum(criterion.weight for criterion in rubric.criteria) == 100
    assert any(criterion.required for criterion in rubric.criteria)
    assert not rubric.asks_judges
    for criterion in rubric.criteria:
        assert 4 <= len(criterion.items) <= 10, criterion.id
        assert any(item.fix for item in criterion.items), criterion.id


@pytest.mark.parametrize("name", NAMES)
def test_the_item_for_judges_is_right_once_it_is_used(name: str, tmp_path: Path) -> None:
    """Taking its `#` away gives a sound rubric that asks judges one thing."""
    text = (examples_folder() / name / "rubric.yaml").read_text(encoding="utf-8")
    used = re.sub(r"(?m)^( +)# (- id: |  requirement: )", r"\1\2", text)
    assert used != text
    path = tmp_path / "rubric.yaml"
    path.write_text(used, encoding="utf-8")
    source = read_rubric(path)
    assert find(source.rubric, source.marked) == []
    assert sum(item.check is None for _, item in source.rubric.questions()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_what_its_page_counts_is_so(name: str) -> None:
    """The numbers of criteria and items in the example's README are those of its rubric."""
    page = (examples_folder() / name / "README.md").read_text(encoding="utf-8")
    rubric = read_rubric(examples_folder() / name / "rubric.yaml").rubric
    said = re.search(r"\((\w+) criteria, (\d+) yes/no items\)", page)
    assert said is not None
    assert {"three": 3, "four": 4, "five": 5}[said[1]] == len(rubric.criteria)
    assert int(said[2]) == len(list(rubric.questions()))


# ----------------------------------------------------------------------------------------------
# nothing is recorded


def test_the_readme_is_made_true_to_another_program(tmp_path: Path) -> None:
    """With another text to count and another name for the option, the loop writes other numbers and
    the other name.
    """
    copy = Copy("readme", tmp_path)
    (copy.folder / "project/letter.txt").write_text(
        "one two three four five six seven\n" * 20, encoding="utf-8"
    )
    copy.replace("project/readtime.py", "--speed", "--pace-of-reading")
    copy.replace("project/readtime.py", "args.speed", "args.pace_of_reading")
    document = copy.improve()
    text = copy.artifact.read_text(encoding="utf-8")
    assert document["result"] == "PASSED"
    assert (
        "$ python3 readtime.py --pace-of-reading 40 letter.txt\nletter.txt: 140 words, 4 min\n"
        in text
    )
    assert "Without `--pace-of-reading`" in text
    assert "--speed" not in text


def test_another_longest_section_makes_another_loop(tmp_path: Path) -> None:
    """Where the longest section is one that nobody needs, the same fix is accepted and nothing is
    rolled back.
    """
    copy = Copy("readme", tmp_path)
    filler = "\n\n".join(
        f"On day {day} the weather was fine and somebody counted words." for day in range(30)
    )
    copy.replace(
        "project/README.md",
        "- Reading PDF files is coming soon, as soon as somebody finds a small library for it\n",
        "",
    )
    copy.replace("project/README.md", "## Roadmap\n", f"## History\n\n{filler}\n\n## Roadmap\n")
    rounds = copy.improve()["rounds"]
    assert all(one["decision"] == "accepted" for one in rounds)
    assert "brief" in [one["focus"][0] for one in rounds]
    assert "## History" not in copy.artifact.read_text(encoding="utf-8")


def test_the_package_fixes_follow_the_source(tmp_path: Path) -> None:
    """A shared default and a bare `except` in a new function are found and rewritten as well."""
    copy = Copy("package", tmp_path)
    more = (
        "\n\n# The longest of some durations in seconds, 0 for none.\ndef longest(texts, seen={}):\n"
        "    for text in texts:\n        try:\n            seen[text] = parse(text)\n        except:\n"
        "            raise KeyError(text)\n    return max(seen.values(), default=0)\n"
    )
    path = copy.artifact / "durations/parse.py"
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    copy.improve()
    text = path.read_text(encoding="utf-8")
    assert "def longest(texts, seen=None):" in text
    assert "    seen = {} if seen is None else seen" in text
    assert "except (KeyError, ValueError):" in text
    assert '"""The longest of some durations in seconds, 0 for none."""' in text
    assert "counted=None" in text
    assert "print(" not in (copy.artifact / "durations/__init__.py").read_text(encoding="utf-8")


def test_the_skill_shows_what_its_script_prints_for_another_file(tmp_path: Path) -> None:
    """Another table gives other lines; the moved section is kept word for word on a page that is
    linked.
    """
    copy = Copy("skill", tmp_path)
    (copy.artifact / "examples/orders.csv").write_text("city,price\nA,2\nB,4\n", encoding="utf-8")
    before = (copy.artifact / "SKILL.md").read_text(encoding="utf-8")
    copy.improve()
    after = (copy.artifact / "SKILL.md").read_text(encoding="utf-8")
    assert "rows: 2\ncity: text, 2 different values\nprice: 2 to 4, mean 3.00, 2 values\n" in after
    assert after.startswith("---\nname: csv-summary\n")
    moved = (copy.artifact / "references/columns-that-look-like-numbers.md").read_text(
        encoding="utf-8"
    )
    assert "(references/columns-that-look-like-numbers.md)" in after
    assert moved.split("\n\n", 1)[1].strip() in before


# -------------------------------------------------------------------------------------------------------
# the tools

_LINES = st.lists(
    st.sampled_from(
        [
            "# Title",
            "## One",
            "## Two",
            "words that say something",
            "TODO: more",
            "- coming soon",
            "- a point",
            "",
            "just so",
        ]
    ),
    max_size=30,
).map("\n".join)
_CODE = "```console\n$ python3 x.py\n\n# TODO just code\n```"


@pytest.fixture(scope="module")
def tools() -> dict[str, ModuleType]:
    return {
        name: tool(name) for name in ("shorten", "finish", "drop_fillers", "fix_links", "commands")
    }


@given(page=_LINES, limit=st.integers(0, 60))
def test_shortening_stops_at_the_limit_or_when_no_section_is_left(
    tools: dict[str, ModuleType], page: str, limit: int
) -> None:
    """Only whole sections go, and none more than needed."""
    shorter = tools["shorten"].shortened(page, limit)
    assert len(shorter.split()) <= limit or "\n## " not in "\n" + shorter
    if len(page.split()) <= limit:
        assert shorter == page.rstrip() + "\n"


@given(before=_LINES, after=_LINES)
def test_tools_for_the_text_leave_code_alone(
    tools: dict[str, ModuleType], before: str, after: str
) -> None:
    """Whatever stands around it, a code block comes out as it went in, and what was to go is gone
    from the text.
    """
    page = f"{before}\n\n{_CODE}\n\n{after}\n"
    finished = tools["finish"].finished(page)
    assert _CODE in finished
    assert not tools["finish"].UNFINISHED.search(finished.replace(_CODE, ""))
    plain = tools["drop_fillers"].plain(page)
    assert _CODE in plain
    assert "just" not in plain.replace(_CODE, "")


def test_links_that_lead_somewhere_stay(tools: dict[str, ModuleType]) -> None:
    """Only a link to a missing file with a near match changes; web links, anchors and hopeless ones
    do not.
    """
    page = "[a](https://example.org/x) [b](#top) [c](LICENSE) [d](zzz.png)\n"
    assert tools["fix_links"].relinked(page) == page
    assert tools["fix_links"].relinked("[l](CHANGELOG.md#1)") == "[l](CHANGES.md#1)"


def test_commands_are_read_with_their_output(tools: dict[str, ModuleType]) -> None:
    """Several commands of one block each have the lines up to the next as theirs."""
    page = "text\n\n```sh\n$ python3 a.py\none\ntwo\n$ python3 b.py\n```\n\n$ python3 not-in-a-block.py\n"
    shown = tools["commands"].shown_commands(page)
    assert [(one.command, one.output) for one in shown] == [
        ("python3 a.py", "one\ntwo\n"),
        ("python3 b.py", ""),
    ]
    assert [page[one.start : one.end] for one in shown] == [one.output for one in shown]


def test_only_python_is_run(tools: dict[str, ModuleType], tmp_path: Path) -> None:
    """A page cannot make a fix run another program, or a shell."""
    for command in (
        "touch made",
        "sh -c 'touch made'",
        "python3 -c 'exit(1)'; touch made",
        "python3 'unclosed",
    ):
        worked, _ = tools["commands"].run(command, tmp_path)
        assert not worked, command
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------ suites, and
# files of other tools

SUITE_EXAMPLES = ("suite", "interop", "skill-pipeline")
FORMS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")


class Desk:
    """A private copy of an example of suites, where commands of its page are typed."""

    def __init__(self, name: str, root: Path) -> None:
        self.folder = root / name
        ignored = shutil.ignore_patterns("__pycache__", ".honestone")
        shutil.copytree(examples_folder() / name, self.folder, ignore=ignored)
        path = os.pathsep.join([warm.path(), "/usr/local/bin", "/usr/bin", "/bin"])
        self._env = {"HOME": str(root), "PATH": path, "LANG": "C.UTF-8", "NO_COLOR": "1"}

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def typed_commands(name: str) -> list[tuple[str, int]]:
    """The commands of an example's page, each with the exit code that the page gives it."""
    page = (examples_folder() / name / "README.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in page.splitlines() if line.startswith("    honestone ")]
    codes = [re.search(r"# exit (\d+)$", line) for line in lines]
    return [(line, int(code[1]) if code else 0) for line, code in zip(lines, codes, strict=True)]


INTEROP = [(line, code) for line, code in typed_commands("interop") if "--target" in line]
DIALECTS = {
    "agentv-rubric-page.yaml": "agentv-seed",
    "agentv-4.yaml": "agentv-4",
    "agentv-5.yaml": "agentv-5",
    "rows.jsonl": "agentv-2",
    "task_suite.yaml": "task-suite-1.0",
    "evals.json": "agent-skills",
    "promptfooconfig.yaml": "promptfoo",
    "healthbench.jsonl": "healthbench",
    "pydantic-evals.yaml": "pydantic-evals",
    "inspect.jsonl": "inspect",
}


@pytest.mark.parametrize("name", SUITE_EXAMPLES)
def test_every_command_of_the_page_ends_as_it_says(name: str, tmp_path: Path) -> None:
    """Typed in order in one folder, each has the exit code that stands behind it."""
    desk = Desk(name, tmp_path)
    commands = typed_commands(name)
    assert len(commands) >= 5
    for line, code in commands:
        done = desk.type(line)
        assert done.returncode == code, f"{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr


def test_there_are_ten_files_of_ten_formats() -> None:
    """Each is run by its page, and each is read as another format."""
    named = [line.split()[2] for line, _ in INTEROP]
    assert sorted(named) == sorted(DIALECTS)
    assert len(set(DIALECTS.values())) == 10


@pytest.mark.parametrize(("line", "code"), INTEROP, ids=[line.split()[2] for line, _ in INTEROP])
def test_a_file_of_another_tool_is_reported_in_every_form(
    line: str, code: int, tmp_path: Path
) -> None:
    """It is read as the format it is in, and every form of the report tells of the same cases."""
    desk = Desk("interop", tmp_path)
    done = desk.type(line.partition(" #")[0] + " --json -q")
    assert done.returncode == code, done.stderr
    report = json.loads(done.stdout)
    assert report["suite"]["dialect"] == DIALECTS[line.split()[2]]
    assert len(report["cases"]) == 2
    assert report["counts"]["passed"] == 2 - code
    for form in FORMS:
        assert_tells(report, form, desk.type(f"honestone show last --format {form}").stdout)


@pytest.mark.parametrize("form", FORMS)
def test_the_suite_prints_its_report_in_every_form(form: str, tmp_path: Path) -> None:
    """`eval` prints the form itself, with the verdict as exit code, and `show` prints the same
    again.
    """
    desk = Desk("suite", tmp_path)
    words = "honestone eval suite.yaml -q --judge 'script:python3 tools/judge.py' --baseline prompts/before.md"
    done = desk.type(f"{words} --format {form}")
    assert done.returncode == 1, done.stderr
    report = json.loads(desk.type("honestone show last --json").stdout)
    assert report["regressions"] == ["saturday", "late-child"]
    assert report["comparison"]["improvements"] == ["not-in-the-handbook"]
    assert report["counts"]["skipped"] == 1
    assert_tells(report, form, done.stdout)
    assert desk.type(f"honestone show last --format {form}").stdout == done.stdout


def assert_tells(report: dict[str, Any], form: str, printed: str) -> None:
    """A form holds every case of the report, and what programs read can be read."""
    counts, ids = report["counts"], [case["id"] for case in report["cases"]]
    for id in ids:
        assert id in printed, form
    if form == "json":
        assert json.loads(printed) == report
    elif form == "junit":
        suite = ElementTree.fromstring(printed)
        names = [case.attrib["name"] for case in suite.iter("testcase")]
        gate = 1 if report.get("regressions") else 0
        assert names == ids + ["gate"] * gate
        assert int(suite.attrib["tests"]) == len(names)
        assert int(suite.attrib["failures"]) == counts["failed"] + gate
    elif form == "jsonl":
        rows = [json.loads(row) for row in printed.splitlines()]
        assert [row["test_id"] for row in rows] == ids
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(printed)))
        assert {(row["case"], row["status"]) for row in rows} == {
            (case["id"], case["status"]) for case in report["cases"]
        }
    elif form == "html":
        assert printed.startswith("<!doctype html>")


def test_a_judge_that_always_agrees_is_found_out(tmp_path: Path) -> None:
    """With `mock`, which says yes to everything, the case that tests the judge fails."""
    desk = Desk("suite", tmp_path)
    report = json.loads(desk.type("honestone eval suite.yaml --judge mock --json -q").stdout)
    assert {case["id"]: case["status"] for case in report["cases"]}[
        "a-judge-that-agrees"
    ] == "failed"


@pytest.mark.parametrize("name", SUITE_EXAMPLES)
def test_suites_of_the_examples_are_small(name: str) -> None:
    """They are shipped with the package: no file over 8 kB."""
    files = [
        path
        for path in (examples_folder() / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert files
    assert [
        path.name for path in files if path.stat().st_size > 8000 and ".honestone" not in path.parts
    ] == []


# ----------------------------------------------------------------------------------------------------
# the skill pipeline

AGENT = "--target 'cmd:python3 tools/agent.py'"
WRITTEN = {
    "candidate_versions": "candidates",
    "rankings": "ranking",
    "evaluations": "evaluation",
    "executions": "execution",
    "receipts": "receipt",
    "traces": "traces",
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The pipeline's folder after all commands of its page, which another test looks at one by one."""
    desk = Desk("skill-pipeline", tmp_path_factory.mktemp("typed"))
    for line, code in typed_commands("skill-pipeline"):
        assert desk.type(line).returncode == code, line
    return desk


def plain(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", list(WRITTEN.values()))
def test_what_the_stages_wrote_fits_the_schema_that_is_published(kind: str, typed: Desk) -> None:
    """Every file of a kind, from `stage run` and from the stages by hand, is valid by `honestone
    stage schema`.
    """
    folder = next(name for name, what in WRITTEN.items() if what == kind)
    files = [*(typed.folder / ".honestone" / "stage" / folder).glob("*.json")]
    by_hand = typed.folder / f"{'candidates' if kind == 'candidates' else kind}.json"
    files += [by_hand] if by_hand.exists() else []
    files = [path for path in files if plain(path).get("stage") != "promoted"]
    assert len(files) >= (1 if kind == "traces" else 2)
    validator = Draft202012Validator(
        json.loads(typed.type(f"honestone skill schema {kind}").stdout)
    )
    for path in files:
        assert [error.message for error in validator.iter_errors(plain(path))] == [], path.name


def test_the_list_of_what_waits_fits_its_schema(typed: Desk) -> None:
    """After the promotion nothing waits, and the file is still one."""
    document = plain(typed.folder / ".honestone" / "stage" / "pending_promote.json")
    Draft202012Validator(
        json.loads(typed.type("honestone skill schema pending_promote").stdout)
    ).validate(document)
    assert document["pending"] == []


def test_its_runs_end_as_its_page_says(typed: Desk) -> None:
    """The brief has what failed in `eval`, so one edit is kept on the first try; one is put back,
    one waits for a person.
    """
    runs = [
        plain(path) for path in (typed.folder / ".honestone" / "stage" / "pipelines").glob("*.json")
    ]
    ends = {run["decision"]: [one["decision"] for one in run["tries"]] for run in runs}
    assert ends == {
        "keep": ["keep"],
        "revert": ["revert", "reject", "reject"],
        "pending_promote": ["pending_promote"],
    }


def test_what_was_kept_stands_in_the_skill_and_nothing_else(typed: Desk) -> None:
    """The rule and the wider description are there; the edit that did harm was applied by hand and
    taken back.
    """
    before = (examples_folder() / "skill-pipeline" / "changelog-line" / "SKILL.md").read_text(
        encoding="utf-8"
    )
    after = (typed.folder / "changelog-line" / "SKILL.md").read_text(encoding="utf-8")
    added = [line for line in after.splitlines() if line not in before.splitlines()]
    assert len(added) == 2
    assert "release notes" in added[0]
    assert "number of its issue" in added[1]
    assert [line for line in before.splitlines() if line not in after.splitlines()] == [
        line for line in before.splitlines() if line.startswith("description:")
    ]
    assert plain(typed.folder / "execution.json")["result"]["modified"] is True
    assert plain(typed.folder / "receipt.json")["rollback"]["success"] is True


def test_the_agent_does_what_the_skill_says(tmp_path: Path) -> None:
    """Six tasks: one is passed without a skill, three with the older one, four with this; its page
    says so.
    """
    desk = Desk("skill-pipeline", tmp_path)
    page = (desk.folder / "README.md").read_text(encoding="utf-8")
    assert "passes one task of six, with the older version three, with this one four" in page
    eval_it = (
        f"honestone eval task_suite.yaml --artifact changelog-line {AGENT} --json -q --baseline"
    )
    passed = {
        side: [
            sum(
                one["passed"]
                for one in json.loads(desk.type(f"{eval_it} {side}").stdout)[f"{which}_results"]
            )
            for which in ("baseline", "candidate")
        ]
        for side in ("without", "older")
    }
    assert passed == {"without": [1, 4], "older": [3, 4]}


def test_the_worker_reads_what_failed(tmp_path: Path) -> None:
    """With the last evaluation on record the first proposal is the right one: the skill's own
    failures are shown.
    """
    desk = Desk("skill-pipeline", tmp_path)
    propose = "honestone skill propose changelog-line --task-suite task_suite.yaml --worker 'cmd:python3 tools/worker.py'"
    blind = json.loads(desk.type(f"{propose} --json").stdout)["candidates"][0]
    desk.type(
        f"honestone skill evaluate --standalone --skill-path changelog-line --task-suite task_suite.yaml {AGENT}"
    )
    told = json.loads(desk.type(f"{propose} --json").stdout)["candidates"][0]
    assert blind["diff_summary"]["added_lines"] == 0
    assert told["proposed_change_summary"].startswith("+- End with the number of its issue")
    assert (
        told["rationale"] == "Tasks that failed before: number-of-the-issue, asked-in-other-words"
    )


def test_the_worker_is_not_told_of_failures_that_are_mended(tmp_path: Path) -> None:
    """After an edit was kept, only what the skill fails as it is now is shown."""
    desk = Desk("skill-pipeline", tmp_path)
    worker = "--task-suite task_suite.yaml --worker 'cmd:python3 tools/worker.py'"
    assert desk.type(f"honestone skill run changelog-line {worker} {AGENT}").returncode == 0
    next_one = json.loads(
        desk.type(f"honestone skill propose changelog-line {worker} --json").stdout
    )
    assert (
        next_one["candidates"][0]["rationale"] == "Tasks that failed before: asked-in-other-words"
    )


def test_every_attempt_is_made_where_all_have_to_pass(tmp_path: Path) -> None:
    """A task suite stops at the first pass; `--attempt-rule pass^k` does not, or it would ask for
    nothing.
    """
    desk = Desk("skill-pipeline", tmp_path)
    words = f"honestone eval task_suite.yaml --artifact changelog-line {AGENT} --case a-fix --attempts 2 --json -q"
    made = {
        rule: len(json.loads(desk.type(f"{words} {rule}").stdout)["cases"][0]["attempts"])
        for rule in ("", "--attempt-rule 'pass^k'")
    }
    assert made == {"": 1, "--attempt-rule 'pass^k'": 2}
