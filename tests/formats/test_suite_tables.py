"""Cases from tables and texts, what `defaults` says for all, and vars: what they mean, and every
mistake with its place.
"""

from __future__ import annotations

import cProfile
import csv
import io
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_suite_file import errors, source

from honestone.core.errors import FileError, UsageError
from honestone.core.suite.case import Case, case_document
from honestone.formats.rubric.rubric_file import read_rubric
from honestone.formats.suite.code_context import case_context, without_context
from honestone.formats.suite.filling import fill_text
from honestone.formats.suite.suite_file import _SuiteReading
from honestone.formats.suite.suite_tables import cases_in
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.marked import read_marked
from honestone.interop.recognise import read_any_suite

ASKS = 'suite: 1\ndefaults: {input: "What is {{ city }}?", checks: [{contains: "{{ want }}"}]}\n'
ROWS = '{"id": "paris", "vars": {"city": "Paris", "want": "Paris"}}\n{"id": "lima", "vars": {"city": "Lima", "want": 7.50}}\n'


def files(folder: Path, **texts: str | bytes) -> None:
    """Files by name, `__` for a dot and `_in_` for a slash."""
    for name, text in texts.items():
        path = folder / name.replace("_in_", "/").replace("__", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def asked(case: Case) -> list[str]:
    return [criterion.requirement for criterion in case.rubric.criteria]


# -------------------------------------------------------------------------------------------------------------
# prompts


def test_prompts_are_files_texts_or_conversations(tmp_path: Path) -> None:
    """Each has a label of its own, and is filled in from the vars and the input of each case."""
    files(
        tmp_path,
        p_in_short__txt="Shortly: {{ q }}\n\n",
        p_in_chat__json='[{"role": "system", "content": "Be {{ tone }}"}, {"role": "user", "content": "{{ q }}"}]',
    )
    found = source(
        tmp_path,
        "suite: 1\nprompts: [p/short.txt, p/chat.json, '{{ input }} ({{ tone }})', {label: short, input: {file: p/short.txt}}]\n"
        "target: [{use: a, prompts: [short]}, b]\ndefaults: {vars: {tone: calm}, checks: [is-json]}\n"
        "cases: [{id: one, input: Go, vars: {q: Why?}}, {id: two, input: No, vars: {q: How?}}]\n",
    )
    suite = found.suite
    assert suite.prompts == ("short", "chat", "input-tone", "short-2")
    assert [one.prompts for one in suite.targets] == [("short",), None]
    one, two = suite.cases
    assert one.messages == one.prompts["short"]
    assert one.prompts["short"] == one.prompts["short-2"]
    assert [two.asked_with(label).input for label in suite.prompts[:3]] == [
        "Shortly: How?",
        "system: Be calm\n\nuser: How?",
        "No (calm)",
    ]
    assert one.variables == {"tone": "calm", "q": "Why?", "input": "Go"}
    assert {path.name for path in found.files} == {"suite.yaml", "short.txt", "chat.json"}


def test_one_prompt_is_the_input_of_each_case(tmp_path: Path) -> None:
    """It is no column, and its cases have the contract of any case with that input."""
    suite = source(
        tmp_path,
        "suite: 1\nprompts: 'Say {{ w }}'\ncases: [{id: a, vars: {w: hi}, checks: [is-json]}]\n",
    ).suite
    assert (suite.prompts, suite.cases[0].prompts, suite.cases[0].input) == ((), {}, "Say hi")
    plain = source(tmp_path, "suite: 1\ncases: [{id: a, input: Say hi, checks: [is-json]}]\n").suite
    assert case_document(suite.cases[0]) == case_document(plain.cases[0])


@pytest.mark.parametrize(
    ("prompts", "said"),
    [
        (
            "'Say {{ other }}'",
            "suite.yaml:2:10: the prompt `say-other` in case `a`: `{{ other }}` is not one of",
        ),
        ("'Say {{ w | upper }}'", "is not the name of one of the case's vars"),
        ("p/none.txt", "p/none.txt` not found"),
        (f"{'long' * 99}.txt", "not found"),
        ("p/of file.txt", "of file.txt: the prompt `of-file` in case `a`: `{{ gone }}`"),
        ("{input: {file: p/of file.txt}}", "of file.txt: the prompt"),
        ("[]", "`prompts` is empty"),
        ("{label: a}", "this prompt has no `input`"),
        ("[3]", "must be"),
        ("'Say {{ w }}'\ndefaults: {prompts: [loud]}", "the suite has no prompt `loud`"),
        ("'Say {{ w }}'\ndefaults: {prompts: []}", "`prompts` of a case is empty"),
        ("[Say, Ask]\ndefaults: {prompts: []}", "`prompts` of a case is empty"),
        (
            "[Say, Ask]\ntarget: {use: a, prompts: [sai]}",
            "suite.yaml:3:27: the suite has no prompt",
        ),
        ("[Say]\ntarget: [b, {use: a, prompts: [ask]}]", "3:31: the suite has no prompt `ask`"),
        (
            "Say\ndefaults: {input: [{role: system, content: x}]}",
            "`input` must be one text in a suite with `prompts`",
        ),
        ("Say\ndefaults: {input: x, vars: {input: y}}", "and its var `input`"),
    ],
)
def test_a_prompt_that_cannot_be_asked_is_a_problem_at_its_place(
    tmp_path: Path, prompts: str, said: str
) -> None:
    files(tmp_path, **{"p_in_of file__txt": "Say {{ gone }}"})
    found = errors(
        tmp_path,
        f"suite: 1\nprompts: {prompts}\ncases: [{{id: a, vars: {{w: hi}}, checks: [is-json]}}]\n",
    )
    assert any(said in one for one in found), found


def test_prompts_of_a_target_or_a_case_need_prompts_of_the_suite(tmp_path: Path) -> None:
    found = errors(
        tmp_path,
        "suite: 1\ntarget: {use: a, prompts: [x]}\ncases: [{id: a, input: x, prompts: [x], checks: [is-json]}]\n",
    )
    assert [
        f"`prompts` of a {whose}, but the suite has none" in "".join(found)
        for whose in ("case", "target")
    ] == [True, True]


def test_the_first_case_that_a_prompt_lacks_a_var_of_is_named(tmp_path: Path) -> None:
    cases = ", ".join(f"{{id: c{i}, vars: {{{'w' if i < 7 else 'q'}: x}}}}" for i in range(9))
    text = (
        f"suite: 1\nprompts: 'Say {{{{ w }}}}'\nchecks: [is-json]\ncases: [{cases}, {{id: none}}]\n"
    )
    (said,) = errors(tmp_path, text.replace("checks:", "rubric:"))
    assert "the prompt `say-w` in case `c7`: `{{ w }}` is not one of the case's vars" in said


def test_a_text_that_looks_like_a_path_is_told_how_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as found:
        source(tmp_path, "suite: 1\nprompts: v1.5\ncases: [{id: a, checks: [is-json]}]\n")
    (one,) = found.value.errors
    assert one.hint == 'a text that looks like a path is written {input: "v1.5"}'


def test_a_path_with_spaces_is_a_file_where_it_is_there(tmp_path: Path) -> None:
    files(tmp_path, **{"my prompts_in_short one__txt": "Say {{ w }}"})
    case = "{id: a, vars: {w: hi}, checks: [is-json]}"
    text = f"suite: 1\nprompts: [my prompts/short one.txt, Is this a v1.5 or not.so]\ncases: [{case}]\n"
    suite = source(tmp_path, text).suite
    assert suite.prompts == ("short-one", "is-this-a-v1-5-or-not-so")
    assert suite.cases[0].messages[0].content == "Say hi"


# -------------------------------------------------------------------------------------------------------------
# tables


def test_columns_are_keys_of_a_case_or_vars(tmp_path: Path) -> None:
    """Tags between commas, numbers as numbers, JSON where a list is wanted; an empty cell says
    nothing.
    """
    files(
        tmp_path,
        c__csv='id,city,want,tags,attempts,split,checks\r\nparis,"Paris, France",Paris,"eu, big",2,test,"[{""max-words"": 9}]"\r\n,Lima,,,,,\r\n',
    )
    found = source(
        tmp_path,
        'suite: 1\ndefaults: {input: "{{ city }}?", split: val, checks: [{min-words: 1}]}\ncases: c.csv\n',
    )
    paris, lima = found.suite.cases
    assert (paris.id, paris.input, paris.tags, paris.attempts, paris.split) == (
        "paris",
        "Paris, France?",
        ("eu", "big"),
        2,
        "test",
    )
    assert len(paris.rubric.criteria) == 2 and len(lima.rubric.criteria) == 1
    assert (lima.id, lima.tags, lima.attempts, lima.split) == ("c-2", (), 1, "val")
    assert found.places["c-2"].endswith("c.csv:3:1")
    assert [file.name for file in found.files] == ["suite.yaml", "c.csv"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.jsonl", ROWS),
        ("c.ndjson", ROWS.replace("\n", "\r\n") + "\n"),
        ("c.JSON", "[" + ",".join(ROWS.splitlines()) + "]"),
        ("c.json", "\ufeff" + ROWS),
        (
            "c.yaml",
            "- {id: paris, vars: {city: Paris, want: Paris}}\n- {id: lima, vars: {city: Lima, want: 7.50}}\n",
        ),
        ("c.csv", "\ufeffid,city,want\nparis,Paris,Paris\nlima,Lima,7.50\n"),
    ],
)
def test_tables_of_every_kind_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    """Numbers are filled in as they were written."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    cases = source(tmp_path, f"{ASKS}cases: {name}\n").suite.cases
    assert [(case.id, case.input, *asked(case)) for case in cases] == [
        ("paris", "What is Paris?", "contains 'Paris'"),
        ("lima", "What is Lima?", "contains '7.50'"),
    ]


def test_files_patterns_and_cases_in_one_list(tmp_path: Path) -> None:
    """Files of a pattern by name, texts as one case each; hidden files are left out."""
    files(
        tmp_path,
        t_in_b__txt="two\n",
        t_in_a__txt="one",
        t_in___hidden__txt="no",
        x__json='{"input": "three"}',
    )
    text = "suite: 1\ndefaults: {checks: [{min-words: 1}]}\ncases: ['t/*.txt', {id: own, input: four}, x.json]\n"
    assert [(case.id, case.input) for case in source(tmp_path, text).suite.cases] == [
        ("a", "one"),
        ("b", "two\n"),
        ("own", "four"),
        ("x", "three"),
    ]


def test_a_name_that_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "c[1].csv").write_text("id,input\na,x\n")
    found = source(tmp_path, "suite: 1\nrubric: [y]\ncases: 'c[1].csv'\n")
    assert [case.id for case in found.suite.cases] == ["a"]


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12)


@settings(deadline=None)
@given(st.lists(cells, min_size=1, max_size=6))
def test_every_text_of_a_cell_arrives_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """Quotes, commas, braces and line breaks of a cell are its text, and are not read again."""
    folder = tmp_path_factory.mktemp("t")
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(["id", "said"])
    table.writerows([f"c{number}", text] for number, text in enumerate(texts))
    (folder / "c.csv").write_bytes(written.getvalue().encode())
    cases = source(
        folder, "suite: 1\ndefaults: {input: '<{{ said }}>', rubric: [x]}\ncases: c.csv\n"
    ).suite.cases
    assert [case.input for case in cases] == [f"<{text}>" for text in texts]


# -----------------------------------------------------------------------------------------------------------
# defaults


def test_defaults_add_up_or_give_way(tmp_path: Path) -> None:
    """`checks`, `rubric` and `vars` add up; of a key that both say, the case's holds."""
    (tmp_path / "r.yaml").write_text("rubric: 1\nthreshold: 90\ncriteria: ['Fits {{ a }}']\n")
    text = """\
suite: 1
rubric: ['Begins with {{ a }}']
defaults: {vars: {a: A, b: B}, checks: [{contains: '{{ a }}'}], rubric: {file: r.yaml}, tags: [x], attempts: 3}
cases:
  - {id: own, input: '{{ a }} {{ b }}', vars: {a: own}, checks: [{contains: '{{ b }}'}], rubric: [Says c], tags: [y]}
  - {id: none, input: i}
"""
    own, none = source(tmp_path, text).suite.cases
    assert own.input == "own B" and (own.tags, own.attempts) == (("y",), 3)
    assert asked(own) == ["Begins with own", "Fits own", "Says c", "contains 'own'", "contains 'B'"]
    assert asked(none) == ["Begins with A", "Fits A", "contains 'A'"]
    assert own.rubric.threshold == none.rubric.threshold == Fraction(9, 10)


def test_what_defaults_say_wrongly_is_said_once(tmp_path: Path) -> None:
    """Not again for every case."""
    text = "suite: 1\ndefaults: {id: x, split: vall, chekcs: []}\ncases:\n"
    text += "".join(f"  - {{id: c{n}, input: x, checks: [{{contains: x}}]}}\n" for n in range(9))
    found = errors(tmp_path, text)
    assert [line.split(": ")[0] for line in found] == [
        "suite.yaml:2:12",
        "suite.yaml:2:26",
        "suite.yaml:2:32",
    ]


# ---------------------------------------------------------------------------------------------------------------
# vars


def test_vars_reach_every_text_of_a_case_and_no_name_of_a_file(tmp_path: Path) -> None:
    """Texts of files named by a case too; the ids of criteria and what programs are run stay as
    written.
    """
    (tmp_path / "p.md").write_text("# {{ topic }}\n")
    text = """\
suite: 1
cases:
  - id: all
    vars: {topic: tea, n: 1.50, yes: true}
    input: [{role: user, content: {file: p.md}}, {role: user, content: 'about {{topic}}'}]
    reference: '{{ n }} {{ yes }}'
    rubric: [{id: about, requirement: 'About {{ topic }}', anchors: {0: 'no {{ topic }}', 1: '{{ topic }}'}}]
    checks: [{contains-any: ['{{ topic }}', x]}, {command: 'true', expect_stdout: {contains: '{{ topic }}'}}]
"""
    (case,) = source(tmp_path, text).suite.cases
    assert [message.content for message in case.messages] == ["# tea\n", "about tea"]
    assert case.reference == "1.50 true"
    about, contains, command = case.rubric.criteria
    assert (about.id, about.requirement) == ("about", "About tea")
    anchors = about.items[0].anchors
    assert anchors is not None and [level for _, level in anchors.levels] == ["no tea", "tea"]
    assert contains.items[0].check is not None and contains.items[0].check.value == ["tea", "x"]
    assert command.items[0].check is not None and command.items[0].check.options[
        "expect_stdout"
    ] == {"contains": "tea"}


def test_a_number_is_filled_in_where_a_check_takes_one(tmp_path: Path) -> None:
    """`max-words` of a cell is a number, `contains` of the same cell a text; what is no number is
    refused.
    """
    files(tmp_path, c__csv="id,n\na,12\nb,some\n")
    text = "suite: 1\ndefaults: {checks: [{max-words: '{{ n }}'}, {contains: '{{ n }}'}], input: x}\ncases: c.csv\n"
    (found,) = errors(tmp_path, text)
    assert found.startswith("suite.yaml:2:22: case `b`") and "a whole number" in found
    files(tmp_path, c__csv="id,n\na,12\n")
    (case,) = source(tmp_path, text).suite.cases
    assert [item.check.value for _, item in case.rubric.questions() if item.check] == [12, "12"]


def test_a_value_is_not_read_again_and_without_vars_braces_are_text(tmp_path: Path) -> None:
    text = """\
suite: 1
cases:
  - {id: a, input: '{{ w }}', vars: {w: '{{ city }} {% x %}', city: no}, rubric: [x]}
  - {id: b, input: '{{ city }} {% x %}', rubric: ['{{ y }}']}
"""
    a, b = source(tmp_path, text).suite.cases
    assert (a.input, b.input, asked(b)) == ("{{ city }} {% x %}", "{{ city }} {% x %}", ["{{ y }}"])


@pytest.mark.parametrize(
    "hole",
    [
        *(
            "{{ town }}",
            "{{ city.upper() }}",
            "{{ env.HOME }}",
            "{{ 7 * 6 }}",
            "{% if x %}",
            "{{ city",
            "{{ city }",
            "{{}}",
        ),
        *(
            "{{ city | e }}",
            "{{ city.__class__ }}",
            "{{ self }}",
            "{{ config }}",
            "{{{ city }}}",
            "{{ 'city' }}",
        ),
    ],
)
@pytest.mark.parametrize(
    "where", ["input: {0}", "rubric: [{0}]", "checks: [{{contains: {0}}}]", "reference: {0}"]
)
def test_anything_but_a_name_is_an_error_with_its_place(
    tmp_path: Path, hole: str, where: str
) -> None:
    """Nothing is computed: no attribute, no call, no filter, no environment."""
    said = where.replace("{{", "{").replace("}}", "}").replace("{0}", json.dumps(hole))
    text = f"suite: 1\nrubric: [x]\ncases:\n  - id: c\n    vars: {{city: Paris}}\n    {said}\n"
    (found,) = errors(tmp_path, text)
    assert found.startswith("suite.yaml:6:") and "case `c`" in found and "the case's vars" in found


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("checks: [{command: 'echo {{ city }}'}]", 3),
        ("checks: [{not-python: '{{ city }}:f'}]", 3),
        ("checks: [{json-schema: '{{ city }}'}]", 3),
        ("rubric: [{id: '{{ city }}', requirement: x}]", 3),
        ("input: {file: '{{ city }}'}\n  rubric: [x]", 3),
        ("input: {files: ['{{ city }}']}\n  rubric: [x]", 3),
        ("rubric: [{requirement: x, check: {contains: x}, fix: 'rm {{ city }}'}]", 3),
    ],
)
def test_a_row_of_a_table_chooses_neither_files_nor_programs(
    tmp_path: Path, more: str, line: int
) -> None:
    files(tmp_path, c__csv="id,city\na,/etc/passwd\n")
    found = errors(tmp_path, f"suite: 1\ndefaults:\n  {more}\ncases: c.csv\n")
    assert any("nothing is filled into" in one and f"suite.yaml:{line}:" in one for one in found)


def test_a_mistake_in_a_template_is_said_once_and_with_the_vars_that_there_are(
    tmp_path: Path,
) -> None:
    """In a rubric or a prompt of another file it has the place in that file."""
    files(
        tmp_path,
        c__csv="id,city\na,A\nb,B\n",
        r__yaml="criteria:\n  - x\n  - 'in {{ town }}'\n",
        p__md="Hello\n\n{{ town }}\n",
    )
    text = "suite: 1\ndefaults: {rubric: {file: r.yaml}, input: {file: p.md}}\ncases: c.csv\n"
    assert [line.split(": ")[0] for line in errors(tmp_path, text)] == ["r.yaml:3:5", "p.md:3:1"]
    with pytest.raises(UsageError) as raised:
        source(tmp_path, text)
    assert "city" in (raised.value.hint or "")


@given(st.text(st.sampled_from("{}% ab|\n"), max_size=40))
def test_filling_in_either_refuses_or_leaves_no_template(text: str) -> None:
    """Whatever braces there are: all names are replaced, or the first thing that is none is
    reported.
    """
    said: list[tuple[int, str]] = []
    filled = fill_text(
        text, {"a": "{{ b }}", "b": "B"}, lambda at, message, _: said.append((at, message))
    )
    if said:
        assert filled == text and text[said[0][0] :].startswith(("{{", "{%"))
    else:
        assert "{{" not in filled.replace("{{ b }}", "") or "{{" in text.replace("{{", "", 1)
        assert (
            filled.count("B")
            == sum(text.count(one) for one in ("{{b}}", "{{ b }}", "{{b }}", "{{ b}}"))
            or "b" in text
        )


# -----------------------------------------------------------------------------------------------------------
# mistakes


@pytest.mark.parametrize(
    ("name", "text", "place", "words"),
    [
        ("c.jsonl", ROWS + ROWS.splitlines()[0], "c.jsonl:3:8", "the first in line 1"),
        ("c.jsonl", ROWS + "{nope\n", "c.jsonl:3:6", ""),
        ("c.jsonl", "[1]\n", "c.jsonl:1:1", "a list"),
        ("c.jsonl", '{"id": "a", "city": "x"}\n', "c.jsonl:1:13", "unknown key `city`"),
        ("c.jsonl", '{"id": "a", "vars": {"city": ["x"], "want": "y"}}\n', "c.jsonl:1:30", "`city` of `vars` is a list"),
        ("c.jsonl", "\n", "c.jsonl:1:1", "no rows"),
        ("c.csv", "id,city,want\nx,y\n", "c.csv:2:1", "2 cells, but there are 3 columns"),
        ("c.csv", "id,city,want\nx,y,z,z\n", "c.csv:2:1", "4 cells"),
        ("c.csv", 'id,city,want\na,"b\nc",d\nx,"y,z\n', "c.csv:4:1", "never closed"),
        ("c.csv", "id,id\nx,y\n", "c.csv:1:1", "same name"),
        ("c.csv", "id,city,want\n", "c.csv:1:1", "no rows"),
        ("c.csv", "", "c.csv:1:1", "no rows"),
        ("c.csv", "id,city,want\na,b\0,c\n", "c.csv:2:1", "NUL"),
        ("c.csv", "id,city,want,timeout\na,b,c,soon\n", "c.csv:2:1", "`timeout` is"),
        ("c.csv", "id,city,want,checks\na,b,c,[{\n", "c.csv:2:1", ""),
        ("c.csv", "id,city,want,rubric\na,b,c,polite\n", "c.csv:2:1", "a list of criteria"),
        ("c.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
         + "".join(f"{n}: &{n} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n" for p, n in zip("bcdefg", "cdefgh", strict=True)),
         "c.yaml", "aliases"),
        ("c.yaml", "just a text\n", "c.yaml:1:1", "not a list of cases"),
        ("c.txt", "a\0b", "c.txt:1:1", "NUL"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_has_its_file_and_line(
    tmp_path: Path, name: str, text: str, place: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    found = errors(tmp_path, f"{ASKS}cases: {name}\n")
    assert any(line.startswith(f"{place}:") and words in line for line in found), found


def test_bytes_that_are_no_text_are_refused_in_words(tmp_path: Path) -> None:
    for data in (b"id,input\na,\xff\n", "id,input\na,x\n".encode("utf-16")):
        (tmp_path / "c.csv").write_bytes(data)
        (found,) = errors(tmp_path, f"{ASKS}cases: c.csv\n")
        assert found.startswith("c.csv:") and "UTF-" in found


@pytest.mark.parametrize(
    "named", ["none-*.csv", "none.csv", "t", "/etc/*.conf", "", "a\\0b*", "**none"]
)
def test_what_names_no_file_is_refused(tmp_path: Path, named: str) -> None:
    """A pattern without a match, a folder, an absolute pattern."""
    (tmp_path / "t").mkdir()
    for said in (f'"{named}"', f'[{{id: a, input: x, rubric: [y]}}, "{named}"]'):
        (found, *_) = errors(tmp_path, f"{ASKS}cases: {said}\n")
        assert found.startswith("suite.yaml:3:")


def test_tables_are_read_from_the_project_only(tmp_path: Path) -> None:
    """Neither by a path, nor through a link, named or chosen by a pattern."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: x\n")
    outside.mkdir()
    (outside / "c.csv").write_text("id,input\nsecret,SECRET\n")
    os.symlink(outside / "c.csv", project / "l.csv")
    for named in (
        "../outside/c.csv",
        "l.csv",
        "l*.csv",
        "../outside/*.csv",
        str(outside / "c.csv"),
        ".git/HEAD",
    ):
        (found,) = errors(project, f"suite: 1\nrubric: [x]\ncases: {named!r}\n")
        assert "out of the project" in found and "SECRET" not in found


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.csv")
    (found,) = errors(tmp_path, f"{ASKS}cases: c.csv\n")
    assert "not a file" in found


def test_a_cell_of_a_megabyte_is_a_text_and_many_of_them_are_refused(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    files(tmp_path, c__csv=f"id,city,want\na,{long},x\n")
    assert len(source(tmp_path, f"{ASKS}cases: c.csv\n").suite.cases[0].input) == 1_000_009
    (found,) = errors(tmp_path, f"{ASKS.replace('What is', '{{ city }} {{ city }}')}cases: c.csv\n")
    assert "more than 2,000,000 characters" in found


# -------------------------------------------------------------------------------------------------------------
# at large


def _calls(folder: Path, rows: int) -> int:
    """How many functions are called to read so many rows."""
    lines = (
        json.dumps({"id": f"c{n}", "vars": {"city": f"C{n}", "want": "x"}}) for n in range(rows)
    )
    (folder / "c.jsonl").write_text("\n".join(lines))
    counting = cProfile.Profile()
    found = counting.runcall(source, folder, f"{ASKS}cases: c.jsonl\n")
    assert len(found.suite.cases) == rows
    return sum(entry.callcount for entry in counting.getstats())


@pytest.mark.slow
def test_reading_is_linear(tmp_path: Path) -> None:
    """Ten times the rows are ten times the work, not a hundred times."""
    _calls(tmp_path, 10)
    assert _calls(tmp_path, 1000) < 12 * _calls(tmp_path, 100)


def test_the_expanded_suite_is_written_and_read_back(tmp_path: Path) -> None:
    """`suite convert` writes the cases as they are filled in."""
    files(tmp_path, c__csv="id,city,want,tags\na,A,x,t\nb,B,y,\n")
    suite = source(tmp_path, f"{ASKS}cases: c.csv\n").suite
    written: Any = dump_suite(suite)
    assert source(tmp_path, written).suite == suite and "{{" not in written


# -------------------------------------------------------------------------------------------------------------
# memory


def test_the_rows_of_a_table_are_read_one_at_a_time(tmp_path: Path) -> None:
    """A case is there before the next row is looked at, and nothing of the file is kept of those
    that are right.
    """
    files(tmp_path, cases__jsonl='{"id": "a"}\n{"id": "b"}\n{"id": \n')
    rows = cases_in(tmp_path / "cases.jsonl")
    assert [next(rows)[0].value["id"], next(rows)[0].value["id"]] == ["a", "b"]
    with pytest.raises(FileError, match="JSON"):
        next(rows)
    written = "".join(json.dumps({"id": f"c{n}", "input": "x"}) + "\n" for n in range(20))
    files(
        tmp_path,
        cases__jsonl=written,
        suite__yaml="suite: 1\nrubric: [polite]\ncases: cases.jsonl\n",
    )
    reading = _SuiteReading(
        read_marked(tmp_path / "suite.yaml"), tmp_path / "suite.yaml", read_rubric
    )
    assert len(reading.suite().cases) == 20
    assert len(set(map(id, reading.marked.node(("cases",)).children))) == 1


def test_a_table_that_breaks_off_says_what_is_wrong_in_all_of_it(tmp_path: Path) -> None:
    """The rows before the damage are checked too, each mistake at its place."""
    files(
        tmp_path,
        cases__jsonl='{"id": "a", "chekcs": []}\n{"id": "a", "input": "x"}\n{"id": "a", "input": "y"}\n{"id": \n',
    )
    with pytest.raises(UsageError) as raised:
        source(tmp_path, "suite: 1\nrubric: [polite]\ncases: cases.jsonl\n")
    lines = {
        str(one.place).split(":")[1]
        for one in raised.value.errors
        if "cases.jsonl" in str(one.place)
    }
    assert {"1", "2", "3", "4"} <= lines


def test_code_is_given_vars_as_values(tmp_path: Path) -> None:
    """Texts are filled with what is written; and what a check writes of `vars` and `test` counts
    entry by entry.
    """
    suite = {
        "suite": 1,
        "target": "cmd:cat",
        "prompts": [
            {"label": "a", "input": "w {{ w }}"},
            {"label": "b", "input": "again {{ w }}"},
        ],
        "cases": [
            {
                "id": "one",
                "vars": {"w": 3, "x": "3"},
                "metadata": {"m": 1},
                "checks": [
                    {
                        "script": {"language": "python", "code": "True"},
                        "context": {"vars": {"y": 1}, "test": {"z": 2}},
                    }
                ],
            }
        ],
    }
    file = tmp_path / "s.json"
    file.write_text(json.dumps(suite))
    (case,) = read_any_suite(file).suite.cases
    (criterion,) = case.rubric.criteria
    check = criterion.items[0].check
    assert check is not None
    assert check.options["context"] == {
        "vars": {"w": 3, "x": "3", "y": 1},
        "test": {"description": None, "metadata": {"m": 1}, "z": 2},
    }
    assert case.prompts["a"][0].content == "w 3"
    known = case_context({"w": 3, "x": "3"}, {"m": 1})
    again = without_context(case.rubric, known).criteria[0].items[0].check
    assert again is not None
    assert again.options["context"] == {"vars": {"y": 1}, "test": {"z": 2}}
