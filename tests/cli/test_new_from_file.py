"""`rubric new --from FILE` and `suite new --from TABLE`: what a person types, sees and gets."""

from __future__ import annotations

from .desk import Desk

SHEET = """\
Criterion,Weight,Excellent (4),Good (3),Poor (1),Room
Thesis,40,Bold and clear,Clear,Absent,12
Sources,60,Five or more,Three,None,12
"""


def test_a_rubric_from_a_sheet(desk: Desk) -> None:
    """What was taken for what is listed; the file loads, and is called a draft until its first line
    is gone.
    """
    (desk.folder / "grades.csv").write_text(SHEET)
    shown = desk.run("rubric", "new", "--from", "grades.csv")
    assert (
        shown.code == 0
        and shown.out.startswith("# A draft from grades.csv")
        and "Bold and clear" in shown.out
    )
    assert not (desk.folder / "rubric.yaml").exists()
    made = desk.run("rubric", "new", "--from", "grades.csv", "--yes", "--threshold", "80")
    assert (
        made.code == 0
        and "grades.csv:1: Weight -> weight" in made.out
        and "Room -> left out" in made.out
    )
    text = (desk.folder / "rubric.yaml").read_text()
    assert text.replace("threshold: 80", "threshold: 70") == shown.out and "threshold: 80" in text
    assert "draft" in desk.run("rubric", "check", "rubric.yaml").out
    (desk.folder / "rubric.yaml").write_text(text.partition("\n")[2])
    assert "draft" not in desk.run("rubric", "check", "rubric.yaml").out
    assert (
        desk.run("rubric", "new", "--from", "grades.csv", "--yes").code == 2
    )  # it is there already
    again = desk.run("rubric", "new", "--from", "grades.csv", "--yes", "--force", "--json")
    assert again.json["taken"][0] == {
        "from": "Criterion",
        "as": "criterion",
        "place": "grades.csv:1",
    }
    assert again.json["written"] == "rubric.yaml" and "Bold and clear" in again.json["rubric"]


def test_what_is_no_rubric_and_what_does_not_go_together(desk: Desk) -> None:
    """Exit 2, with a hint, and nothing is written."""
    (desk.folder / "none.txt").write_text("Once there was a fern.\n")
    refused = desk.run("rubric", "new", "--from", "none.txt", "--yes")
    assert refused.code == 2 and "none.txt" in refused.err and "hint:" in refused.err
    (desk.folder / "grades.csv").write_text(SHEET)
    both = desk.run("rubric", "new", "--from", "grades.csv", "--yes", "--criterion", "tone: kind")
    assert both.code == 2 and "flags" in both.err
    missing = desk.run("rubric", "new", "--from", "nowhere.csv", "--yes")
    assert missing.code == 2 and "nowhere.csv" in missing.err
    assert not (desk.folder / "rubric.yaml").exists()


def test_a_suite_from_a_table(desk: Desk) -> None:
    """Columns are guessed and said, the suite loads, and its head says what a person should look
    at.
    """
    (desk.folder / "cases.csv").write_text(
        "question,answer,topic\nCapital of Peru,Lima,geo\nTwo plus two,4,math\n"
    )
    made = desk.run("suite", "new", "--from", "cases.csv", "--output", "s.yaml", "--json")
    assert {one["from"]: one["as"] for one in made.json["taken"]} == {
        "question": "input",
        "answer": "reference",
        "topic": "metadata",
    }
    text = (desk.folder / "s.yaml").read_text()
    assert (
        text.startswith("# A draft from cases.csv")
        and "question -> input" in text
        and "geo" in text
    )
    assert desk.run("suite", "check", "s.yaml").code == 0
    said = desk.run("suite", "new", "--from", "cases.csv", "--output", "t.yaml")
    assert (
        said.code == 0
        and "2 cases" in said.out
        and "honestone eval t.yaml --target TARGET" in said.out
    )
    assert desk.run("suite", "new", "--from", "cases.csv", "--format", "task-suite").code == 2
    (desk.folder / "people.csv").write_text("name,age\nAnn,3\n")
    refused = desk.run("suite", "new", "--from", "people.csv", "--output", "u.yaml")
    assert refused.code == 2 and "`name`" in refused.err and not (desk.folder / "u.yaml").exists()
