"""Marked files: YAML and JSON read to plain values, with the place of everything and a place for
every refusal.
"""

from __future__ import annotations

import io
import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.errors import FileError
from honestone.formats.syntax import json_nodes
from honestone.formats.syntax.json_nodes import DrawnNodes
from honestone.formats.syntax.marked import parse_marked, read_marked
from honestone.formats.syntax.nodes import DrawnKey, lines_in
from property_examples import examples


def refusal(text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        parse_marked(text, "f.yaml")
    return caught.value


def test_values_and_their_places() -> None:
    """Every value and every key can be found again in the file, lines and columns counted from 1."""
    marked = parse_marked(
        "title: Bugs\ncriteria:\n  - id: tone\n    weight: 2.50\n  - plain\n", "r.yaml"
    )
    assert marked.value == {"title": "Bugs", "criteria": [{"id": "tone", "weight": 2.5}, "plain"]}
    assert marked.at(()) == "r.yaml:1:1"
    assert marked.at(("criteria", 0, "weight")) == "r.yaml:4:13"
    assert marked.key_at(("criteria", 0, "weight")) == "r.yaml:4:5"
    assert marked.at(("criteria", 1)) == "r.yaml:5:5"
    assert marked.raw(("criteria", 0, "weight")) == "2.50"
    assert marked.raw(("criteria", 0)) is None


def test_a_missing_value_has_the_place_of_what_is_around_it() -> None:
    """An error about something that is not there still points into the file."""
    marked = parse_marked("a: 1\nb:\n  c: [x]\n", "f")
    assert marked.at(("b", "nope", 3)) == "f:3:3"
    assert marked.at(("b", "c", 7)) == "f:3:6"
    assert not marked.has(("b", "c", 7))
    assert marked.has(("b", "c", 0))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("off", "off"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2024-01-31", "2024-01-31"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("7", 7),
        ("007", 7),
        ("-3", -3),
        ("+3", 3),
        ("0o17", 15),
        ("0x1F", 31),
        ("0.1", 0.1),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("'7'", "7"),
        ('"null"', "null"),
        ("!!str 1.0", "1.0"),
        ("1.2.3", "1.2.3"),
        ("-", [None]),
    ],
)
def test_scalars_are_those_of_yaml_1_2(written: str, value: object) -> None:
    """Words that older YAML turned into booleans, times or dates stay the text that was written."""
    sep = "\n" if written == "-" else " "
    read = parse_marked(f"a:{sep}{written}\n", "f").value["a"]
    assert read == value
    assert type(read) is type(value)


def test_numbers_keep_every_digit() -> None:
    """A number with more digits than a float holds is still exactly the number that was written."""
    marked = parse_marked("a: 69.99999999999999999999\nb: 0.1\nc: 5\nd: text\n", "f")
    assert marked.number(("a",)) == 70 - Fraction(1, 10**20)
    assert marked.number(("b",)) == Fraction(1, 10)
    assert marked.number(("c",)) == 5
    with pytest.raises(ValueError):
        marked.number(("d",))
    with pytest.raises(ValueError):
        marked.number(("nope",))


def test_number_keys_are_numbers_and_the_rest_is_text() -> None:
    """Anchors can be written with number keys; what was written stays known."""
    marked = parse_marked("0: none\n2.50: some\n'10': full\noff: x\ntrue: y\n", "f")
    assert marked.value == {0: "none", 2.5: "some", "10": "full", "off": "x", "true": "y"}
    assert marked.raw_key((2.5,)) == "2.50"
    assert marked.key_at((2.5,)) == "f:2:1"


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2.5, null, true], "b": {"c": "d"}}', '\n  [{"a": 1}, "x"]\n']
)
def test_json_reads_as_json(text: str) -> None:
    """A file that starts with a brace or bracket is read as JSON, whatever it is called."""
    assert parse_marked(text, "f").value == json.loads(text)


def test_places_in_json() -> None:
    """JSON has places too."""
    marked = parse_marked('{\n  "a": [\n    1,\r\n    {"b": "x"}\n  ]\n}', "f.json")
    assert marked.at(("a", 1, "b")) == "f.json:4:11"
    assert marked.key_at(("a", 1, "b")) == "f.json:4:6"


def test_flow_yaml_is_not_mistaken_for_broken_json() -> None:
    """A YAML file may start with a brace or bracket as well."""
    assert parse_marked("{rubric: 1, title: x}", "f").value == {"rubric": 1, "title": "x"}
    assert parse_marked("[Names it, Says why]", "f").value == ["Names it", "Says why"]


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "1:1", "empty"),
        ("# nothing but a comment\n", "1:1", "empty"),
        ("a: 1\nb: 2\na: 3\n", "3:1", "first in line 1, again in line 3"),
        ("1: x\n1.0: y\n", "2:1", "occurs twice"),
        ('{"a": 1,\n "a": 2}', "2:2", "occurs twice"),
        ("a:\n\t- x\n", "2:1", "tab"),
        ("a: 'open\nb: 2\n", "1:4", "never closed"),
        ('a: "\\d+"\n', "1:6", "escape"),
        ('a: "\\xyz"\n', "1:7", "escape"),
        ("a: b: c\n", "1:5", "`:`"),
        ("a: @x\n", "1:4", "cannot begin"),
        ("a: [1, 2\nb: 3\n", "2:2", "missing"),
        ('{"a": 1 "b": 2}', "1:9", "missing"),
        ('{"a": nope, "b" 1}', "1:7", "not a value"),
        ('{"a": 1} x', "1:10", "more text"),
        ("a: *nowhere\n", "1:4", "refers to nothing"),
        ("a: &a [*a]\n", "1:8", "part of"),
        ("a: !python/object x\n", "1:4", "tag"),
        ("a: !!binary x\n", "1:4", "tag"),
        ("a: 1\n---\nb: 2\n", "2:1", "second document"),
        ("%YAML 1.1\n---\na: 1\n", "2:1", "YAML 1.1"),
        ("a: .nan\n", "1:4", "not a finite number"),
        ("a: -.inf\n", "1:4", "not a finite number"),
        ("a: 1e400\n", "1:4", "too large"),
        ("a: 1e-400\n", "1:4", "too close to zero"),
        ("a: " + "9" * 5000 + "\n", "1:4", "too large"),
        ('{"a": NaN}', "1:7", "not a finite number"),
        ('{"a": -Infinity}', "1:7", "not a finite number"),
        ('{"a": 1e999}', "1:7", "too large"),
        ("? [a]\n: b\n", "1:3", "a key must be"),
        ("a: 1\n: b\n", "2:1", "a key is missing"),
        ('a: "\\ud83d"\n', "1:4", "half a character"),
        ('{"a": "\\ud83d"}', "1:7", "half a character"),
        ('a: "\\0"\n', "1:4", "NUL"),
        ('a: "\\U00110000"\n', "1:7", "not valid YAML"),
        ("a: 1\nb: x\x07y\n", "2:5", "U+0007"),
        ("a: 1\nb: \0\n", "2:4", "NUL"),
        ("x: {<<: 3}\n", "1:9", "merges mappings"),
    ],
)
def test_what_is_refused_and_where(text: str, place: str, says: str) -> None:
    """Every kind of damage is refused in words, at its line and column."""
    error = refusal(text)
    assert error.place == f"f.yaml:{place}"
    assert says in error.message


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    """A file saved on Windows has the same values and lines."""
    marked = parse_marked("\ufeffa: 1\r\nb:\r\n  c: |\r\n    x\r\n    y\r\n", "f")
    assert marked.value == {"a": 1, "b": {"c": "x\ny\n"}}
    assert marked.at(("b", "c")) == "f:3:6"
    assert marked.at(("a",)) == "f:1:4"


def test_aliases_share_values_and_have_places_of_their_own() -> None:
    """An alias stands for its anchor's value; merging adds only keys that are not there."""
    marked = parse_marked("base: &b {x: 1, y: 2}\nsame: *b\nmore: {<<: *b, y: 3}\n", "f")
    assert marked.value["same"] == {"x": 1, "y": 2}
    assert marked.value["more"] == {"x": 1, "y": 3}
    assert marked.at(("same",)) == "f:2:7"
    assert marked.at(("same", "y")) == "f:1:20"


def test_a_bomb_of_aliases_is_refused() -> None:
    """A few lines that stand for billions of values are refused at the alias that goes too far."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    error = refusal("\n".join(lines))
    assert "200,000" in error.message
    assert error.place is not None and error.place.startswith("f.yaml:6:")


def test_a_tower_of_aliases_is_refused() -> None:
    """Nesting that is built from aliases counts as nesting."""
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200)]
    assert "100 levels" in refusal("\n".join(lines)).message


@pytest.mark.parametrize(
    "text", ["[" * 10_000, "- " * 10_000 + "x", '{"a":' * 10_000 + "1" + "}" * 10_000, "? " * 5000]
)
def test_ten_thousand_levels_are_refused(text: str) -> None:
    """Deep nesting is refused at the first level too many, in YAML and in JSON."""
    assert "100 levels" in refusal(text).message or "key" in refusal(text).message


def test_a_hundred_levels_are_fine() -> None:
    """The limit itself is allowed."""
    assert parse_marked("[" * 100 + "]" * 100, "f").value
    assert parse_marked("{a: " * 100 + "1" + "}" * 100, "f").value


def test_half_characters_that_belong_together_are_joined() -> None:
    """An escape pair from JSON means the same in YAML."""
    assert parse_marked('a: "\\ud83d\\ude00"\n', "f").value == {"a": "😀"}
    assert parse_marked('{"a": "\\ud83d\\ude00"}', "f").value == {"a": "😀"}


# ----------------------------------------------------------------------------------------------------
# files


def test_a_missing_file_with_a_near_name(tmp_path: Path) -> None:
    """A misspelt file name is answered with the file that is there."""
    (tmp_path / "rubric.yaml").write_text("a: 1")
    with pytest.raises(FileError) as caught:
        read_marked(tmp_path / "rubrik.yaml")
    assert "not found" in caught.value.message
    assert "rubric.yaml" in (caught.value.hint or "")


def test_a_folder_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A folder in the place of a file is told from a missing one."""
    with pytest.raises(FileError, match="is a folder"):
        read_marked(tmp_path)
    with pytest.raises(FileError) as caught:
        read_marked(tmp_path / "nope" / "r.yaml")
    assert "not found" in (caught.value.hint or "")


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    """The first wrong byte is named by its offset and its place."""
    path = tmp_path / "r.yaml"
    path.write_bytes("a: 1\nb: é\n".encode("latin-1"))
    with pytest.raises(FileError) as caught:
        read_marked(path)
    assert "byte 8 is 0xe9" in caught.value.message
    assert caught.value.place == f"{path}:2:4"


def test_utf_16_is_named(tmp_path: Path) -> None:
    """A file in the other encoding that editors offer is recognised."""
    path = tmp_path / "r.yaml"
    path.write_bytes("a: 1\n".encode("utf-16"))
    with pytest.raises(FileError, match="UTF-16"):
        read_marked(path)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    """A file over the limit is refused with the limit, before it is read."""
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(10_000_001)
    with pytest.raises(FileError, match="10 MB"):
        read_marked(path)


def test_json_may_be_larger_than_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as large; above the limit of YAML, what is not sound JSON is not tried as YAML."""
    assert parse_marked('["' + "x" * 10_000_001 + '"]', "big.json").value == ["x" * 10_000_001]
    with pytest.raises(FileError, match="larger than 10 MB") as yaml:
        parse_marked("- " + "x" * 10_000_001, "big.yaml")
    assert "JSON may have 100 MB" in str(yaml.value.hint)
    monkeypatch.setattr("honestone.formats.syntax.marked.MAX_BYTES", 10)
    with pytest.raises(FileError, match="not valid JSON"):
        parse_marked("{a: 1, b: 2, c: 3}", "big.json")
    monkeypatch.setattr("honestone.formats.syntax.marked.MAX_JSON_BYTES", 20)
    with pytest.raises(FileError, match="larger than 0 MB") as json_error:
        parse_marked("[1, 2, 3, 4, 5, 6, 7]", "big.json")
    assert "cases: cases.jsonl" in str(json_error.value.hint)


def test_entries_of_a_drawn_list_are_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the values and places of the whole file, and nothing of them is kept."""
    monkeypatch.setattr(json_nodes, "LARGE", 0)
    text = '{"suite": 1,\n "cases": [{"id": "a"},\n  {"id": [2.50, "b"]}, "c"],\n "title": "t"}'
    drawn = parse_marked(text, "s.json", DrawnKey("cases", after="suite"))
    whole = parse_marked(text, "s.json")
    assert drawn.value == whole.value
    listed = drawn.node(("cases",))
    assert isinstance(listed.children, DrawnNodes) and list.__len__(listed.children) == 0
    assert len(drawn.value["cases"]) == 3 and drawn.value["cases"][1:] == [{"id": [2.5, "b"]}, "c"]
    assert "c" in drawn.value["cases"] and "d" not in drawn.value["cases"]
    for path in (("cases",), ("cases", 0, "id"), ("cases", 1, "id", 0), ("cases", 2), ("title",)):
        assert drawn.at(path) == whole.at(path)
        assert drawn.raw(path) == whole.raw(path)
    assert listed.children[0] is not listed.children[0]


@pytest.mark.parametrize(
    "text",
    [
        '{"cases": [1, 2], "suite": 1}',
        '{"suite": 1, "cases": []}',
        '{"suite": 1, "cases": "cases.csv"}',
        '{"suite": 1, "other": {"suite": 1, "cases": [1]}}',
    ],
)
def test_other_lists_are_read_whole(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before the key that says what the file is, empty ones, and those further inside."""
    monkeypatch.setattr(json_nodes, "LARGE", 0)
    marked = parse_marked(text, "s.json", DrawnKey("cases", after="suite"))
    assert marked.value == json.loads(text)
    assert not isinstance(marked.node(("cases",)).children, DrawnNodes)


@given(st.text(st.sampled_from('a\n\r\x85\u2028"')))
def test_lines_come_one_at_a_time(text: str) -> None:
    """As a file gives them: only a line feed ends a line, and nothing is lost."""
    assert list(lines_in(text)) == list(io.StringIO(text, newline="\n"))
    assert "".join(lines_in(text)) == text


# ----------------------------------------------------------------------------------------------------
# properties

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or abs(x) > 1e-300)
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")), plain
    ),
    st.booleans(),
)
def test_any_json_file_reads_as_the_standard_library_reads_it(
    value: dict[str, object], ascii_only: bool
) -> None:
    """Whatever JSON can say, the marked reader says the same."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_marked(text, "f").value == json.loads(text)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(st.sampled_from("ab10 .:-?,[]{}&*!|>'\"%@`#~\n\r\t\\ux<\u2028é"), max_size=60))
def test_no_text_makes_the_reader_crash(text: str) -> None:
    """Any text is read, or refused as a FileError with a place inside it."""
    try:
        place = parse_marked(text, "f").at(())
    except FileError as error:
        place = error.place or "no place"
    name, line, column = place.split(":")
    assert name == "f"
    assert 1 <= int(line) <= text.count("\n") + text.count("\r") + 1
    assert int(column) >= 1
