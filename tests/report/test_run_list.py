"""The list of runs: short ids that name one run, rows that fit the terminal."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.app.run_figures import RunFigures
from honestone.app.runs.run_list import ListedRun, run_row, short_ids
from honestone.ports import RunInfo
from honestone.report.documents.run_list import RunPart, RunRow
from honestone.report.documents.states import state_phrase, state_words
from honestone.report.documents.texts import TextGroupDoc
from honestone.report.pages.page_of import PageOf
from honestone.report.pages.view_html import scorecards_html
from honestone.report.terminal.run_list_text import cut_at_words, run_list_text
from honestone.system.drawing import Style, width

IDS = st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26)


def row(**fields: object) -> RunRow:
    known = {
        "id": "01M8HF89XXXXXXXXXXXXXXXXXX",
        "short_id": "01M8HF89",
        "started": "2026-11-28 16:19",
        "kind": "eval",
        "what": "other.md",
        "by": "l1",
        "state": "did not pass",
        "look": "failed",
        "result": "50.0",
        "change": "",
        "cost": "",
        "work": "59 ms",
        "person": "",
        "chance": "",
        "is_low_confidence": False,
    }
    return RunRow(**(known | fields))  # type: ignore[arg-type]


@given(st.lists(IDS, unique=True, max_size=12))
def test_a_short_id_names_one_run(ids: list[str]) -> None:
    """No other id begins like it, and a shorter one of at least 8 letters would not do."""
    for id, short in short_ids(ids).items():
        assert len(short) >= 8
        assert [one for one in ids if one.startswith(short)] == [id]
        if len(short) > 8:
            assert sum(one.startswith(short[:-1]) for one in ids) > 1


def test_ids_of_one_second_get_more_letters() -> None:
    assert short_ids(["01M8HF89AA01", "01M8HF89AB02"]) == {
        "01M8HF89AA01": "01M8HF89AA",
        "01M8HF89AB02": "01M8HF89AB",
    }


@given(st.text("ab-_./ 한", min_size=1, max_size=60), st.integers(4, 40))
def test_a_cut_text_fits(text: str, columns: int) -> None:
    assert width(cut_at_words(text, columns)) <= columns


def test_a_cut_name_ends_after_a_word() -> None:
    """A path loses its folders first."""
    assert cut_at_words("quarterly-report-of-the-team.md", 20) == "quarterly-report-of…"
    assert cut_at_words("a/long/way/to/ci.yaml", 10) == "…/ci.yaml"


def test_rows_fit_eighty_columns() -> None:
    """Columns that nobody fills are left out, work, rubric, cost and kind give way,
    and the name is cut last."""
    rows = [
        row(what="quarterly-report-of-the-support-team.md", chance="97%", change="+50.0"),
        row(kind="improve", state="plateau", what="prompt.md", parts=(part(), part())),
        row(look="passed", state="passed", cost="0.0123 USD", is_low_confidence=True),
    ]
    lines = run_list_text(rows, Style(width=80)).splitlines()
    assert max(map(width, lines)) <= 80
    assert len(lines) == 4
    assert lines[0].split()[:3] == ["when", "run", "what"]
    assert not {"work", "person", "by", "cost"} & set(lines[0].split())
    assert "✗ plateau" in lines[2]
    assert "✗ did not pass" in lines[1] and "sure" not in lines[1]
    assert "✓ passed, low confidence" in lines[3]


def test_a_list_of_nothing_is_empty() -> None:
    assert run_list_text([], Style()) == ""


def test_the_year_is_shown_where_it_differs() -> None:
    rows = [row(), row(started="2025-01-02 03:04")]
    assert "2025-01-02 03:04" in run_list_text(rows, Style(width=120))
    assert "2026" not in run_list_text(rows[:1], Style(width=120))


def part() -> RunPart:
    return RunPart(id="01M8HF90XXXXXXXXXXXXXXXXXX", started="2026-11-28 16:20", result="75.0%")


def test_the_longest_words_of_a_verdict_fit_eighty_columns() -> None:
    """The chance and the change give way last; the verdict, its words and the result stay whole."""
    state = {"state": "could not be judged", "look": "inconclusive", "is_low_confidence": True}
    rows = [row(**state, chance="97%", change="+50.0")]
    lines = run_list_text(rows, Style(width=80)).splitlines()
    assert max(map(width, lines)) <= 80 and "could not be judged, low confidence" in lines[1]
    assert "change" not in lines[0] and "change" in run_list_text(rows, Style(width=120))


def test_a_chance_is_a_column_of_its_own() -> None:
    """Next to `could not be judged` it would read as how sure that is."""
    head, line = run_list_text(
        [row(state="could not be judged", chance="88%")], Style()
    ).splitlines()
    assert "sure" in head and line.split("could not be judged")[1].split()[0] == "88%"


def test_a_run_that_left_cases_out_is_partial() -> None:
    """Where it passed; what failed is no better for what was left out."""
    assert state_phrase("pass", is_partial=True) == "partial"
    assert state_words("fail", is_partial=True) == "DID NOT PASS"


def test_the_verdicts_of_a_filter_have_the_words_of_the_states() -> None:
    page = scorecards_html(
        [], "01M8", pages=PageOf(number=1, total=0, query={}), of_all=1, asked=""
    )
    for state in ("fail", "inconclusive", "pass"):
        assert f'<option value="{state}">{state_phrase(state)}</option>' in page


def test_a_rate_that_misses_its_bar_is_not_rounded_up_to_it() -> None:
    group = TextGroupDoc(passed=1, pass_rate=0.8996, pass_rate_interval=[0.8, 0.95])
    assert group.rate_beside(0.9).startswith("89.9%") and group.rate_words.startswith("90.0%")


@pytest.mark.parametrize(
    ("kind", "subject", "figures", "by"),
    [
        ("eval", "readme", RunFigures(by="readme.yaml"), "readme"),
        ("eval", "skill", RunFigures(title="skill"), "skill"),
        ("suite", "tests/suite.yaml", RunFigures(title="suite.yaml"), ""),
        ("table", "suite.yaml", RunFigures(title="suite.yaml"), ""),
        ("suite", "suite.yaml", RunFigures(title="Support"), "Support"),
    ],
)
def test_only_a_suite_whose_title_is_its_file_is_by_nothing(
    kind: str, subject: str, figures: RunFigures, by: str
) -> None:
    """A rubric is named also where it is called as the artifact is."""
    info = RunInfo(
        id="01M8HF89XXXXXXXXXXXXXXXXXX",
        kind=kind,
        subject=subject,
        identity="",
        contract="",
        started="2026-11-28T16:19:00",
        finished=None,
        result="pass",
    )
    assert run_row(ListedRun(info=info, figures=figures), "01M8HF89", PurePath("/")).by == by
