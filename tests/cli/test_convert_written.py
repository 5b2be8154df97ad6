"""`suite convert` of a promptfoo config: what a person would have written, with equal results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.desk import Desk
from honestone.interop.criteria import usual_gate
from honestone.interop.recognise import read_any_suite

HEAD = """
description: Facts
prompts: [file://prompts/short.txt, file://prompts/long.txt]
providers: [{id: echo, label: small, prompts: [long]}, {id: echo, label: large}]
defaultTest:
  vars: {tone: calm}
  assert: [{type: not-icontains, value: as an AI}]
"""
TABLE = "question,__expected,__expected2\n" + "".join(
    f"fact {n},{'contains: calm' if n % 3 else 'contains: length'},icontains: FACT {n}\n"
    for n in range(1, 31)
)


def put(desk: Desk, config: str) -> None:
    desk.file("prompts/short.txt", "Be {{tone}}: {{question}}\n")
    desk.file("prompts/long.txt", "Be {{tone}}, at length: {{question}}\n")
    desk.file("prompts/chat.json", json.dumps([{"role": "system", "content": "{{question}}"}]))
    desk.file("prompts/two.txt", "One {{question}}\n---\nTwo {{question}}\n")
    desk.file("tests.csv", TABLE)
    desk.file("pf.yaml", config)


def statuses(table: Any) -> list[list[tuple[str, str]]]:
    """By case: what each column has."""
    if "columns" not in table:
        return [[("", case["status"])] for case in table["cases"]]
    return [[(one["column"], one["status"]) for one in case["cells"]] for case in table["cases"]]


def converted(desk: Desk, *options: str) -> str:
    """The native text, after both files gave equal results."""
    done = desk.run("suite", "convert", "pf.yaml", *options)
    assert done.code == 0, done.err
    desk.file("native.yaml", done.out)
    checked = desk.run("suite", "check", "native.yaml")
    assert (checked.code, "read as" in checked.err) == (0, False), checked.err
    theirs = desk.run("eval", "pf.yaml", "--json", *options).json
    assert statuses(desk.run("eval", "native.yaml", "--json").json) == statuses(theirs)
    return done.out


@pytest.mark.slow
def test_files_tables_and_defaults_stay_where_they_are(desk: Desk) -> None:
    """Two prompts, two providers and thirty rows are less than thirty lines."""
    put(desk, HEAD + "tests: file://tests.csv\n")
    text = converted(desk)
    assert len(text.splitlines()) < 30
    for kept in ("prompts/short.txt", "prompts/long.txt", "tests.csv", "tone: calm"):
        assert text.count(kept) == 1
    assert "fact" not in text
    assert "threshold" not in text


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        (
            (
                "prompts: ['Say {{q}}', {raw: 'Shout {{q}}', label: loud}]\nproviders: [echo]\n"
                "tests:\n  - {description: one, vars: {q: [a, b]}, assert: [{type: contains, value: '{{q}}'}]}\n"
                "  - {vars: {q: 7}, prompts: [loud], assert: [{type: contains, value: Say}]}\n"
            ),
            "- Say {{q}}",
        ),
        (
            (
                "prompts: file://prompts/chat.json\nproviders: [echo]\ndefaultTest: {threshold: 0.6}\n"
                "tests: [{vars: {question: hi}, assert: [{type: contains, value: hi, weight: 2}, {type: contains, value: NO}]}]\n"
            ),
            "prompts/chat.json",
        ),
    ],
)
def test_what_is_kept_gives_equal_results(desk: Desk, config: str, kept: str) -> None:
    """Texts, conversations, variables of each case; weights and a threshold."""
    put(desk, config)
    assert kept in converted(desk)


@pytest.mark.parametrize("suffix", ["md", "j2", "txt", "TXT"])
def test_the_line_breaks_of_a_prompt_file_are_those_of_promptfoo(desk: Desk, suffix: str) -> None:
    """Only a `.txt` loses them, so any file of a prompt stays one and asks the same."""
    put(
        desk,
        f"prompts: [file://prompts/a.{suffix}, file://prompts/b.{suffix}]\nproviders: [echo]\n"
        "tests: [{vars: {q: hi}, assert: [{type: contains, value: hi}]}]\n",
    )
    for name in ("a", "b"):
        desk.file(f"prompts/{name}.{suffix}", f"\n{name} {{{{q}}}}\n\n")
    assert f"prompts/b.{suffix}" in converted(desk)
    (case,) = read_any_suite(desk.folder / "native.yaml").suite.cases
    assert case.input == ("a hi" if suffix.lower() == "txt" else "\na hi\n\n")


def test_a_template_that_our_suites_do_not_have_is_filled_in(desk: Desk) -> None:
    """Loops are computed: of one prompt the cases are written as they are filled in, of two the
    second is a loss.
    """
    loop = "{% for w in [1, 2] %}{{q}}{% endfor %}"
    tests = "providers: [echo]\ntests: [{vars: {q: a}, assert: [{type: contains, value: aa}]}]\n"
    put(desk, f"prompts: ['{loop}']\n{tests}")
    assert "input: aa" in converted(desk)
    put(desk, f"prompts: ['{loop}', 'Say {{{{q}}}}a']\n{tests}")
    refused = desk.run("suite", "convert", "pf.yaml")
    assert (refused.code, "the prompt `say-q-a` is left out" in refused.err) == (2, True)
    assert "has one" not in refused.err
    assert desk.run("suite", "convert", "pf.yaml", "--accept-loss").code == 0


def test_the_first_prompt_alone_asks_what_it_asked(desk: Desk) -> None:
    """Tests and providers that are not for it are left out, each by name."""
    desk.file(
        "pf.yaml",
        "prompts: [{raw: 'Say {{q}} shortly', label: short}, {raw: 'Say {{q | upper}}', label: long}]\n"
        "providers: [{id: echo, label: A, prompts: [short]}, {id: echo, label: B, prompts: [long]},"
        " {id: echo, label: C}]\n"
        "tests:\n  - {vars: {q: x}, assert: [{type: contains, value: shortly}]}\n"
        "  - {vars: {q: y}, prompts: [long], assert: [{type: contains, value: Y}]}\n",
    )
    refused = desk.run("suite", "convert", "pf.yaml")
    assert refused.code == 2
    for left in ("the prompt `long`", "the target `B`", "the case `test-2`"):
        assert f"{left} is left out" in refused.err
    for form in ("honestone", "task-suite"):
        done = desk.run("suite", "convert", "pf.yaml", "--to", form, "--accept-loss")
        assert (done.code, "Say x shortly" in done.out) == (0, True), done.err
        assert ("long" in done.out, "test-2" in done.out) == (False, False), done.out
    native = desk.run("suite", "convert", "pf.yaml", "--accept-loss").out
    desk.file("s.yaml", native)
    done = desk.run("eval", "s.yaml", "--json").json
    assert statuses(done) == [[("A", "passed"), ("C", "passed")]]


@pytest.mark.slow
def test_prompts_go_to_another_folder(desk: Desk) -> None:
    """The files stay; their texts are written."""
    put(desk, HEAD + "tests: file://tests.csv\n")
    done = desk.run("suite", "convert", "pf.yaml", "-o", "out/native.yaml")
    assert done.code == 0, done.err
    assert "30 cases of other files are written out" in done.err
    theirs = desk.run("eval", "pf.yaml", "--json").json
    assert statuses(desk.run("eval", "out/native.yaml", "--json").json) == statuses(theirs)


def test_a_suite_of_several_prompts_is_shown(desk: Desk) -> None:
    """`show` and `convert` of our own file give one that reads back the same."""
    desk.file("long.md", "At length: {{ input }}\n")
    desk.file("more.csv", "id,q,__expected\nrow,R,contains: R\n")
    desk.file(
        "s.yaml",
        "suite: 1\nprompts: [{label: K, input: 'Say {{ q }}'}, {label: A, input: {file: long.md}}]\n"
        "target: cmd:cat\nattempt_rule: pass^k\ndefaults: {vars: {q: x}}\n"
        "cases:\n  - {id: both, input: now, checks: [{contains: '{{ q }}'}]}\n"
        "  - {id: one, prompts: [A], input: then, checks: [{contains: then}]}\n"
        "  - {id: mine, vars: {q: '07', input: ''}, checks: [{contains: length}]}\n",
    )
    shown = desk.run("suite", "show", "s.yaml")
    assert (shown.code, "left out" in shown.err) == (0, False), shown.err
    desk.file("again.yaml", shown.out)
    ours, again = (read_any_suite(desk.folder / name).suite for name in ("s.yaml", "again.yaml"))
    assert again == ours
    assert desk.run("suite", "convert", "s.yaml").out == shown.out
    desk.file("s.yaml", (desk.folder / "s.yaml").read_text() + "  - more.csv\n")
    assert "input" in desk.run("suite", "show", "s.yaml").err


def test_a_row_of_a_native_table_asks_as_promptfoo_does(desk: Desk) -> None:
    """A threshold of the row, a metric, vars in what is expected; code and files are refused at the
    row.
    """
    desk.file("s.yaml", "suite: 1\nprompts: 'Say {{ w }}'\ntarget: cmd:cat\ncases: t.csv\n")
    desk.file(
        "t.csv",
        "w,__expected,__expected2,__threshold,__metric\nhi,contains: {{w}},contains: NO,0.5,found\nho,equals: Say ho,,,\nhe,contains: NO,,,\n",
    )
    found = desk.run("eval", "s.yaml", "--json").json["cases"]
    assert [case["status"] for case in found] == ["passed", "passed", "failed"]
    assert [one["id"] for one in found[0]["criteria"]] == ["found", "found-2"]
    for cell, said in {
        "javascript: output.length": "neither files nor code",
        "contains: file://x.txt": "neither files nor code",
        "moderation: x": "assertion `moderation`",
    }.items():
        desk.file("t.csv", f"w,__expected\nhi,{cell}\n")
        refused = desk.run("eval", "s.yaml")
        assert (refused.code, said in refused.err, "t.csv:2:1" in refused.err) == (2, True, True)


def test_a_row_of_a_native_table_has_the_bars_of_promptfoo(desk: Desk) -> None:
    """A graded assertion passes by its own bar, and a threshold is the decimal that was written."""
    names = ",".join(f"__expected{n}" for n in range(1, 21))
    cells = ",".join(["contains: a"] * 11 + ["contains: NO"] * 9)
    desk.file("most.csv", f"q,{names},__threshold\na,{cells},0.55\n")
    graded = ("llm-rubric: is it nice?", "llm-rubric(0.4): good?", "contains: a")
    desk.file("graded.csv", "\n".join(["q,__expected", *(f"a,{cell}" for cell in graded)]))
    tables = "[file://most.csv, file://graded.csv]"
    desk.file("pf.yaml", f"prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: {tables}\n")
    desk.file("s.yaml", "suite: 1\nprompts: '{{ q }}'\ncases: [most.csv, graded.csv]\n")
    theirs, ours = (
        [usual_gate(case.rubric) for case in read_any_suite(desk.folder / name).suite.cases]
        for name in ("pf.yaml", "s.yaml")
    )
    assert ours == theirs
    assert [float(one.threshold) for one in ours] == [0.55, 0.51, 0.4, 0.7]


def test_no_column_of_a_native_table_is_dropped(desk: Desk) -> None:
    """What a row says twice, or to nothing, is refused at the row; a description is kept."""
    desk.file("s.yaml", "suite: 1\nprompts: 'Say {{ q }}'\ntarget: cmd:cat\ncases: t.csv\n")
    for table, said in (
        ("q,__expected,rubric\na,contains: a,is it polite?\n", "the column `rubric`"),
        ("q,__expected,__threshold,checks\na,,0.5,[contains: a]\n", "expects nothing"),
    ):
        desk.file("t.csv", table)
        done = desk.run("suite", "check", "s.yaml")
        assert (done.code, said in done.err, "t.csv:2:1" in done.err) == (2, True, True), done.err
    desk.file("t.csv", "q,__expected,__description\na,contains: a,the first\n")
    (case,) = read_any_suite(desk.folder / "s.yaml").suite.cases
    assert case.metadata == {"description": "the first"}
    put(desk, "prompts: [file://prompts/two.md]\nproviders: [echo]\ntests: file://t.csv\n")
    desk.file("prompts/two.md", "Say {{q}}\n")
    assert "t.csv" in converted(desk)


@pytest.mark.slow
def test_code_for_all_rows_is_written_once(desk: Desk) -> None:
    """Code is told the vars of its case without being written for each; one that has another
    context keeps it.
    """
    code = {"type": "javascript", "value": "output.includes(context.vars.question)"}
    own = {**code, "config": {"least": 1}}
    head = "prompts: [file://prompts/short.txt, file://prompts/long.txt]\nproviders: [echo]\n"
    tests = f"defaultTest: {{vars: {{tone: calm}}, assert: {json.dumps([code])}}}\ntests: file://tests.csv\n"
    put(desk, head + tests)
    desk.file("tests.csv", TABLE)
    assert desk.run("trust", "pf.yaml").code == 0
    text = converted(desk)
    assert len(text.splitlines()) < 30
    assert "context: {" not in text and text.count("script:") == 1
    put(desk, head + tests.replace(json.dumps([code]), json.dumps([own])))
    assert desk.run("trust", "pf.yaml").code == 0
    assert "context: {config: {least: 1}}" in converted(desk)
    numbers = f"tests:\n  - {{vars: {{question: 7, tone: calm}}, assert: {json.dumps([code])}}}\n"
    put(desk, head + numbers)
    assert desk.run("trust", "pf.yaml").code == 0
    assert "vars: {question: 7" in converted(desk)


@pytest.mark.parametrize(
    ("form", "has_it"), [("honestone", True), ("task-suite", True), ("agentv", False)]
)
def test_code_is_said_to_be_in_the_suite_where_it_is(desk: Desk, form: str, has_it: bool) -> None:
    """AgentV has no such check, so the code is lost and `eval` will run nothing of it."""
    desk.file(
        "promptfooconfig.yaml",
        "prompts: ['Say {{x}}']\n"
        "tests:\n"
        "  - vars: {x: hi}\n"
        "    assert: [{type: javascript, value: output.length > 1}, {type: contains, value: hi}]\n",
    )
    done = desk.run("suite", "convert", "promptfooconfig.yaml", "--to", form, "--accept-loss")
    assert done.code == 0, done.err
    assert ("the code of 1 place is in the suite now" in done.err) is has_it
    assert ("output.length" in done.out) is has_it
