"""Drafts from files of no known format: whatever the shape, the criteria are those of the file, and
nothing is invented.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from honestone.core.errors import FileError, HonestoneError
from honestone.core.judging.rubric import Criterion
from honestone.formats.drafts.cases import suite_from_table
from honestone.formats.drafts.found import number_in
from honestone.formats.drafts.rubrics import rubric_from_file
from honestone.formats.rubric.rubric_file import DRAFT_NOTE, parse_rubric
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.document import Document
from property_examples import examples


@pytest.mark.parametrize(
    ("name", "text", "is_by_majority"),
    [
        ("notes.yaml", "criteria: [Is kind, Is short]\n", True),
        ("sheet.csv", "Criterion,3,2,1\nTone,kind,fair,rude\nLength,short,fair,long\n", False),
    ],
)
def test_a_draft_of_yes_no_items_combines_by_majority(
    tmp_path: Path, name: str, text: str, is_by_majority: bool
) -> None:
    """It says so, and shows in a comment how judges are asked on; other drafts say neither."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    draft = rubric_from_file(file).text
    assert ("\ncombine: majority\n" in draft) is is_by_majority
    assert ("\n# sure: 95 " in draft) is is_by_majority
    assert parse_rubric(draft, "r").rubric.sure is None


@dataclass(frozen=True)
class Wanted:
    """One criterion as a person means it."""

    name: str
    weight: int
    text: str
    items: tuple[str, ...]
    levels: dict[int, str]


WORD = st.text(alphabet="abcdefgäé한", min_size=2, max_size=7)
WORDS = st.lists(WORD, min_size=1, max_size=4).map(" ".join)
NAME = WORDS.map(lambda words: f"N {words}")
CRITERION = st.builds(
    Wanted,
    name=NAME,
    weight=st.integers(1, 100),
    text=WORDS.map(lambda words: f"T {words}"),
    items=st.lists(WORDS.map(lambda words: f"I {words}"), min_size=1, max_size=4, unique=True).map(
        tuple
    ),
    levels=st.just({})
    | st.lists(WORDS, min_size=4, max_size=4).map(
        lambda texts: dict(zip((4, 3, 2, 1), texts, strict=True))
    ),
)
CRITERIA = st.lists(CRITERION, min_size=1, max_size=5, unique_by=lambda one: one.name)


def found(folder: Path, name: str, text: str) -> tuple[Criterion, ...]:
    """The criteria of a file, which are those that its draft reads back as."""
    (folder / name).write_text(text, "utf-8", newline="")
    draft = rubric_from_file(folder / name)
    back = parse_rubric(draft.text, "rubric.yaml")
    assert back.rubric == draft.rubric and DRAFT_NOTE in back.notes
    assert {one.purpose for one in draft.taken} and all(
        one.place.startswith(name) for one in draft.taken
    )
    return draft.rubric.criteria


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drafts")


@settings(max_examples=examples(120), deadline=None)
@given(
    CRITERIA,
    st.sampled_from(",;\t"),
    st.sampled_from(["Criterion", "CRITERIA", "Dimension:", "Aspect"]),
    st.data(),
)
def test_a_sheet_keeps_names_weights_and_levels(
    folder: Path, wanted: list[Wanted], delimiter: str, name: str, data: st.DataObject
) -> None:
    """Whatever parts its cells, in any order of columns, with lines before the headings and a total
    at the end.
    """
    weight = data.draw(st.sampled_from(["Weight", "Points", "Max. points", "%"]))
    heading = data.draw(st.sampled_from(["{} ({})", "{}: {}", "{} - {}", "{1}"]))
    labels = {4: "Excellent", 3: "Good", 2: "Fair", 1: "Poor"}
    columns = [
        name,
        weight,
        *(heading.format(label, level) for level, label in labels.items()),
        "Internal code",
    ]
    order = data.draw(st.permutations(range(1, len(columns))))
    file = io.StringIO()
    table = csv.writer(file, delimiter=delimiter)
    if data.draw(st.booleans()):
        table.writerow(["Essay sheet"])
        table.writerow([])
    rows = [
        columns,
        *(
            [one.name, f"{one.weight}%", *(one.levels.get(n, "") for n in labels), "x1"]
            for one in wanted
        ),
    ]
    rows.append(["Total", "100", "", "", "", "", ""])
    for row in rows:
        table.writerow([row[0], *(row[at] for at in order)])
    criteria = found(folder, "sheet.csv", file.getvalue())
    assert [(one.requirement, one.weight) for one in criteria] == [
        (one.name, one.weight) for one in wanted
    ]
    for one, criterion in zip(wanted, criteria, strict=True):
        anchors = criterion.items[-1].anchors
        says = (
            {}
            if anchors is None
            else {int(value): text.rpartition(": ")[2] for value, text in anchors.levels}
        )
        assert says == one.levels


@settings(max_examples=examples(120), deadline=None)
@given(
    CRITERIA,
    st.sampled_from(["## {} ({}%)", "### {} — {} points", "## {} [{} pts]"]),
    st.sampled_from(["- [ ] ", "* [x] ", "☐ "]),
)
def test_headings_with_boxes_and_weights(
    folder: Path, wanted: list[Wanted], heading: str, box: str
) -> None:
    """A heading is a criterion and a box an item; code blocks and other text are not looked at."""
    parts = [
        "# Before merging",
        "Read this first: it is important.",
        "```",
        "- [ ] not a box",
        "```",
    ]
    for one in wanted:
        parts += [
            "",
            heading.format(one.name, one.weight),
            "",
            "Some words.",
            *(box + item for item in one.items),
        ]
    criteria = found(folder, "list.md", "\n".join(parts))
    assert [(one.requirement, one.weight) for one in criteria] == [
        (one.name, one.weight) for one in wanted
    ]
    assert [tuple(item.requirement for item in one.items) for one in criteria] == [
        one.items for one in wanted
    ]


@settings(max_examples=examples(120), deadline=None)
@given(
    CRITERIA,
    st.booleans(),
    st.sampled_from(["Points", "Weight", "**Weight**"]),
    st.sampled_from(["What counts", "Description"]),
)
def test_a_table_in_a_text(
    folder: Path, wanted: list[Wanted], bars: bool, weight: str, text: str
) -> None:
    """With and without the outer bars; marks of Markdown are not words."""
    rows = [["Criterion", weight, text], [":---", "---:", "---"]]
    rows += [[f"**{one.name}**", str(one.weight), one.text] for one in wanted]
    lines = [f"| {' | '.join(row)} |" if bars else " | ".join(row) for row in rows]
    criteria = found(folder, "table.md", "\n".join(["# Sheet", "", *lines, "", "After it."]))
    says = [(f"{one.name}: {one.text}", one.weight) for one in wanted]
    assert [(one.requirement, one.weight) for one in criteria] == says


@settings(max_examples=examples(150), deadline=None)
@given(CRITERIA, st.data())
def test_a_tree_of_any_shape(folder: Path, wanted: list[Wanted], data: st.DataObject) -> None:
    """Lists and mappings under any of the usual keys, at any depth, in YAML and JSON."""
    draw = lambda *words: data.draw(st.sampled_from(words))  # noqa: E731
    name, weight, text = (
        draw("title", "name", "criterion"),
        draw("importance", "weight", "max_points"),
        draw("description", "looks_for"),
    )
    items, levels, holds = (
        draw("checklist", "questions"),
        draw("levels", "scale"),
        draw("criteria", "dimensions", "rubric"),
    )
    as_list, form = data.draw(st.booleans()), draw("numbers", "rows", "labels")

    def scale(one: Wanted) -> Any:
        if form == "numbers":
            return dict(one.levels)
        if form == "rows":
            return [{"score": level, "description": words} for level, words in one.levels.items()]
        return {
            f"L{level}": {"points": level, "description": words}
            for level, words in one.levels.items()
        }

    def entry(one: Wanted) -> dict[str, Any]:
        out = {
            name: one.name,
            weight: one.weight,
            text: one.text,
            items: list(one.items),
            "owner": "us",
        }
        return out | ({levels: scale(one)} if one.levels else {})

    rows: Any = [entry(one) for one in wanted]
    if not as_list:
        rows = {one.name: {k: v for k, v in entry(one).items() if k != name} for one in wanted}
    tree: Any = {holds: rows, "version": 3}
    for key in data.draw(st.lists(st.sampled_from(["assessment", "config", "v1"]), max_size=3)):
        tree = {key: tree}
    if form == "numbers" or data.draw(st.booleans()):
        written = io.StringIO()
        YAML().dump(tree, written)
        criteria = found(folder, "odd.yaml", written.getvalue())
    else:
        criteria = found(folder, "odd.json", json.dumps(tree))
    assert [(one.requirement, one.weight) for one in criteria] == [
        (f"{one.name}: {one.text}", one.weight) for one in wanted
    ]
    for one, criterion in zip(wanted, criteria, strict=True):
        assert tuple(item.requirement for item in criterion.items if not item.whole) == one.items
        anchors = criterion.items[-1].anchors
        says = (
            {}
            if anchors is None
            else {int(value): words.rpartition(": ")[2] for value, words in anchors.levels}
        )
        assert says == one.levels


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none.txt", "Once there was a fern."),
        ("none.md", "# Notes\n\n- milk\n- bread\n"),
        ("people.csv", "Name,Age,City\nAnn,3,Rome\nBob,4,Oslo\n"),
        ("scores.csv", "Student,Thesis,Sources\nAnn,3,4\n"),
        ("people.md", "| Name | City |\n| --- | --- |\n| Ann | Rome |\n"),
        ("config.yaml", "server:\n  port: 80\n  hosts: [a, b]\n"),
        ("users.json", '{"users": [{"id": "a", "email": "x"}, {"id": "b", "email": "y"}]}'),
        (
            "scale.yaml",
            "rating_levels:\n  - {label: good, value: 2, description: fine}\n  - {label: bad, value: 1, description: poor}\n",
        ),
        ("empty.csv", "Criterion,Weight\n"),
        ("sheet.pdf", "%PDF-1.7"),
    ],
)
def test_what_holds_no_criteria_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """A list of people, settings, a scale or a story never becomes a rubric."""
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError) as caught:
        rubric_from_file(tmp_path / name)
    assert name in str(caught.value) and caught.value.hint


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=200), st.sampled_from(["x.md", "x.csv", "x.yaml", "x.json", "x.tsv", "x"]))
def test_any_text_is_drafted_or_refused(folder: Path, text: str, name: str) -> None:
    """No crash; what is drafted is a rubric that loads, with one comment a line."""
    (folder / name).write_bytes(text.encode("utf-8", "replace"))
    try:
        draft = rubric_from_file(folder / name)
    except HonestoneError:
        return
    assert parse_rubric(draft.text, "r.yaml").rubric == draft.rubric


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    """Escapes, line breaks and YAML in names and headings neither leave their comment nor become
    keys.
    """
    (tmp_path / "a.csv").write_text(
        'Criterion,Weight,"Note\n\x1b[31mthreshold: 0"\n"Thesis\nthreshold: 0\x1b[2J",40,x\n"b: {c",60,y\n'
    )
    draft = rubric_from_file(tmp_path / "a.csv")
    assert draft.text.isprintable() or all(line.isprintable() for line in draft.text.split("\n"))
    back = parse_rubric(draft.text, "r.yaml").rubric
    assert back.threshold == Fraction(70, 100) and [one.weight for one in back.criteria] == [40, 60]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("40", 40),
        ("40%", 40),
        (" 40 points ", 40),
        ("(2 pts.)", 2),
        ("2/3", Fraction(2, 3)),
        ("0,5", Fraction(1, 2)),
        (0.25, Fraction(1, 4)),
    ],
)
def test_numbers_as_people_write_them(written: object, number: Fraction) -> None:
    """With a unit, as a fraction, with a decimal comma."""
    assert number_in(written) == number


@pytest.mark.parametrize("written", ["", "high", "10-20", "2/0", True, None, "1 2", "v1"])
def test_what_is_not_one_number_is_none(written: object) -> None:
    """A range or a word is not guessed at."""
    assert number_in(written) is None


# -------------------------------------------------------------------------------------------------------------
# suites

ROWS = st.lists(
    st.fixed_dictionaries({"q": WORDS, "a": st.just("") | WORDS, "t": WORDS}),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(100), deadline=None)
@given(
    ROWS,
    st.sampled_from(["question", "Input", "PROMPT", "query"]),
    st.sampled_from(["answer", "Expected", "reference", "target", "output"]),
    st.booleans(),
)
def test_a_table_of_questions_is_a_suite(
    folder: Path, rows: list[dict[str, str]], ask: str, says: str, lines: bool
) -> None:
    """Input, reference and metadata of each row, in order; the file that is written reads back."""
    table = [{"topic": row["t"], ask: row["q"], says: row["a"]} for row in rows]
    path = folder / ("cases.jsonl" if lines else "cases.csv")
    if lines:
        path.write_text("".join(json.dumps(row) + "\n" for row in table), "utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    draft = suite_from_table(path)
    assert {one.source: one.purpose for one in draft.taken} == {
        "topic": "metadata",
        ask: "input",
        says: "reference",
    }
    cases = [(case.input, case.reference, case.metadata) for case in draft.suite.cases]
    assert cases == [(row["q"], row["a"] or None, {"topic": row["t"]}) for row in rows]
    back = read_suite(Document(path=folder / "s.yaml", text=dump_suite(draft.suite))).suite
    assert [(case.id, case.input, case.reference) for case in back.cases] == [
        (case.id, case.input, case.reference) for case in draft.suite.cases
    ]


def test_a_table_without_an_input_is_refused(tmp_path: Path) -> None:
    """The message names the columns; rows without a text are left out with a note."""
    (tmp_path / "a.csv").write_text("name,age\nAnn,3\n")
    with pytest.raises(FileError, match="input") as caught:
        suite_from_table(tmp_path / "a.csv")
    assert "`name`, `age`" in str(caught.value.hint)
    (tmp_path / "b.csv").write_text("question,answer\n,4\nTwo plus two,4\n")
    draft = suite_from_table(tmp_path / "b.csv")
    assert len(draft.suite.cases) == 1 and "1 row" in draft.notes[0]
    (tmp_path / "c.csv").write_text("question,answer\n,4\n")
    with pytest.raises(FileError, match="no row"):
        suite_from_table(tmp_path / "c.csv")


# ----------------------------------------------------------------------------------------- files of
# a newcomer


def _drafted(folder: Path, name: str, text: str) -> tuple[tuple[Criterion, ...], dict[str, str]]:
    """The criteria of a file, and what each of its parts was taken for."""
    (folder / name).write_text(text, encoding="utf-8")
    made = rubric_from_file(folder / name)
    return made.rubric.criteria, {one.source: one.purpose for one in made.taken}


def _levels(criterion: Criterion) -> list[tuple[int, str]]:
    anchors = criterion.items[0].anchors
    assert anchors is not None
    return [(int(level), words) for level, words in anchors.levels]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1,000", Fraction(1000)),
        ("12,500 points", Fraction(12_500)),
        ("1,234,567", Fraction(1_234_567)),
        ("1'000", Fraction(1000)),
        ("1 000", Fraction(1000)),
        ("1,000.5", Fraction(2001, 2)),
        ("2,5", Fraction(5, 2)),
        ("0,125", Fraction(1, 8)),
        ("1.000", Fraction(1)),
    ],
)
def test_thousands_are_parted_by_commas_spaces_and_apostrophes(
    written: str, number: Fraction
) -> None:
    """A comma before other than three digits, or after a zero, is a decimal comma."""
    assert number_in(written) == number


@given(st.integers(0, 999_999_999))
def test_a_number_is_the_same_with_and_without_its_separators(number: int) -> None:
    """However thousands are parted."""
    for sign in (",", " ", "'", "\u00a0"):
        assert number_in(f"{number:,}".replace(",", sign)) == number


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("is_best_first", [True, False])
def test_columns_with_words_for_levels_are_anchors(
    tmp_path: Path, delimiter: str, is_best_first: bool
) -> None:
    """In the order of the words, whichever comes first; a sum and a row without a name are left
    out, and said.
    """
    words, texts = ["Poor", "Good", "Excellent"], ["none", "two, or so", "three"]
    rows = [
        ["Criterion", "Weight", *words[:: -1 if is_best_first else 1]],
        ["Evidence", "1,500", *texts[:: -1 if is_best_first else 1]],
    ]
    rows += [["Total", "1,500", "", "", ""], ["", "", "", "stray", ""]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    (criterion,), taken = _drafted(tmp_path, "sheet.csv", "\ufeff" + out.getvalue())
    assert _levels(criterion) == [
        (0, "Poor: none"),
        (1, "Good: two, or so"),
        (2, "Excellent: three"),
    ]
    assert criterion.weight == 1500
    assert taken["Total"] == taken["stray"] == "left out"
    assert taken["Good"] == "level 1"


def test_words_that_are_not_in_order_are_no_levels(tmp_path: Path) -> None:
    """Two words of one rank, or words in no order, are columns of another kind: left out, and said."""
    _, taken = _drafted(
        tmp_path, "sheet.csv", "Criterion,Weight,Good,Poor,Excellent\nTone,2,a,b,c\n"
    )
    assert taken["Good"] == taken["Excellent"] == "left out"


def test_a_table_with_headings_inside_and_none_over_its_first_column(tmp_path: Path) -> None:
    """A row with nothing but a name is a heading of those below it."""
    text = (
        "# Essay\n\n|  | Weight | Excellent | Poor |\n|---|---|---|---|\n| **Content** | | | |\n"
        "| Thesis | 20% | arguable | missing |\n| **Form** | | | |\n| Grammar | lots | no errors | errors |\n"
    )
    criteria, taken = _drafted(tmp_path, "essay.md", text)
    assert [one.requirement for one in criteria] == ["Thesis", "Grammar"]
    assert [one.weight for one in criteria] == [20, 1]
    assert taken["Content"] == taken["Form"] == taken["lots"] == "left out"
    assert taken["Grammar"] == "weight 1, for it names none"


def test_boxes_further_in_are_items(tmp_path: Path) -> None:
    """Of the box above them; points in its words are its weight, and what is not a box is left out,
    and said.
    """
    text = "- [ ] Docs\n  - [ ] README is there\n  - [x] Changes are named\n- [ ] Tests (2 points)\n  * [ ] Unit tests\n- Not a box\n"
    (docs, tests), taken = _drafted(tmp_path, "list.md", text)
    assert [item.requirement for item in docs.items] == ["README is there", "Changes are named"]
    assert (tests.requirement, tests.weight, len(tests.items)) == ("Tests", 2, 1)
    assert taken["Not a box"] == "left out"


@pytest.mark.parametrize(
    "levels",
    [
        "    Unsatisfactory: reads\n    Proficient: mostly free\n    Exemplary: free\n",
        "    levels: {Exemplary: free, Proficient: mostly free, Unsatisfactory: reads}\n",
        "    levels:\n      - Unsatisfactory: reads\n      - Proficient: mostly free\n      - Exemplary: free\n",
    ],
)
def test_words_for_levels_in_a_tree(tmp_path: Path, levels: str) -> None:
    """As keys of a criterion, or under `levels`."""
    (criterion,), taken = _drafted(
        tmp_path, "sheet.yaml", f"criteria:\n  Delivery:\n    weight: 40\n{levels}"
    )
    wanted = ["Unsatisfactory: reads", "Proficient: mostly free", "Exemplary: free"]
    assert _levels(criterion) == list(enumerate(wanted))
    assert "left out" not in taken.values()


def test_weighted_checks_below_a_criterion_are_criteria(tmp_path: Path) -> None:
    """Their weights are kept."""
    tree = {
        "sections": [
            {
                "name": "Right",
                "share": 0.5,
                "checks": [
                    {"what": "Empty input", "share": 0.4},
                    {"what": "Large input", "share": 0.6},
                ],
            },
            {"name": "Short", "share": 0.5},
        ]
    }
    (criterion, _), _ = _drafted(tmp_path, "r.json", json.dumps(tree))
    assert [(one.requirement, one.weight) for one in criterion.children] == [
        ("Empty input", Fraction(2, 5)),
        ("Large input", Fraction(3, 5)),
    ]


@pytest.mark.parametrize(("name", "delimiter"), [("q.csv", ";"), ("q.tsv", "\t"), ("q.csv", ",")])
def test_a_table_of_questions_may_be_parted_otherwise(
    tmp_path: Path, name: str, delimiter: str
) -> None:
    """By semicolons or tabs, with a mark at its start."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(
        [["Question", "Answer", "Kind"], ["Why, and; how?", "So", "a"]]
    )
    (tmp_path / name).write_text("\ufeff" + out.getvalue(), encoding="utf-8")
    (case,) = suite_from_table(tmp_path / name).suite.cases
    assert (case.input, case.reference, case.metadata) == ("Why, and; how?", "So", {"Kind": "a"})
