"""`targets` of a case: it is run in the columns of those targets, and skipped in the others."""

from __future__ import annotations

import json

import pytest

from .desk import Desk


@pytest.fixture
def suite(desk: Desk) -> Desk:
    cases = [
        {"id": "both", "input": "good", "checks": [{"contains": "good"}]},
        {"id": "loud", "input": "good", "targets": ["large"], "checks": [{"contains": "GOOD"}]},
    ]
    targets = [{"use": "cmd:cat", "label": "small"}, {"use": "cmd:tr a-z A-Z", "label": "large"}]
    desk.file("s.yaml", json.dumps({"suite": 1, "target": targets, "cases": cases}))
    return desk


def statuses(desk: Desk, *words: str) -> dict[str, str]:
    return {
        case["id"]: case["status"]
        for case in desk.run("eval", "s.yaml", "--json", *words).json["cases"]
    }


def test_a_case_is_run_for_its_targets_only(suite: Desk) -> None:
    """In a table the column of another target skips it and says whose it is."""
    table = suite.run("eval", "s.yaml", "--json").json
    found = {row["id"]: [cell["status"] for cell in row["cells"]] for row in table["cases"]}
    assert [column["name"] for column in table["columns"]] == ["small", "large"]
    assert found == {"both": ["passed", "failed"], "loud": ["skipped", "passed"]}


def test_one_target_chosen_by_its_label_runs_its_cases(suite: Desk) -> None:
    assert statuses(suite, "--target", "small") == {"both": "passed", "loud": "skipped"}
    assert statuses(suite, "--target", "large") == {"both": "failed", "loud": "passed"}


def test_a_target_of_which_the_suite_says_nothing_runs_every_case(suite: Desk) -> None:
    assert statuses(suite, "--target", "cmd:cat -u") == {"both": "passed", "loud": "failed"}


def test_a_case_for_a_target_is_written_as_it_was_read(suite: Desk) -> None:
    """A promptfoo config whose tests are for one provider each, converted."""
    desk = suite
    test = "{vars: {q: hi}, providers: [%s], assert: [{type: is-json}]}"
    providers = "[{id: echo, label: small}, {id: 'exec: cat', label: large}]"
    desk.file(
        "c.yaml",
        f"prompts: ['{{{{q}}}}']\nproviders: {providers}\ntests: [{test % 'small'}, {test % 'large'}]\n",
    )
    desk.run("suite", "convert", "c.yaml", "--output", "native.yaml")
    assert (desk.folder / "native.yaml").read_text().count("    targets: [") == 2
    assert "label" not in desk.run("suite", "check", "native.yaml").out


def test_a_label_that_no_target_has_is_said(desk: Desk) -> None:
    """The case would be skipped without a word in every column but that of a target named by
    `--target`.
    """
    case = "{id: a, input: x, targets: [smal], checks: [{contains: x}]}"
    desk.file("s.yaml", f"suite: 1\ntarget: {{use: 'cmd:cat', label: small}}\ncases: [{case}]\n")
    assert (
        "no target of this suite has the label `smal`" in desk.run("suite", "check", "s.yaml").out
    )


def test_a_program_of_promptfoo_is_read_without_the_white_space_around_it(desk: Desk) -> None:
    """promptfoo cuts what an `exec:` provider prints; a target of ours is read as it is."""
    desk.file("say.py", "print(); print('hello')")
    desk.file(
        "promptfooconfig.yaml",
        "prompts: [hi]\nproviders: ['exec:python3 say.py']\ntests: [{assert: [{type: equals, value: hello}]}]\n",
    )
    assert desk.run("eval", "promptfooconfig.yaml", "-q").code == 0
    converted = desk.run("suite", "convert", "promptfooconfig.yaml")
    assert "output: trimmed" in converted.out
    native = converted.out.replace("output: trimmed", "output: text")
    desk.file("suite.yaml", native)
    assert desk.run("eval", "suite.yaml", "-q").code == 1
