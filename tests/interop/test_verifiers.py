"""verifiers: rubric files in TOML and JSON, and the rubric judges of a run configuration."""

from __future__ import annotations

import contextlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.ballot import Ballot, Mark
from honestone.core.errors import FileError, UsageError
from honestone.core.scorecard import Scorer
from honestone.formats.document import Document
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.toml_nodes import toml_marked
from honestone.interop.recognise import read_any_rubric, read_any_suite
from honestone.interop.verifiers.read import READERS
from property_examples import examples

RUBRIC = '''# quality
title = "Answers"

[[criteria]]
name = "cause"
text = """Does it
name = "why"?"""
weight = 2.5

[[criteria]]
name = "depth"
text = "How thorough?"
choices = ["none", "partial", "good"]

[[criteria]]
name = "spam"
text = "Does it advertise?"
choices = ["yes", "no"]
'''


def read(text: str, folder: Path, name: str = "r.toml") -> ForeignRubric:
    path = folder / name
    path.write_text(text, "utf-8")
    source = read_any_rubric(path)
    assert isinstance(source, ForeignRubric) and source.dialect == "verifiers"
    return source


def test_a_rubric_file(tmp_path: Path) -> None:
    """Choices are evenly spaced from worst to best; no and yes are a question; yes as the worst
    turns it round.
    """
    source = read(RUBRIC, tmp_path)
    cause, depth, spam = source.rubric.criteria
    assert source.rubric.title == "Answers" and source.losses == ()
    assert (cause.weight, cause.items[0].anchors) == (Fraction("2.5"), None)
    assert cause.requirement == 'Does it\nname = "why"?'
    anchors = depth.items[0].anchors
    assert anchors is not None and anchors.levels == (
        (0, "none"),
        (Fraction(1, 2), "partial"),
        (1, "good"),
    )
    assert spam.negate and (depth.weight, spam.weight) == (1, 1)
    marks = {
        ("cause", "cause"): Mark(True),
        ("depth", "depth"): Mark(0.5),
        ("spam", "spam"): Mark(True),
    }
    assert Scorer(source.rubric).card([Ballot(judge="j", marks=marks)]).score == Fraction(
        3
    ) / Fraction("4.5")


@pytest.mark.parametrize("wrap", [lambda c: c, lambda c: {"title": "T", "criteria": c}])
def test_json_is_the_same(wrap: Any, tmp_path: Path) -> None:
    """A bare list or an object with `criteria`."""
    rubric = read(
        json.dumps(wrap([{"name": "a", "text": "A?"}, {"name": "b", "text": "B?", "weight": 0}])),
        tmp_path,
        "r.json",
    ).rubric
    assert [(c.id, c.requirement, c.weight) for c in rubric.criteria] == [
        ("a", "A?", 1),
        ("b", "B?", 0),
    ]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 500).map(lambda n: n / 100), st.integers(2, 6), st.data()),
        min_size=1,
        max_size=5,
    ).filter(lambda parts: any(weight for weight, _, _ in parts))
)
def test_gradings_equal_the_documented_mean(
    tmp_path_factory: Any, parts: list[tuple[float, int, Any]]
) -> None:
    """sum(w*rank/(n-1)) / sum(w)."""
    entries = [
        {"name": f"c{n}", "text": "?", "weight": weight, "choices": [f"k{k}" for k in range(count)]}
        for n, (weight, count, _) in enumerate(parts)
    ]
    rubric = read(json.dumps(entries), tmp_path_factory.mktemp("v"), "r.json").rubric
    won, marks = Fraction(0), {}
    for n, (weight, count, data) in enumerate(parts):
        rank = data.draw(st.integers(0, count - 1))
        won += Fraction(str(weight)) * Fraction(rank, count - 1)
        marks[f"c{n}", f"c{n}"] = Mark(rank / (count - 1))
    total = sum((Fraction(str(weight)) for weight, _, _ in parts), Fraction(0))
    found = Scorer(rubric).card([Ballot(judge="j", marks=marks)]).score
    assert found is not None and abs(found - won / total) < Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (RUBRIC.replace("weight = 2.5", "wieght = 2.5"), ":8:1", "unknown key `wieght`"),
        (RUBRIC.replace("weight = 2.5", "weight = -1"), ":8:10", "0 or more"),
        (RUBRIC.replace("weight = 2.5", "weight = inf"), ":8:10", "is not a finite number"),
        (RUBRIC.replace('"depth"', '"cause"'), ":10:1", "two criteria have the name `cause`"),
        (
            RUBRIC.replace('["none", "partial", "good"]', '["none"]'),
            ":13:11",
            "two different texts",
        ),
        (RUBRIC.replace('"partial"', '"none"'), ":13:11", "two different texts"),
        (RUBRIC.replace('text = "How thorough?"\n', ""), ":10:1", "`text` is missing"),
        (RUBRIC.replace("weight = 2.5", "weight = 2.5.1"), ":8:13", "not valid TOML"),
        ("criteria = []\n", ":1:12", "no criteria"),
        ('[[criteria]]\nname = "a"\ntext = "A"\nweight = 0\n', ":1:1", "weight above 0"),
        ("model = 'x'\nnum_tasks = 3\n\n[env.taskset]\nid = 'gsm8k'\n", ":4:1", "names no rubric"),
        ("[[eval]]\nid = 'gsm8k'\n", ":1:1", "names no rubric"),
    ],
)
def test_mistakes_have_a_place(text: str, place: str, words: str, tmp_path: Path) -> None:
    """TOML has lines and columns too."""
    with pytest.raises(UsageError) as caught:
        read(text, tmp_path)
    assert caught.value.place == f"{tmp_path / 'r.toml'}{place}" and words in caught.value.message


CONFIG = """model = "m"
num_tasks = 5

[env.taskset]
id = "search"

[env.taskset.task.rewards]
exact = { fn = "hooks.py:exact", weight = 0.5 }

[[env.taskset.task.judges]]
id = "rubric"
name = "style"
path = "r.toml"
weight = 2
weights = { cause = 4 }

[[env.taskset.task.judges]]
id = "reference"
"""


def test_a_configuration_names_its_rubric(tmp_path: Path) -> None:
    """The judge's rubric with its changed weights; rewards in Python and other judges are losses
    with their places.
    """
    (tmp_path / "r.toml").write_text(RUBRIC, "utf-8")
    source = read(CONFIG, tmp_path, "run.toml")
    assert [(c.id, c.weight) for c in source.rubric.criteria] == [
        ("cause", 4),
        ("depth", 1),
        ("spam", 1),
    ]
    assert sorted(loss.place.removeprefix(str(tmp_path)) for loss in source.losses) == [
        "/run.toml:17:1",
        "/run.toml:5:6",
        "/run.toml:8:9",
    ]
    assert any("settings of the run" in note for note in source.notes)


def test_two_rubric_judges_are_two_groups(tmp_path: Path) -> None:
    """Each with its weight."""
    (tmp_path / "r.toml").write_text(RUBRIC, "utf-8")
    judge = '[[env.taskset.task.judges]]\nid = "rubric"\npath = "r.toml"\n'
    source = read(f'{judge}name = "a"\n\n{judge}name = "b"\nweight = 3\n', tmp_path, "run.toml")
    assert [(c.id, c.weight, len(c.children)) for c in source.rubric.criteria] == [
        ("a", 1, 3),
        ("b", 3, 3),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"r.toml"', '"q.toml"', "not found"),
        ("cause = 4", "cuase = 4", "`weights` names `cuase`"),
        ('name = "style"', 'nmae = "style"', "unknown key `nmae`"),
    ],
)
def test_a_wrong_configuration(old: str, new: str, words: str, tmp_path: Path) -> None:
    """What a judge names has to be there."""
    (tmp_path / "r.toml").write_text(RUBRIC, "utf-8")
    with pytest.raises(UsageError) as caught:
        read(CONFIG.replace(old, new), tmp_path, "run.toml")
    assert words in caught.value.message and "run.toml:1" in str(caught.value.place)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "[" + ".".join("a" * 500) + "]\nb = 1\n"])
def test_bottomless_toml_is_a_clear_error(text: str) -> None:
    """Nesting is bounded, however it is written."""
    with pytest.raises(FileError, match=r"nested more than|not valid TOML"):
        toml_marked(text, "x.toml")


def test_other_toml_is_not_taken_for_it(tmp_path: Path) -> None:
    """A project file is no rubric."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n', "utf-8")
    with pytest.raises(UsageError):
        read_any_rubric(tmp_path / "pyproject.toml")


def test_the_example_is_recognised(tmp_path: Path) -> None:
    """What the reference page shows is read."""
    assert [c.id for c in read(READERS[0].example, tmp_path).rubric.criteria] == ["cause", "depth"]


# ------------------------------------------------------------------------------------------------------
# data sets

ROWS = [
    {
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "6 x 7?"},
        ],
        "answer": "42",
        "info": {"k": 1},
        "task": "sums",
    },
    {"prompt": "9 x 9?", "answer": 81, "info": '{"k": 2}', "example_id": 7},
    {"question": "Why?", "answer": "", "task": "open", "hint": "none"},
]


def _rows(tmp_path: Path, rows: object, name: str = "d.jsonl") -> SuiteSource:
    text = (
        "\n".join(map(json.dumps, rows))
        if name.endswith("l") and isinstance(rows, list)
        else json.dumps(rows)
    )
    (tmp_path / name).write_text(text)
    return read_any_suite(tmp_path / name)


@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
def test_rows_of_a_data_set_are_cases(tmp_path: Path, name: str) -> None:
    """The prompt is the input, the answer what a judge is asked about; the rest is kept, and
    nothing is left out silently.
    """
    source = _rows(tmp_path, ROWS, name)
    assert source.dialect == "verifiers-dataset"
    first, second, third = source.suite.cases
    assert [case.id for case in source.suite.cases] == ["0", "7", "2"]
    assert [(one.role, one.content) for one in first.messages] == [
        ("system", "Be brief."),
        ("user", "6 x 7?"),
    ]
    assert first.rubric.criteria[0].requirement == "Gives the expected answer: 42"
    assert (first.reference, first.metadata) == ("42", {"info": {"k": 1}, "task": "sums"})
    assert (second.reference, second.metadata) == ("81", {"info": {"k": 2}})
    assert (third.input, third.skip, third.metadata) == (
        "Why?",
        "has no answer",
        {"task": "open", "hint": "none"},
    )
    assert any("rewards are Python" in note for note in source.notes)


def test_a_prompt_may_be_messages_as_json_in_a_text(tmp_path: Path) -> None:
    """As tables of a data set hold them; images are a loss."""
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    row = {
        "prompt": json.dumps([{"role": "developer", "content": parts}]),
        "answer": "a",
        "task": "t",
    }
    source = _rows(tmp_path, [row, row | {"example_id": "b"}])
    assert [(one.role, one.content) for one in source.suite.cases[0].messages] == [
        ("system", "Look")
    ]
    assert len(source.losses) == 2


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "q", "answer": "a", "completion": "c", "task": "t"},
        {"question": "q", "answer": "a"},
    ],
)
def test_outputs_and_plain_tables_are_not_a_data_set(
    tmp_path: Path, row: dict[str, object]
) -> None:
    """What was run has outputs; a table of questions may be anybody's."""
    with pytest.raises(UsageError):
        _rows(tmp_path, [row, row])


def test_two_rows_of_one_id_are_an_error_with_both_places(tmp_path: Path) -> None:
    """The second is named with its line."""
    row = {"prompt": "q", "answer": "a", "task": "t", "example_id": 1}
    with pytest.raises(UsageError, match="two rows have the example_id `1`") as raised:
        _rows(tmp_path, [row, row])
    assert "d.jsonl:2:" in (raised.value.place or "")


@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from(["prompt", "question", "answer", "info", "task", "id", "x"]),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False)
                | st.text(max_size=5)
                | st.sampled_from(["[{}]", '{"a"']),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(["role", "content", "tool_calls", "type"]),
                        inner,
                        max_size=3,
                    )
                ),
                max_leaves=6,
            ),
            max_size=5,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_odd_rows_never_crash(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    """Whatever a row holds, it is a case or an error for people."""
    path = tmp_path_factory.getbasetemp() / "odd.json"
    document = Document(path=path, text=json.dumps(rows))
    assert 0 <= READERS[1].signs(document) <= 100
    with contextlib.suppress(UsageError):
        source = READERS[1].read(document)
        assert isinstance(source, SuiteSource)
        assert len(source.suite.cases) == len(rows)
