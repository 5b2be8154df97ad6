"""Tables: one suite with several targets and artifacts, through the command. Exit codes, formats,
limits, refusals.
"""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.system.drawing import width

from .desk import Desk
from .test_suites import case, run, statuses, suite, target

HOSTILE = "<script>alert(1)</script> \x1b[31m | =cmd() [x](y)"


def two(desk: Desk, *more: str, head: str = "") -> list[str]:
    """A suite of two cases, and the options for a target that passes both and one that passes the
    first.
    """
    suite(desk, case("one"), case("two"), head=head)
    good = target(desk, "good")
    poor = target(desk, "poor", "print(text if text.startswith('one') else 'pear', end='')")
    return ["--target", good.spec, "--target", poor.spec, *more]


def names(table: dict[str, Any]) -> list[str]:
    return [column["name"] for column in table["columns"]]


def test_a_column_for_each_target(desk: Desk) -> None:
    """One run, listed once and shown as `last`; each column has its verdict, figures and a run of
    its own.
    """
    result, table = run(desk, *two(desk))
    assert (result.code, table["schema"], table["verdict"], table["pick"]) == (
        1,
        "honestone.table/1",
        "fail",
        None,
    )
    assert names(table) == ["good.py", "poor.py"]
    assert [
        (one["verdict"], one["pass_rate"], one["usage"]["target_calls"]) for one in table["columns"]
    ] == [
        ("pass", 1.0, 2),
        ("fail", 0.5, 2),
    ]
    assert [[cell["status"] for cell in one["cells"]] for one in table["cases"]] == [
        ["passed", "passed"],
        ["passed", "failed"],
    ]
    (pair,) = table["pairs"]
    assert (pair["a"], pair["b"], pair["wins"], pair["losses"], pair["delta"]) == (
        "good.py",
        "poor.py",
        1,
        0,
        0.5,
    )
    assert desk.run("show", "last", "--json").json == table
    (listed,) = desk.run("runs", "--json").json
    assert (listed["id"], listed["kind"], listed["verdict"], listed["target_calls"]) == (
        table["run"],
        "table",
        "fail",
        4,
    )
    assert [one["id"] for one in desk.run("runs", "--kind", "column", "--json").json] == [
        one["run"] for one in reversed(table["columns"])
    ]
    shown = desk.run("show", table["columns"][1]["run"], "--json").json
    assert (shown["schema"], statuses(shown)) == (
        "honestone.report/1",
        {"one": "passed", "two": "failed"},
    )


def test_columns_are_compared_as_runs(desk: Desk) -> None:
    """Each is a run for `compare` and `rescore`; the table is not, and says what is."""
    _, table = run(desk, *two(desk))
    good, poor = (one["run"] for one in table["columns"])
    compared = desk.run("compare", good, poor, "--json")
    assert (compared.code, compared.json["regressions"]) == (1, ["two"])
    assert desk.run("rescore", poor, "--json").json["verdict"] == "fail"
    refused = desk.run("compare", table["run"], poor)
    assert refused.is_refusal and good in refused.err and "table" in refused.err
    saved = desk.file("table.json", json.dumps(table))
    refused = desk.run("compare", str(saved), poor)
    assert refused.is_refusal and "is a table" in refused.err


def test_each_target_with_each_artifact(desk: Desk) -> None:
    """Lists in the suite; names say what sets the columns apart."""
    for name, text in (("v1", "apple"), ("v2", "pear")):
        desk.file(f"{name}.md", text)
    read = "print(open(os.environ['HONESTONE_ARTIFACT']).read(), end='')"
    specs = [target(desk, name, read).spec for name in ("first", "second")]
    listed = "".join(
        f"  - {{use: '{spec}', label: {label}}}\n" for spec, label in zip(specs, "ab", strict=True)
    )
    suite(desk, case("one"), head=f"artifact: [v1.md, v2.md]\ntarget:\n{listed}")
    result, table = run(desk)
    assert names(table) == ["a / v1.md", "a / v2.md", "b / v1.md", "b / v2.md"]
    assert [one["verdict"] for one in table["columns"]] == ["pass", "fail"] * 2
    assert result.code == 1
    for name in (specs[1], "b"):
        result, table = run(desk, "--target", name, "--artifact", "v1.md")
        assert (result.code, table["schema"], table["target"]) == (
            0,
            "honestone.report/1",
            specs[1],
        )


def test_the_worst_column_is_the_exit(desk: Desk) -> None:
    """What could not be judged is 3, a failure goes before it."""
    suite(desk, case("one"))
    good, broken = target(desk, "good"), target(desk, "broken", "sys.exit(7)")
    poor = target(desk, "poor", "print('pear')")
    assert run(desk, "--target", good.spec, "--target", broken.spec)[0].code == 3
    assert (
        run(desk, "--target", good.spec, "--target", broken.spec, "--target", poor.spec)[0].code
        == 1
    )
    assert run(desk, "--target", good.spec, "--target", broken.spec, "--pick")[0].code == 0


def priced(desk: Desk, *columns: tuple[str, float | None]) -> list[str]:
    """A suite whose targets are listed in it: what each says, and what it reports to cost."""
    listed = []
    for number, (word, usd) in enumerate(columns):
        said = {"output": word} | ({} if usd is None else {"usd": usd})
        spec = target(desk, f"t{number}", f"import json; print(json.dumps({said!r}))").spec
        listed.append(f"  - {{use: '{spec}', output: json}}\n")
    suite(desk, case("one"), head="target:\n" + "".join(listed))
    return ["--pick"]


@pytest.mark.parametrize(
    ("columns", "pick", "code"),
    [
        ([("apple", 0.5), ("pear", 0.01), ("apple", 0.2), ("apple", 0.3)], "t2.py", 0),
        ([("apple", 0.5), ("apple", None)], "t0.py", 0),  # the same number of calls: the first
        ([("apple", 0.5), ("pear", None), ("apple", 0.2)], "t2.py", 0),
        ([("pear", 0.5), ("pear", 0.1)], None, 1),
        ([("apple", 0.5)], "t0.py", 0),
    ],
)
def test_the_cheapest_column_that_passes(
    desk: Desk, columns: list[tuple[str, float | None]], pick: str | None, code: int
) -> None:
    """By money where it is known of all that pass, else by calls; nothing is picked that does not
    pass.
    """
    result, table = run(desk, *priced(desk, *columns))
    assert (result.code, table["schema"]) == (code, "honestone.table/1")
    assert (table["pick"] or "").endswith(pick or "") and (table["pick"] is None) == (pick is None)
    assert ("picked" in desk.run("show").out) is True
    gate = ET.fromstring(desk.run("show", "--format", "junit").out)
    assert (gate.get("failures") == "0") == (code == 0)


def test_equal_outputs_are_judged_once_and_no_name_is_seen(desk: Desk) -> None:
    """What two columns give alike costs one call; the judge sees the output alone."""
    suite(
        desk,
        "{id: one, input: an apple, rubric: [says apple]}",
        "{id: two, input: a pear, rubric: [says pear]}",
    )
    judge, zulu, yankee = desk.judge(), target(desk, "zulu"), target(desk, "yankee")
    result, table = run(desk, "--target", zulu.spec, "--target", yankee.spec, "--judge", judge.spec)
    assert (
        result.code,
        judge.calls,
        table["usage"]["judge_calls"],
        table["usage"]["cached_calls"],
    ) == (0, 2, 2, 2)
    asked = judge.log.read_text()
    assert "zulu" not in asked and "yankee" not in asked and "column" not in asked


@pytest.mark.slow
def test_limits_hold_for_all_columns_together(desk: Desk) -> None:
    """Three calls are three calls; the rest is left open, and no column passes by it."""
    suite(desk, *(f"{{id: c{n}, input: c{n} apple, rubric: [says apple]}}" for n in range(3)))
    judge = desk.judge()
    targets = [target(desk, name, f"print('{name}', text)") for name in ("a", "b")]
    asked = [word for one in targets for word in ("--target", one.spec)]
    result, table = run(desk, *asked, "--judge", judge.spec, "--max-calls", "3")
    assert (result.code, judge.calls, table["verdict"]) == (3, 3, "inconclusive")
    again, table = run(desk, *asked, "--judge", judge.spec)
    assert (again.code, judge.calls) == (0, 6)


def test_failed_takes_what_failed_in_any_column(desk: Desk) -> None:
    """Of the last run, which is the table."""
    asked = two(desk)
    run(desk, *asked)
    result, table = run(desk, *asked, "--failed")
    assert [one["id"] for one in table["cases"]] == ["two"]
    assert (result.code, table["left_out"], table["left_out_cases"]) == (1, 1, ["one"])


@pytest.mark.parametrize(
    "more",
    [
        ["--baseline", "last"],
        ["--baseline", "b.json", "--update-baseline"],
        ["--fail-on", "regression"],
        ["--require-improvement"],
        ["--across-contracts"],
    ],
)
def test_a_table_takes_no_baseline(desk: Desk, more: list[str]) -> None:
    """Exit 2 that says what to do, and nothing is run."""
    refused = desk.run("eval", "suite.yaml", *two(desk, *more))
    assert refused.is_refusal and more[0] in refused.err and "2 columns" in refused.err
    assert not (desk.logs / "good.log").exists()


def test_what_is_named_twice_is_refused(desk: Desk) -> None:
    """The same column twice would measure noise; an artifact that is judged by a rubric has one
    target.
    """
    asked = two(desk)
    refused = desk.run("eval", "suite.yaml", *asked, *asked[:2])
    assert refused.is_refusal and "twice" in refused.err
    desk.file("a.md", "apple")
    desk.rubric()
    refused = desk.run("eval", "a.md", "--rubric", "rubric.yaml", *asked)
    assert refused.is_refusal and "--target" in refused.err
    refused = desk.run("eval", "a.md", "--rubric", "rubric.yaml", "--artifact", "a.md")
    assert refused.is_refusal and "--artifact is for suites" in refused.err


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("target: []", "`target` is empty"),
        ("target: [mock, mock]", "twice"),
        ("artifact: [1.md, {}]", "entry 2 of `artifact`"),
    ],
)
def test_a_wrong_list_has_its_place(desk: Desk, head: str, said: str) -> None:
    """FILE:LINE and a hint."""
    suite(desk, case("one"), head=f"{head}\n")
    refused = desk.run("eval", "suite.yaml")
    assert refused.code == 2 and "suite.yaml:2" in refused.err and said in refused.err


def test_one_run_of_several_targets_has_to_choose(desk: Desk) -> None:
    """What works on one target says so."""
    two(desk)
    desk.file("skill/SKILL.md", "---\nname: fruit\ndescription: Fruit.\n---\nSay apple.\n")
    suite(desk, case("one"), head="target: [mock, 'cmd:true']\nartifact: skill\n")
    refused = desk.run("improve", "skill", "--suite", "suite.yaml", "--worker", "cmd:true")
    assert refused.code == 2 and "2 columns" in refused.err and "--target" in refused.err


@pytest.fixture
def hostile(desk: Desk) -> Desk:
    """A table with bad words in labels, inputs and outputs, and one case that passes."""
    spec = target(desk, "one", f"print({HOSTILE!r})").spec
    other = target(desk, "other", "print('fine apple')").spec
    listed = [{"use": spec, "label": HOSTILE}, {"use": other, "label": "=other"}]
    text = {
        "suite": 1,
        "title": HOSTILE,
        "target": listed,
        "cases": [{"id": "bad", "input": HOSTILE, "checks": [{"contains": "apple"}]}],
    }
    desk.file("suite.json", json.dumps(text))
    assert desk.run("eval", "suite.json").code == 1
    return desk


def test_hostile_names_and_outputs_are_inert(hostile: Desk) -> None:
    """In every format: no escape for a terminal, no element, no cell of Markdown, no formula."""
    shown = {
        form: hostile.run("show", "--format", form).out
        for form in ("text", "markdown", "html", "csv", "junit")
    }
    assert all("\x1b" not in text for text in shown.values())
    assert "alert(1)" in shown["text"] and "<script>alert" not in shown["html"]
    outside = re.sub(r"`[^`\n]*`", "", shown["markdown"])
    assert not re.search(r"(?<!\\)<script", outside) and not re.search(r"(?<!\\)\[x\]\(", outside)
    rows = [line for line in shown["markdown"].splitlines() if line.startswith("| bad")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [4]
    assert "| pass rate |" in shown["markdown"] and "| cost |" not in shown["markdown"]
    cells = [value for row in csv.DictReader(io.StringIO(shown["csv"])) for value in row.values()]
    assert cells and not any(value.lstrip().startswith(("=", "+", "-", "@")) for value in cells)
    assert len(ET.fromstring(shown["junit"])) == 2
    lines = [json.loads(line) for line in hostile.run("show", "--format", "jsonl").out.splitlines()]
    assert [row["column"] for row in lines][1] == "=other"


@pytest.mark.parametrize("columns", [40, 60, 120, 200])
def test_a_table_fits_its_terminal(hostile: Desk, columns: int) -> None:
    """Columns next to each other where they have room, else one under the other; outputs only in a
    wide terminal.
    """
    text = hostile.run("show", env={"COLUMNS": str(columns)}).out
    commands = [line for line in text.splitlines() if "honestone show" not in line]
    assert max(width(line) for line in commands) <= columns
    (row,) = (line for line in text.splitlines() if re.match(r"\W*bad\b", line))
    assert (len(re.findall("passed|failed", row)) == 2) == (columns > 40)
    assert any("alert(1)" in line and "fine apple" in line for line in text.splitlines()) == (
        columns >= 120
    )


def test_a_promptfoo_config_with_two_providers(desk: Desk) -> None:
    """Each provider with each prompt is a column; the tests are cases."""
    for name in ("a", "b"):
        target(desk, name, "", "")
        desk.file(f"{name}.py", f"import sys\nprint('{name}', sys.argv[1])\n")
    desk.file(
        "pf.yaml",
        "prompts: ['Say {{w}}', 'Please {{w}}']\n"
        "providers:\n  - {id: 'exec:python3 a.py', label: first}\n  - 'exec:python3 b.py'\n"
        "tests: [{vars: {w: apple}, assert: [{type: contains, value: apple}]}]\n",
    )
    result = desk.run("eval", "pf.yaml", "--json")
    assert (result.code, names(result.json)) == (
        0,
        [
            f"{target} / {prompt}"
            for target in ("first", "exec:python3 b.py")
            for prompt in ("say-w", "please-w")
        ],
    )
    (case,) = result.json["cases"]
    assert case["input"] == {"w": "apple"}
    assert [cell["input"] for cell in case["cells"]] == 2 * ["Say apple", "Please apple"]


def statuses_of(table: Any, column: Any) -> dict[str, str]:
    """The statuses of a column by case."""
    return {
        case["id"]: cell["status"]
        for case in table["cases"]
        for cell in case["cells"]
        if cell["column"] == column["name"]
    }


PROMPTS = """
prompts: [{raw: 'Say {{w}}', label: plain}, {raw: 'Shout {{w}}', label: loud}]
providers: [{id: echo, label: all}, {id: echo, label: one, prompts: [loud]}]
tests:
  - {vars: {w: apple}, assert: [{type: contains, value: Shout}]}
  - {vars: {w: pear}, prompts: [loud], assert: [{type: contains, value: pear}]}
"""


def test_prompts_are_columns_as_providers_are(desk: Desk) -> None:
    """Each prompt has its rate, `--pick` chooses among them, `--prompt` leaves one, and a case for
    one prompt is skipped in the columns of others.
    """
    desk.file("pf.yaml", PROMPTS)
    table = desk.run("eval", "pf.yaml", "--pick", "--json").json
    assert {one["name"]: [*statuses_of(table, one).values()] for one in table["columns"]} == {
        "all / plain": ["failed", "skipped"],
        "all / loud": ["passed", "passed"],
        "one / loud": ["passed", "passed"],
    }
    assert table["pick"] == "all / loud"
    assert table["cases"][1]["cells"][0]["reasons"] == ["the prompt `plain` is not for this case"]
    alone = desk.run("eval", "pf.yaml", "--prompt", "loud", "--target", "all", "--json").json
    assert (alone["schema"], alone["pass_rate"]) == ("honestone.report/1", 1.0)
    wrong = desk.run("eval", "pf.yaml", "--prompt", "quiet")
    assert wrong.code == 2
    assert "no prompt `quiet`" in wrong.err
    assert "plain, loud" in wrong.err


def test_columns_of_prompts_are_compared_and_judged_again(desk: Desk) -> None:
    """The contract of a case holds its variables and not its prompt, so the prompts of a suite are
    compared; recorded outputs are judged with the prompt that they answer.
    """
    desk.file("pf.yaml", PROMPTS)
    table = desk.run("eval", "pf.yaml", "--json").json
    plain, loud, _ = (one["run"] for one in table["columns"])
    compared = desk.run("compare", plain, loud)
    assert compared.code == 0, compared.err
    assert "1 win, 0 losses" in compared.out
    again = desk.run("eval", "pf.yaml", "--outputs", "last", "--json").json
    assert [one["counts"] for one in again["columns"]] == [
        one["counts"] for one in table["columns"]
    ]
    assert [cell["input"] for cell in again["cases"][0]["cells"]] == [
        cell["input"] for cell in table["cases"][0]["cells"]
    ]
    desk.file("pf.yaml", PROMPTS.replace("'Shout {{w}}'", "'Shout: {{w}}'"))
    other = desk.run("eval", "pf.yaml", "--prompt", "loud", "--target", "all", "--json").json
    assert other["run"] != loud
    assert other["cases"][0]["input"] == "Shout: apple"
    assert desk.run("suite", "lock", "pf.yaml").code == 0


TWO_PROMPTS = (
    "suite: 1\nprompts: [{label: A, input: 'Say {{q}}'}, {label: K, input: 'Shout {{q}}'}]\n"
)


def counted(table: Any) -> dict[str, dict[str, str]]:
    return {one["name"]: statuses_of(table, one) for one in table["columns"]}


def test_outputs_of_another_prompt_than_the_one_named_are_not_judged(desk: Desk) -> None:
    """`--prompt` chooses among recorded columns, and is refused where none of them answers it."""
    case = "{id: c, vars: {q: hi}, checks: [{contains: Shout}]}"
    desk.file("s.yaml", f"{TWO_PROMPTS}target: 'cmd:cat'\ncases: [{case}]\n")
    desk.file("o.jsonl", '{"id": "c", "output": "Shout hi"}\n')
    table = desk.run("eval", "s.yaml", "--json").json
    assert counted(table) == {"A": {"c": "failed"}, "K": {"c": "passed"}}
    loud = desk.run("eval", "s.yaml", "--outputs", "last", "--prompt", "K", "--json").json
    assert (loud["schema"], loud["cases"][0]["input"]) == ("honestone.report/1", "Shout hi")
    wrong = desk.run("eval", "s.yaml", "--outputs", loud["run"], "--prompt", "A")
    assert (wrong.code, 'answers "K", and no prompt that was asked for' in wrong.err) == (2, True)
    for outputs in ("last", "o.jsonl"):
        unknown = desk.run("eval", "s.yaml", "--outputs", outputs, "--prompt", "nope")
        assert (unknown.code, "the suite has no prompt `nope`" in unknown.err) == (2, True)


def test_outputs_of_a_file_answer_the_cases_of_the_prompt_that_is_named(desk: Desk) -> None:
    cases = "{id: a, vars: {q: x}}, {id: b, vars: {q: y}, prompts: [K]}"
    head = f"{TWO_PROMPTS}target: 'cmd:cat'\nrubric: {{criteria: [{{check: {{contains: x}}}}]}}\n"
    desk.file("s.yaml", f"{head}cases: [{cases}]\n")
    desk.file("o.jsonl", '{"id": "a", "output": "x"}\n')
    found = desk.run("eval", "s.yaml", "--outputs", "o.jsonl", "--prompt", "A", "--json")
    assert found.code == 0, found.err
    assert statuses(found.json) == {"a": "passed", "b": "skipped"}


@pytest.mark.parametrize("prompts", ["", TWO_PROMPTS.removeprefix("suite: 1\n")])
@pytest.mark.parametrize(
    ("targets", "of_case"),
    [
        ("{use: 'cmd:cat', label: K}", "K"),
        ("{use: 'cmd:cat', label: K}, {use: 'cmd:cat -u', label: z}", "z"),
        ("{use: 'cmd:cat', label: K}, {use: 'cmd:cat', label: z}", "z"),
    ],
)
def test_cases_of_a_target_are_those_of_its_recorded_columns(
    desk: Desk, prompts: str, targets: str, of_case: str
) -> None:
    """Whatever the prompts and the artifacts are called: columns keep their names and cases."""
    asked = "vars: {q: x}" if prompts else "input: x"
    cases = ", ".join(
        f"{{id: {id}, {asked}, checks: [{{contains: x}}], targets: [{label}]}}"
        for id, label in (("mine", of_case), ("other", "K"))
    )
    for name in ("a.md", "b.md"):
        desk.file(name, "text")
    head = f"suite: 1\n{prompts}target: [{targets}]\nartifact: [a.md, b.md]\n"
    desk.file("s.yaml", f"{head}cases: [{cases}]\n")
    table = desk.run("eval", "s.yaml", "--json").json
    again = desk.run("eval", "s.yaml", "--outputs", "last", "--json")
    assert again.code in (0, 1), again.err
    assert counted(again.json) == counted(table)
    assert {"passed"} <= {status for one in counted(table).values() for status in one.values()}


@pytest.mark.parametrize("args", [[], ["--target", "one"]])
def test_a_suite_of_targets_for_later_prompts_is_locked(desk: Desk, args: list[str]) -> None:
    """The lock is of every prompt and target, and an edited prompt keeps it, as the help says."""
    cases = "{id: a, vars: {q: x}, checks: [{contains: x}]}, {id: b, vars: {q: y}, prompts: [A], checks: [{contains: y}]}"
    text = f"{TWO_PROMPTS}target: {{use: 'cmd:cat', label: one, prompts: [K]}}\ncases: [{cases}]\n"
    desk.file("s.yaml", text)
    locked = desk.run("suite", "lock", "s.yaml", *args)
    assert locked.code == 0, locked.err
    assert desk.run("eval", "s.yaml", "--locked", "-q").code != 2
    desk.file("s.yaml", text.replace("Shout", "Whisper"))
    assert desk.run("eval", "s.yaml", "--locked", "-q").code != 2
    assert desk.run("suite", "lock", "s.yaml", "--check").code == 0
    desk.file("s.yaml", text.replace("q: x", "q: z"))
    assert desk.run("eval", "s.yaml", "--locked", "-q").code == 2


def test_a_table_in_python(tmp_path: Path) -> None:
    """Functions as columns, read like the document, a row for each cell."""

    def plain(text: str) -> str:
        return text

    def longer(text: str) -> str:
        return f"{text} apple"

    cases = [{"id": "one", "input": "an apple", "checks": [{"contains": "apple"}]}, {**_PEAR}]
    table = honestone.run_suite(cases, target=[plain, longer], pick=True, store=tmp_path / "store")
    assert isinstance(table, honestone.TableResult)
    assert (table.passed, table.pick, table["pick"], table["schema"]) == (
        True,
        "longer()",
        "longer()",
        "honestone.table/1",
    )
    assert [row[:3] for row in table.rows] == [
        ("one", "plain()", "passed"),
        ("one", "longer()", "passed"),
        ("two", "plain()", "failed"),
        ("two", "longer()", "passed"),
    ]
    assert "2 cases in 2 columns" in repr(table)
    with pytest.raises(honestone.UsageError, match="twice"):
        honestone.run_suite(cases, target=[plain, plain], store=tmp_path / "store")


_PEAR = {"id": "two", "input": "a pear", "checks": [{"contains": "apple"}]}
