"""`suite new --from TABLE`: the columns of other tools, JSON tables, recorded outputs, and
promptfoo's `__expected`.
"""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from honestone.formats.syntax.marked import parse_marked

from .desk import Desk

RIGHT, WRONG = "In 1891", "In 1901"
Row = dict[str, Any]

# Rows as other tools write them: the input is `When?`, the right answer RIGHT, what the system
# answered WRONG.
TOOLS: dict[str, Row] = {
    "ragas 0.1": {
        "question": "When?",
        "answer": WRONG,
        "contexts": ["Built in 1891"],
        "ground_truth": RIGHT,
    },
    "ragas, a list": {
        "question": "When?",
        "answer": WRONG,
        "contexts": ["c"],
        "ground_truths": [RIGHT],
    },
    "ragas 0.2": {
        "user_input": "When?",
        "response": WRONG,
        "reference": RIGHT,
        "retrieved_contexts": ["c"],
        "reference_contexts": ["d"],
    },
    "deepeval": {
        "input": "When?",
        "actual_output": WRONG,
        "expected_output": RIGHT,
        "context": ["c"],
    },
    "OpenAI evals": {
        "input": [{"role": "user", "content": "When?"}],
        "ideal": RIGHT,
        "completion": WRONG,
    },
    "OpenAI evals, a list": {"input": "When?", "ideal": [RIGHT], "completion": WRONG},
    "OpenAI evals, items": {
        "item": {"question": "When?", "ground_truth": RIGHT},
        "sample": {"output_text": WRONG},
    },
    "LangSmith": {
        "inputs": {"question": "When?"},
        "outputs": {"answer": WRONG},
        "reference_outputs": {"answer": RIGHT},
    },
    "LangSmith, flat": {
        "inputs.question": "When?",
        "outputs.answer": WRONG,
        "reference_outputs.answer": RIGHT,
    },
    "Langfuse": {"input": "When?", "expectedOutput": RIGHT, "output": WRONG},
    "MLflow": {
        "inputs": {"question": "When?"},
        "expectations": {"expected_response": RIGHT},
        "outputs": WRONG,
    },
    "Braintrust": {"input": "When?", "expected": RIGHT, "output": WRONG},
    "Inspect": {"input": "When?", "target": RIGHT, "output": WRONG},
    "by hand": {"Prompt": "When?", "Expected Answer": RIGHT, "Model Output": WRONG},
}


def suite_of(desk: Desk, name: str, *more: str) -> Row:
    made = desk.run("suite", "new", "--from", name, *more)
    assert made.code == 0, made.err
    text = made.out if not more else (desk.folder / more[-1]).read_text()
    return dict(parse_marked(text, "suite.yaml").value)


def write(desk: Desk, form: str, row: Row) -> str:
    name = f"t.{form}"
    if form in ("csv", "tsv"):
        with (desk.folder / name).open("w", newline="") as file:
            table = csv.writer(file, delimiter="\t" if form == "tsv" else ",")
            table.writerow(row)
            table.writerow(
                [cell if isinstance(cell, str) else json.dumps(cell) for cell in row.values()]
            )
    else:
        desk.file(name, json.dumps([row], indent=1) if form == "json" else json.dumps(row) + "\n")
    return name


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "tsv"])
@pytest.mark.parametrize("tool", TOOLS)
def test_the_right_answer_is_the_reference_and_the_systems_its_output(
    desk: Desk, tool: str, form: str
) -> None:
    """In each tool's names, and in each form that can hold them."""
    row = TOOLS[tool]
    if form in ("csv", "tsv") and not all(isinstance(cell, str | list) for cell in row.values()):
        pytest.skip("a cell of CSV holds no mapping")
    if form in ("csv", "tsv") and isinstance(row.get("input"), list):
        row = {**row, "input": "When?"}
    suite = suite_of(desk, write(desk, form, row), "--output", "suite.yaml")
    (case,) = suite["cases"]
    assert (case["input"], case["reference"]) == ("When?", RIGHT)
    assert suite["target"] == "record:suite.outputs.jsonl"
    (recorded,) = map(json.loads, (desk.folder / "suite.outputs.jsonl").read_text().splitlines())
    assert recorded == {"id": case["id"], "output": WRONG}


def test_the_recorded_outputs_are_judged(desk: Desk) -> None:
    """What a system answered is judged as it is, by the right answer."""
    desk.file("t.csv", f"question,answer,ground_truth\nWhen?,{WRONG},{RIGHT}\nWhere?,Here,Here\n")
    suite_of(desk, "t.csv", "--output", "suite.yaml")
    judge = desk.judge(
        body="print(json.dumps({'criteria': {'answer': {'met': request['output'] == request['reference']}}}))"
    )
    ended = desk.run("eval", "suite.yaml", "--judge", judge.spec, "--json")
    assert [one["status"] for one in ended.json["cases"]] == ["failed", "passed"], ended.err


@pytest.mark.parametrize(
    "row",
    [
        {"question": "2+2?", "answer": "4"},
        {"input": "2+2?", "output": "4"},
        {"prompt": "2+2?", "target": "4"},
    ],
)
def test_an_answer_alone_is_the_reference(desk: Desk, row: Row) -> None:
    """Where no other column is the right answer, and no name says that a system gave it."""
    desk.file("t.jsonl", json.dumps(row) + "\n")
    assert suite_of(desk, "t.jsonl")["cases"][0]["reference"] == "4"


def test_an_output_alone_is_no_reference(desk: Desk) -> None:
    """What a system answered is never held against itself."""
    desk.file("t.jsonl", json.dumps({"input": "2+2?", "actual_output": "5"}) + "\n")
    made = desk.run("suite", "new", "--from", "t.jsonl")
    assert (
        "reference" not in made.out.split("cases:")[1] and "1 cases have no reference" in made.err
    )
    assert "--output" in made.err


@pytest.mark.parametrize("gold", [["Four", "4"], '["Four", "4"]', "['Four', '4']"])
def test_several_right_answers_are_all_in_the_reference(desk: Desk, gold: object) -> None:
    """As a list, or as JSON or Python in a cell; the criterion asks for one of them."""
    desk.file("t.json", json.dumps([{"question": "2+2?", "ground_truths": gold}]))
    (case,) = suite_of(desk, "t.json")["cases"]
    assert case["reference"].split() == ["-", "Four", "-", "4"]
    assert "one of the references" in str(suite_of(desk, "t.json"))


@pytest.mark.parametrize(
    "table",
    [
        [{"input": "Hi", "reference": "Hello"}, {"input": "Bye", "reference": "See you"}],
        {
            "name": "greetings",
            "examples": [
                {"input": "Hi", "reference": "Hello"},
                {"input": "Bye", "reference": "See you"},
            ],
        },
        {"input": ["Hi", "Bye"], "reference": ["Hello", "See you"]},
        {"input": {"0": "Hi", "1": "Bye"}, "reference": {"0": "Hello", "1": "See you"}},
    ],
    ids=["rows", "rows under a key", "columns", "columns by row"],
)
def test_json_that_is_a_table(desk: Desk, table: object) -> None:
    """A list of rows, alone or under a key, and columns as data frames write them."""
    desk.file("t.json", json.dumps(table))
    assert [(one["input"], one["reference"]) for one in suite_of(desk, "t.json")["cases"]] == [
        ("Hi", "Hello"),
        ("Bye", "See you"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.json", "[1, 2]", "list of rows"),
        ("t.json", "[]", "list of rows"),
        ("t.json", '{"a": 1}', "list of rows"),
        ("t.json", "[{", "t.json:1"),
        ("t.xlsx", "PK", "neither a skill nor a table"),
        ("t.parquet", "PAR1", "JSON list of rows"),
        ("t.yaml", "- {input: a}", "neither a skill nor a table"),
    ],
)
def test_what_is_not_a_table_is_refused_for_what_it_is(
    desk: Desk, name: str, text: str, words: str
) -> None:
    """With what a table may be; never as a skill without its file."""
    desk.file(name, text)
    refused = desk.run("suite", "new", "--from", name)
    assert (
        refused.code == 2
        and words in refused.err
        and "SKILL.md" not in refused.err.split("hint")[0]
    ), refused.err


EXPECTED = """\
language,question,__expected,__expected2,__prefix,__suffix,__description,__metric,__threshold
fr,hello,equals:bonjour,contains: bon,PRE ,SUF,greets,m1,0.5
de,hi,"icontains: hallo","llm-rubric: Is polite, and short",,,,,
es,yo,hola,,,,,,
xx,none,,,,,,,
"""


def test_promptfoos_columns_are_checks_and_what_they_are_named_after(desk: Desk) -> None:
    """`__expected` in its forms, numbered ones, `__prefix`, `__suffix`, `__description`,
    `__metric`, `__threshold`.
    """
    desk.file("t.csv", EXPECTED)
    suite = suite_of(desk, "t.csv")
    first, second, third, fourth = suite["cases"]
    assert first["input"] == "PRE helloSUF" and first["metadata"] == {"language": "fr"}
    assert [one["check"] for one in first["rubric"]] == [
        {"equals": "bonjour", "exact": "javascript"},
        {"contains": "bon", "exact": "javascript"},
    ]
    assert all(one["id"].startswith("m1") for one in first["rubric"]) and suite["threshold"] == 50
    icontains, polite = second["rubric"]["criteria"]
    assert (
        icontains["check"] == {"icontains": "hallo", "exact": "javascript"}
        and polite["requirement"] == "Is polite, and short"
    )
    assert third["rubric"]["criteria"][0]["check"] == {
        "equals": "hola",
        "exact": "javascript",
    }
    assert "The output answers what the input asks" in str(fourth)
    said = "print({'PRE helloSUF': 'bonjour', 'yo': 'hola'}.get(__import__('sys').stdin.read(), ''), end='')"
    desk.file("t.py", said)
    desk.file("s.yaml", desk.run("suite", "new", "--from", "t.csv").out)
    ended = desk.run(
        "eval",
        "s.yaml",
        "--target",
        "cmd:python3 t.py",
        "--case",
        "hello",
        "--case",
        "yo",
        "--json",
    )
    assert [one["status"] for one in ended.json["cases"]][:2].count("passed") >= 1, ended.out


def test_a_table_of_promptfoo_with_one_variable_of_any_name(desk: Desk) -> None:
    """The only column that is not promptfoo's is what is asked; a gold column is the reference
    besides.
    """
    desk.file("t.csv", "topic,__expected\nfruit,contains: apple\n")
    (case,) = suite_of(desk, "t.csv")["cases"]
    assert case["input"] == "fruit" and "apple" in str(
        case["rubric"] if "rubric" in case else suite_of(desk, "t.csv")
    )
    desk.file("u.csv", "question,ground_truth,__expected\nWhen?,In 1891,contains: 1891\n")
    assert suite_of(desk, "u.csv")["cases"][0]["reference"] == "In 1891"
