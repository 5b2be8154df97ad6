"""promptfoo configs as a person writes them: what becomes a case, what a criterion, and what is
refused out loud.
"""

from __future__ import annotations

import json
from base64 import b64encode
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from reading import checks, lost, never_crashes, put, suite_of, wrong

from honestone.core.errors import UsageError
from honestone.core.suite.case import AttemptRule, Case
from honestone.formats.syntax.document import Document
from honestone.interop.promptfoo.assertion import FORMATS
from honestone.interop.promptfoo.assertion_types import READ_TYPES, assertion_of_cell
from honestone.interop.promptfoo.providers import target_of
from honestone.interop.promptfoo.read import READERS
from honestone.interop.promptfoo.templates import MAX_FILLED, fill
from honestone.interop.recognise import read_any_suite, recognise
from property_examples import examples

HEAD = "prompts: ['Say {{word}}']\nproviders: [echo]\n"


def one(tmp_path: Path, asserts: str, *, more: str = "") -> Case:
    """The only case of a config with these assertions."""
    text = f"{HEAD}tests:\n  - vars: {{word: hi}}\n    {more}\n    assert: {asserts}\n"
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    return case


def losses(tmp_path: Path, asserts: str) -> list[str]:
    text = f"{HEAD}tests:\n  - vars: {{word: hi}}\n    assert: {asserts}\n"
    return lost(suite_of(READERS[0], put(tmp_path, text)))


# -------------------------------------------------------------------------------------------------
# gates


def test_without_a_threshold_every_assertion_has_to_pass(tmp_path: Path) -> None:
    """Each deterministic assertion is a criterion with floor 100, whatever its weight."""
    case = one(tmp_path, "[{type: contains, value: hi, weight: 3}, {type: not-regex, value: 'x+'}]")
    assert [(c.weight, c.floor) for c in case.rubric.criteria] == [(3, 1), (1, 1)]
    assert case.rubric.threshold == 1
    assert case.rubric.floor == 0
    assert [checks(c)[0][:2] for c in case.rubric.criteria] == [
        ("contains", "hi"),
        ("not-regex", "x+"),
    ]


def test_with_a_threshold_only_the_mean_counts(tmp_path: Path) -> None:
    """A test's own threshold replaces the gate of each assertion."""
    case = one(
        tmp_path, "[{type: contains, value: hi}, {type: equals, value: ho}]", more="threshold: 0.5"
    )
    assert [c.floor for c in case.rubric.criteria] == [None, None]
    assert case.rubric.threshold == Fraction(1, 2)


def test_weight_zero_is_shown_and_does_not_count(tmp_path: Path) -> None:
    """A metric has no floor and no weight."""
    case = one(tmp_path, "[{type: contains, value: hi}, {type: contains, value: no, weight: 0}]")
    assert [(c.weight, c.floor) for c in case.rubric.criteria] == [(1, 1), (0, None)]


def test_a_judge_says_yes_or_no_unless_there_is_a_threshold(tmp_path: Path) -> None:
    """llm-rubric: more than half of the judges; with a threshold a score from 0 to 1 and that
    floor.
    """
    case = one(
        tmp_path,
        "[{type: llm-rubric, value: Is kind}, {type: llm-rubric, value: Is short, threshold: 0.8}]",
    )
    yes_no, graded = case.rubric.criteria
    assert (
        yes_no.items[0].anchors is None
        and yes_no.floor is not None
        and Fraction(1, 2) < yes_no.floor < 1
    )
    anchors = graded.items[0].anchors
    assert anchors is not None and (anchors.lowest, anchors.highest) == (0, 1)
    assert graded.floor == Fraction(4, 5)


def test_a_negated_rubric_asks_for_the_opposite(tmp_path: Path) -> None:
    """not-llm-rubric turns the answer round."""
    (criterion,) = one(
        tmp_path, "[{type: not-llm-rubric, value: Mentions a price}]"
    ).rubric.criteria
    assert criterion.negate


def test_a_set_is_a_group_with_its_own_threshold(tmp_path: Path) -> None:
    """With a threshold the group has the floor; without one every assertion in it has its own."""
    inner = "[{type: contains, value: a}, {type: contains, value: b}]"
    case = one(
        tmp_path,
        f"[{{type: assert-set, threshold: 0.5, assert: {inner}}}, {{type: assert-set, assert: {inner}}}]",
    )
    loose, strict = case.rubric.criteria
    assert loose.floor == Fraction(1, 2) and [c.floor for c in loose.children] == [None, None]
    assert strict.floor == 1 and [c.floor for c in strict.children] == [1, 1]


def test_a_test_that_asserts_nothing_is_skipped_not_passed(tmp_path: Path) -> None:
    """promptfoo passes it; nothing was judged, so it is no pass here, and a note says so."""
    source = suite_of(READERS[0], put(tmp_path, HEAD + "tests: [{vars: {word: hi}}]\n"))
    assert source.suite.cases[0].skip == "asserts nothing that decides"
    assert any("skipped" in note for note in source.notes)


# -------------------------------------------------------------------------------------------- the
# kinds


@pytest.mark.parametrize(
    ("written", "kind", "value"),
    [
        ("{type: contains, value: 7.50}", "contains", "7.50"),
        ("{type: icontains-any, value: [a, b]}", "icontains-any", ["a", "b"]),
        ("{type: contains-all, value: 'a, b'}", "contains-all", ["a", "b"]),
        ("{type: starts-with, value: 'Say {{word}}'}", "starts-with", "Say hi"),
        ("{type: equals, value: {a: 1}}", "json-schema", {"const": {"a": 1}}),
        ("{type: is-json}", "is-json", True),
        ("{type: is-json, value: {type: object}}", "json-schema", {"type": "object"}),
        ('{type: is-json, value: \'{"type": "array"}\'}', "json-schema", {"type": "array"}),
        ("{type: latency, threshold: 1500}", "latency", 1500),
        ("{type: cost, threshold: 0.002}", "cost", 0.002),
        ("{type: word-count, value: {max: 9}}", "max-words", 9),
        ("{type: 'trajectory:tool-used', value: search}", "tool-calls", ["search"]),
        (
            "{type: 'trajectory:tool-used', value: {pattern: search, min: 2}}",
            "tool-count",
            {"search": {"min": 2}},
        ),
        (
            "{type: 'trajectory:tool-sequence', value: {mode: exact, steps: [a, b]}}",
            "tool-calls",
            ["a", "b"],
        ),
    ],
)
def test_assertions_that_are_checks_here(
    tmp_path: Path, written: str, kind: str, value: Any
) -> None:
    """Each kind becomes the check that means the same."""
    (criterion,) = one(tmp_path, f"[{written}]").rubric.criteria
    assert checks(criterion)[0][:2] == (kind, value)


@pytest.mark.parametrize(
    ("text", "met"),
    [("a b c", True), (" a  b\nc d ", True), ("a b", False), ("a b c d e", False), ("", False)],
)
def test_a_word_count_between_two_bounds_counts_words(tmp_path: Path, text: str, met: bool) -> None:
    """Three to four words, however they are parted."""
    import re

    (criterion,) = one(tmp_path, "[{type: word-count, value: {min: 3, max: 4}}]").rubric.criteria
    ((kind, pattern, _),) = checks(criterion)
    assert kind == "regex"
    assert (re.search(pattern, text) is not None) is met


@pytest.mark.parametrize("kind", sorted(FORMATS.lost))
def test_what_has_no_meaning_here_is_lost_out_loud(tmp_path: Path, kind: str) -> None:
    """Code, embeddings and comparisons are named with their place, never run and never dropped in
    silence.
    """
    (loss,) = losses(tmp_path, f"[{{type: '{kind}', value: 'process.exit()'}}, {{type: is-json}}]")
    assert loss.startswith("5:14") and kind in loss


def test_every_type_is_read_or_lost() -> None:
    """No type is on both lists."""
    assert not set(READ_TYPES) & set(FORMATS.lost)


def test_a_pattern_that_only_javascript_reads_is_tried_by_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A back-reference, and what JavaScript refuses; without Node each is a loss by its name."""
    text = HEAD + (
        "tests:\n  - vars: {word: x}\n    assert:\n"
        "      - {type: regex, value: '(a)\\1'}\n      - {type: not-regex, value: '(?i)a'}\n"
        "      - {type: regex, value: '^\\d(?<year>[0-9]{4})'}\n"
    )
    monkeypatch.setattr(
        "honestone.interop.promptfoo.assertion_types.which", lambda name: "/usr/bin/node"
    )
    source = suite_of(READERS[0], put(tmp_path, text))
    assert not lost(source)
    criteria = source.suite.cases[0].rubric.criteria
    checks = [item.check for one in criteria for item in one.items if item.check is not None]
    assert [one.name for one in checks] == ["script", "not-script", "regex"]
    assert [one.requirement for one in criteria][:2] == [
        "matches /(a)\\1/, by JavaScript",
        "does not match /(?i)a/, by JavaScript",
    ]
    assert checks[2].options == {"exact": "javascript"}
    monkeypatch.setattr("honestone.interop.promptfoo.assertion_types.which", lambda name: None)
    first, second = lost(suite_of(READERS[0], put(tmp_path, text)))
    assert "`regex`" in first and "(a)\\1" in first and "node" in first
    assert "`regex`" in second and "(?i)a" in second


LOST_SCHEMAS = [
    ("is-json", {"type": "object", "unknown": 1}, "unknown"),
    ("is-json", {"$schema": "https://json-schema.org/draft/2020-12/schema"}, "draft 7"),
    ("contains-json", {"type": "string", "format": "regex"}, "regex"),
    ("contains-json", {"type": "string", "pattern": "(a)\\1"}, "pattern"),
    ("is-json", {"properties": {"n": {"format": ["date"]}}}, "date"),
    ("contains-json", {"patternProperties": {"a": {}}, 7: {}}, "7"),
    ("not-is-json", {"type": "object"}, "not-is-json"),
    ("not-contains-json", {"type": "object"}, "not-contains-json"),
    ("not-equals", {"a": 1}, "not-equals"),
    ("icontains-any", ["a", ""], "empty"),
]


@pytest.mark.parametrize(("kind", "value", "said"), LOST_SCHEMAS)
def test_what_means_something_else_in_promptfoo_is_lost_by_its_name(
    tmp_path: Path, kind: str, value: object, said: str
) -> None:
    """Schemas that Ajv refuses or reads in its own way, and opposites that are none."""
    written = json.dumps([{"type": kind, "value": value}, {"type": "is-json"}])
    (loss,) = losses(tmp_path, written)
    assert said in loss and kind.removeprefix("not-") in loss


def test_names_in_a_schema_that_yaml_reads_as_numbers_are_texts(tmp_path: Path) -> None:
    """As JavaScript has them."""
    schema = "{properties: {1: {type: string}, true: {}}, patternProperties: {a: {}}}"
    written = f"[{{type: is-json, value: {schema}}}]"
    (criterion,) = one(tmp_path, written).rubric.criteria
    properties = {"1": {"type": "string"}, "true": {}}
    value = {"properties": properties, "patternProperties": {"a": {}}}
    assert checks(criterion)[0][:2] == ("json-schema", value)


def test_mistakes_are_told_all_at_once_with_near_matches(tmp_path: Path) -> None:
    """Unknown keys, kinds and wrong values come with line and column."""
    text = (
        HEAD
        + "tests:\n  - var: {word: x}\n    assert:\n      - {type: contians, value: x}\n      - {type: contains}\n"
    )
    found = wrong(READERS[0], put(tmp_path, text))
    assert "4:5 unknown key `var` in a test" in found
    assert "6:16 unknown assertion `contians`" in found
    assert any(message.startswith("7:9 `contains` needs a `value`") for message in found)
    right = text.replace("contians", "contains").replace("{type: contains}", "{type: is-json}")
    assert "4:5 unknown key `var` in a test" in wrong(READERS[0], put(tmp_path, right))


# ------------------------------------------------------------------------------------- prompts,
# vars, tests


def test_prompts_times_tests_times_lists(tmp_path: Path) -> None:
    """Every test is asked with every prompt; variables that are lists are multiplied; ids say which
    is which.
    """
    text = (
        "prompts: [{id: 'Hello {{name}} in {{tongue}}', label: short}, {raw: 'Dear {{name}} ({{tongue}})', label: long}]\n"
        "tests:\n"
        "  - description: greets\n    vars: {name: [Ann, Bo], tongue: [fr, de]}\n    assert: [{type: icontains, value: '{{name}}'}]\n"
    )
    suite = suite_of(READERS[0], put(tmp_path, text)).suite
    assert (len(suite.cases), suite.prompts) == (4, ("short", "long"))
    case = suite.case("greets/bo/de").asked_with("long")
    assert case.input == "Dear Bo (de)"
    assert checks(case.rubric.criteria[0])[0][1] == "Bo"
    assert case.description == "greets"


def test_lists_stay_whole_when_told_so(tmp_path: Path) -> None:
    """disableVarExpansion keeps a list as one value."""
    text = "prompts: ['{{all}}|{{all[1]}}']\ntests: [{vars: {all: [a, b]}, options: {disableVarExpansion: true}, assert: [{type: is-json}]}]\n"
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert case.input == '["a", "b"]|b'


def test_default_test_stands_under_every_test(tmp_path: Path) -> None:
    """Its assertions come first, its variables are overridden, and a test may leave its assertions
    out.
    """
    text = (
        "prompts: ['{{a}}{{b}}']\ndefaultTest:\n  vars: {a: '1', b: '2'}\n  threshold: 0.9\n  assert: [{type: contains, value: '{{b}}'}]\n"
        "tests:\n  - {vars: {b: '3'}, assert: [{type: is-json}]}\n"
        "  - {vars: {b: '4'}, options: {disableDefaultAsserts: true}, assert: [{type: is-json}]}\n"
    )
    first, second = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert (first.input, second.input) == ("13", "14")
    assert [checks(c)[0][0] for c in first.rubric.criteria] == ["contains", "is-json"]
    assert [checks(c)[0][0] for c in second.rubric.criteria] == ["is-json"]
    assert first.rubric.threshold == Fraction(9, 10)


def test_templates_of_assertions(tmp_path: Path) -> None:
    """`$ref` uses an assertion written once; one that leads to itself is refused."""
    text = HEAD + (
        "assertionTemplates:\n  kind: {type: contains, value: '{{word}}'}\n  loop: {$ref: '#/assertionTemplates/loop'}\n"
        "tests:\n  - {vars: {word: hi}, assert: [{$ref: '#/assertionTemplates/kind'}]}\n"
    )
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert checks(case.rubric.criteria[0])[0][:2] == ("contains", "hi")
    looping = put(
        tmp_path,
        text.replace("templates/kind'}]", "templates/loop'}]").replace(
            "Templates/kind'}]", "Templates/loop'}]"
        ),
    )
    assert any("too many others in turn" in message for message in wrong(READERS[0], looping))


def test_a_template_with_filters_and_conditions_is_filled_in(tmp_path: Path) -> None:
    """A name that is not a variable is empty, as in promptfoo, and a note says so."""
    text = "prompts: ['{{ a }} {{a|upper}} {% if a %}x{% endif %} <{{b}}>']\ntests: [{vars: {a: hi}, assert: [{type: is-json}]}]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    assert source.suite.cases[0].input == "hi HI x <>" and not source.losses
    assert any("`b` is not a variable" in note for note in source.notes)


def test_a_variable_that_only_code_of_a_provider_reads_is_named(tmp_path: Path) -> None:
    """It reaches no other target, so the note says which one; a variable of a prompt or an
    assertion does.
    """
    config = (
        "prompts: ['Write to {{name}}.']\nproviders: [{id: 'file://p.mjs'}]\ntests:\n"
        "  - {vars: {snapshot: late, name: Ann, word: x}, assert: [{type: contains, value: '{{ word }}'}]}\n"
    )
    notes = suite_of(READERS[0], put(tmp_path, config)).notes
    (note,) = [one for one in notes if "no template" in one]
    assert "`snapshot`" in note
    assert "`name`" not in note
    assert "`word`" not in note


def test_what_only_nunjucks_has_is_lost_with_its_place(tmp_path: Path) -> None:
    """JavaScript in a template is not run: the prompt stays as it is written."""
    text = "prompts: ['{{ a.split(1) }}']\ntests: [{vars: {a: hi}, assert: [{type: is-json}]}]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    (loss,) = source.losses
    assert "`split` is JavaScript" in loss.message and loss.place.endswith("f.yaml:1:11")
    assert source.suite.cases[0].input == "{{ a.split(1) }}"


def test_chats_and_files_beside_the_config(tmp_path: Path) -> None:
    """Chats, several prompts in a text file, tests and variables from files are read, and listed as
    read.
    """
    document = put(
        tmp_path,
        "prompts: [file://chat.json, file://two.txt]\ntests: file://cases.csv\n",
        chat_json=json.dumps(
            [{"role": "system", "content": "Be {{mood}}"}, {"role": "user", "content": "{{q}}"}]
        ),
        two_txt="One {{q}}\n---\nTwo {{q}}\n",
        cases_csv='q,mood,__expected,__expected2,__description,__metadata:area\n"How, now?",calm,contains: cow,"llm-rubric: Is, calm",cows,farm\n',
    )
    source = suite_of(READERS[0], document)
    assert [case.id for case in source.suite.cases] == ["cows"]
    assert source.suite.prompts == ("chat", "two-1", "two-2")
    chat = source.suite.cases[0]
    assert [(m.role, m.content) for m in chat.messages] == [
        ("system", "Be calm"),
        ("user", "How, now?"),
    ]
    assert [c.requirement for c in chat.rubric.criteria] == ["contains 'cow'", "Is, calm"]
    assert chat.metadata == {"area": "farm"}
    assert {path.name for path in source.files} == {"f.yaml", "chat.json", "two.txt", "cases.csv"}
    assert source.places["cows"].endswith("cases.csv:2:1")


def test_a_mistake_in_another_file_has_its_place_there(tmp_path: Path) -> None:
    """An error in a file of tests names that file and line."""
    document = put(
        tmp_path, "prompts: [hello]\ntests: file://t.yaml\n", t_yaml="- vars: {a: 1}\n  asert: []\n"
    )
    (loss,) = suite_of(READERS[0], document).losses
    assert (loss.message, loss.hint) == ("unknown key `asert` in a test", "did you mean `assert`?")
    assert loss.place.endswith("t.yaml:2:3")


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "link.txt"])
def test_files_outside_the_folder_are_never_read(tmp_path: Path, name: str) -> None:
    """Neither by name nor by a link."""
    folder = tmp_path / "suite"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    document = put(
        folder, f"prompts: ['file://{name}']\ntests: [{{assert: [{{type: is-json}}]}}]\n"
    )
    assert any("leads out of the folder" in message for message in wrong(READERS[0], document))


def test_code_is_lost_or_named_and_never_run_by_reading(tmp_path: Path) -> None:
    """Prompts and tests of functions are named, other prompts, variables and values made by
    programs are lost.
    """
    (tmp_path / "evil.py").write_text("raise SystemExit(9)")
    text = (
        "prompts: ['file://evil.py:make', 'exec:./evil.py', plain]\n"
        "tests:\n  - file://evil.py\n  - {vars: {a: 'file://evil.py'}, options: {transform: output.x}, assert: [{type: equals, value: 'file://evil.py'}, {type: is-json}]}\n"
    )
    source = suite_of(READERS[0], put(tmp_path, text))
    assert len(lost(source)) == 3
    assert [c.requirement for c in source.suite.cases[0].rubric.criteria] == ["is JSON"]
    assert [(use.what, use.makes_cases) for use in source.code] == [
        ("the prompt `evil.py:make`", True),
        ("the tests of `evil.py`", True),
        ("the `transform` of a test", False),
    ]
    (case,) = source.suite.cases
    assert case.skip == "its variable `a` cannot be read"
    made, _ = (replace(case, skip=None).asked_with(name) for name in source.suite.prompts)
    assert made.skip == "the prompt `evil` is made by code that was not run"


PNG = b"\x89PNG\r\n\x1a\n\0"
IN_BASE_64 = b64encode(PNG).decode()


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "{{a}}"}},
        {"type": "input_image", "image_url": "{{a}}"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "{{a}}"}},
        {"image": {"format": "png", "source": {"bytes": "{{a}}"}}},
        {"inlineData": {"mimeType": "image/png", "data": "{{a}}"}},
        {"modality": "image", "value": {"type": "base64", "media_type": "png", "base64": "{{a}}"}},
    ],
)
@pytest.mark.parametrize("value", ["file://x.png", f"data:image/png;base64,{IN_BASE_64}"])
def test_an_image_of_a_message_is_an_image_of_the_case(
    tmp_path: Path, part: dict[str, Any], value: str
) -> None:
    """In the words of every API, from a file next to the config or as a data URL. People and judges
    read its number.
    """
    (tmp_path / "x.png").write_bytes(PNG)
    chat = json.dumps(
        [{"role": "user", "content": [part, {"type": "text", "text": "What is it?"}]}]
    )
    config = {"prompts": [chat], "tests": [{"vars": {"a": value}, "assert": [{"type": "is-json"}]}]}
    source = suite_of(READERS[0], put(tmp_path, json.dumps(config)))
    assert not source.losses
    (case,) = source.suite.cases
    assert [(image.media_type, image.data) for image in case.images] == [("image/png", PNG)]
    assert case.input == f"[image 1, {case.images[0].digest[7:23]}]\nWhat is it?"


def test_a_line_that_is_a_data_url_is_an_image_and_an_address_stays_one(tmp_path: Path) -> None:
    """As promptfoo gives both to a model. What the address leads to is not fetched here."""
    (tmp_path / "x.png").write_bytes(PNG)
    chat = '[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.org/a.jpg"}}]}]'
    config = {
        "prompts": ["{{a}}\nWhat is it?", chat],
        "tests": [{"vars": {"a": "file://x.png"}, "assert": [{"type": "is-json"}]}],
    }
    source = suite_of(READERS[0], put(tmp_path, json.dumps(config)))
    assert not source.losses
    (case,) = source.suite.cases
    asked = [case.asked_with(prompt) for prompt in source.suite.prompts]
    assert [[image.path or image.data for image in one.images] for one in asked] == [
        [PNG],
        ["https://x.org/a.jpg"],
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.mp3", "is neither text nor an image"),
        ("x.png", "is not an image"),
        ("y.png", "not found"),
        ("http://x.org/y.webp", "is neither in the file nor at an address"),
    ],
)
def test_other_media_are_lost(tmp_path: Path, name: str, said: str) -> None:
    """With the place of the variable: sound, what only has the name of an image, what is not there,
    half an address.
    """
    (tmp_path / "x.png").write_text("not an image")
    value = f"file://{name}" if "//" not in name else "ftp:x"
    chat = json.dumps(
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "{{a}}"}}]}]
    )
    prompt = "{{a}}" if "//" not in name else chat
    config = {
        "prompts": [prompt],
        "tests": [{"vars": {"a": value}, "assert": [{"type": "is-json"}]}],
    }
    assert any(
        said in loss for loss in lost(suite_of(READERS[0], put(tmp_path, json.dumps(config))))
    )


def test_scenarios_multiply_data_and_tests(tmp_path: Path) -> None:
    """Every set of data with every test of the scenario."""
    text = (
        "prompts: ['{{a}}{{b}}']\nscenarios:\n  - config: [{vars: {a: '1'}}, {vars: {a: '2'}}]\n"
        "    tests: [{vars: {b: x}, assert: [{type: is-json}]}, {vars: {b: y}, assert: [{type: is-json}]}]\n"
    )
    suite = suite_of(READERS[0], put(tmp_path, text)).suite
    assert [case.input for case in suite.cases] == ["1x", "1y", "2x", "2y"]


def test_repeats_have_to_pass_every_time(tmp_path: Path) -> None:
    """evaluateOptions: repeats are attempts that all count, times are in seconds."""
    text = (
        HEAD
        + "evaluateOptions: {repeat: 3, maxConcurrency: 2, timeoutMs: 1500}\ntests: [{vars: {word: a}, assert: [{type: is-json}]}]\n"
    )
    suite = suite_of(READERS[0], put(tmp_path, text)).suite
    (case,) = suite.cases
    assert (case.attempts, case.attempt_rule, case.timeout) == (3, AttemptRule.PASS_HAT_K, 1.5)
    assert suite.concurrency == 2


@pytest.mark.parametrize(
    ("provider", "target"),
    [
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("openai:chat:gpt-5", "openai:gpt-5"),
        ("anthropic:messages:claude-x", "anthropic:claude-x"),
        ("google:gemini-x", "google:gemini-x"),
        ("ollama:chat:qwen3:8b", "ollama:qwen3:8b"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b"),
        ("openai:embedding:e", None),
        ("exec:python run.py", "cmd:python run.py {PROMPT}"),
        ("echo", "cmd:cat"),
        ("file://provider.js", None),
        ("openai", None),
        ("azure:chat:x", None),
    ],
)
def test_one_provider_may_be_the_target(provider: str, target: str | None) -> None:
    """A provider that `--target` knows is taken over; no other is guessed."""
    assert target_of(provider) == target


def test_several_providers_are_columns(tmp_path: Path) -> None:
    """Each named by its label, else by its id; one that is twice is there once, one that is no
    target here is noted.
    """
    listed = "['openai:a', {id: 'openai:b', label: warm, config: {temperature: 1}}, 'openai:a', 'file://own.js']"
    text = f"prompts: [a]\nproviders: {listed}\ntests: [{{assert: [{{type: is-json}}]}}]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    assert [(one.use, one.label) for one in source.suite.targets] == [
        ("openai:a", "openai:a"),
        ("openai:b", "warm"),
    ]
    assert any("--target" in note and "file://own.js" in note for note in source.notes)
    assert any("twice" in note and "openai:a" in note for note in source.notes)
    assert not source.losses


def columns(
    tmp_path: Path, text: str
) -> tuple[list[tuple[str | None, str | None]], list[tuple[str, tuple[str, ...]]]]:
    """The targets with their labels, and the cases with the columns that they are for."""
    source = suite_of(READERS[0], put(tmp_path, text))
    assert not lost(source)
    return [(one.use, one.label) for one in source.suite.targets], [
        (c.id, c.targets) for c in source.suite.cases
    ]


def test_a_test_may_be_for_some_providers_only(tmp_path: Path) -> None:
    """By label, id, or how these begin; one that is for none of them is no case."""
    head = "prompts: ['{{q}}']\nproviders: [{id: 'openai:a', label: fast}, 'openai:b', 'ollama:c']\ntests:\n"
    tests = "".join(
        f"  - {{vars: {{q: a}}, providers: {chosen}, assert: [{{type: is-json}}]}}\n"
        for chosen in ("[fast]", "['openai:b']", "['openai:*']", "[ollama]", "[none]", "['*']")
    )
    _, cases = columns(tmp_path, head + tests)
    both, ollama = ("fast", "openai:b"), ("ollama:c",)
    assert cases == [
        ("test-1", ("fast",)),
        ("test-2", ("openai:b",)),
        ("test-3", both),
        ("test-4", ollama),
        ("test-6", ()),
    ]


def test_a_prompt_may_be_for_some_providers_only(tmp_path: Path) -> None:
    """`prompts` of a provider are labels: only those are its columns."""
    text = """
prompts: [{raw: 'Ask {{q}}', label: chat}, {raw: 'Do {{q}}', label: 'plain:one'}, {raw: x, label: unused}]
providers: [{id: 'openai:a', prompts: [chat]}, {id: 'ollama:b', prompts: [chat, plain]}]
tests: [{vars: {q: a}, assert: [{type: is-json}]}]
"""
    targets, cases = columns(tmp_path, text)
    assert [label for _, label in targets] == ["openai:a", "ollama:b"]
    assert cases == [("test-1", ())]
    suite = suite_of(READERS[0], put(tmp_path, text)).suite
    assert [one.prompts for one in suite.targets] == [("chat",), ("chat", "plain-one")]


@pytest.mark.parametrize(
    ("default", "own", "targets", "cases"),
    [
        (
            "{provider: 'openai:d'}",
            "",
            [("openai:d", "openai:d")],
            [("test-1", ("openai:d",)), ("test-2", ("openai:d",))],
        ),
        (
            "{}",
            "provider: {id: 'openai:d', label: other}, ",
            [("cmd:cat", "echo"), ("openai:d", "other")],
            [("test-1", ("other",)), ("test-2", ())],
        ),
    ],
)
def test_the_provider_of_a_test_takes_the_place_of_the_others(
    tmp_path: Path,
    default: str,
    own: str,
    targets: list[tuple[str, str]],
    cases: list[tuple[str, tuple[str, ...]]],
) -> None:
    """Of all tests: then the others have no column."""
    tests = f"[{{{own}vars: {{q: a}}, assert: [{{type: is-json}}]}}, {{vars: {{q: b}}, assert: [{{type: is-json}}]}}]"
    text = f"prompts: ['{{{{q}}}}']\nproviders: [echo]\ndefaultTest: {default}\ntests: {tests}\n"
    found, read = columns(tmp_path, text)
    assert found == targets
    assert [(id, for_ or ()) for id, for_ in read] == [(id, for_) for id, for_ in cases]


@pytest.mark.parametrize(
    "odd",
    [
        "threshold: 3",
        "threshold: high",
        "threshold: '{{env.T}}'",
        "description: [a]",
        "metadata: [a, b]",
        "metadata: words",
        "options: [a]",
        "options: {prefix: [a]}",
        "prompts: [nothing]",
        "prompts: {a: b}",
    ],
)
def test_what_promptfoo_warns_of_and_reads_is_a_loss(tmp_path: Path, odd: str) -> None:
    """Its own check of the file says what is wrong with such values, and the run goes ahead without
    them.
    """
    source = suite_of(
        READERS[0],
        put(
            tmp_path,
            f"{HEAD}tests:\n  - vars: {{word: hi}}\n    {odd}\n    assert: [{{type: is-json}}]\n",
        ),
    )
    assert len(lost(source)) == 1 and len(source.suite.cases) == 1


@pytest.mark.parametrize(
    "odd",
    [
        "{repeat: '2'}",
        "{repeat: 0}",
        "{maxConcurrency: 0}",
        "{maxConcurrency: '3'}",
        "[]",
        "{timeoutMs: -1}",
    ],
)
def test_options_of_a_run_that_promptfoo_warns_of_are_losses(tmp_path: Path, odd: str) -> None:
    text = f"{HEAD}evaluateOptions: {odd}\ntests: [{{vars: {{word: hi}}, assert: [{{type: is-json}}]}}]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    assert len(lost(source)) == 1 and [case.attempts for case in source.suite.cases] == [1]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}tests: [null]\n",
        f"{HEAD}tests: [{{vars: [{{word: hi}}], assert: [{{type: is-json}}]}}]\n",
        f"{HEAD}tests: [{{vars: {{word: hi}}, assert: {{type: is-json}}}}]\n",
        "prompts: [12]\nproviders: [echo]\n",
        "prompts: [a]\nproviders: [echo, null]\n",
    ],
)
def test_what_promptfoo_refuses_is_a_loss_and_nothing_is_run_in_its_place(
    tmp_path: Path, text: str
) -> None:
    source = suite_of(READERS[0], put(tmp_path, text))
    (loss,) = source.losses
    assert "--accept-loss leaves it out" in str(loss.hint)
    assert all(case.skip for case in source.suite.cases)


def test_a_table_of_lines_with_a_character_that_no_text_can_hold_is_a_loss(tmp_path: Path) -> None:
    r"""`\0` is text to JavaScript. So is a table that is no JSON, which promptfoo refuses."""
    text = "prompts: ['{{q}}']\nproviders: [echo]\ntests: t.jsonl\n"
    source = suite_of(READERS[0], put(tmp_path, text, t_jsonl='{"vars": {"q": "a\\u0000b"}}\n'))
    assert len(lost(source)) == 1 and "NUL" in lost(source)[0]
    (loss,) = suite_of(READERS[0], put(tmp_path, text, t_jsonl='{"vars": \n')).losses
    assert "t.jsonl:1" in loss.place


def test_a_column_may_hold_the_threshold_of_an_expected_value(tmp_path: Path) -> None:
    """`__expected` is the first, `__expected2` the second; one that is no number is a loss."""
    text = "prompts: ['{{q}}']\nproviders: [echo]\ntests: t.csv\n"
    head = (
        "q,__config:__expected:threshold,__expected1,__expected2,__config:__expected2:threshold\n"
    )
    table = f'{head}a,0.25,llm-rubric:Kind,"g-eval(0.5):Short",0.75\n'
    source = suite_of(READERS[0], put(tmp_path, text, t_csv=table))
    assert [c.floor for c in source.suite.cases[0].rubric.criteria] == [
        Fraction(1, 4),
        Fraction(3, 4),
    ]
    assert not lost(source)
    assert (
        len(lost(suite_of(READERS[0], put(tmp_path, text, t_csv=table.replace("0.25", "much")))))
        == 1
    )


def test_a_pattern_may_begin_in_a_folder_above(tmp_path: Path) -> None:
    """Prompts, tests and variables next to the folder of the config, as far as the project goes."""
    text = "prompts: file://../p/*.md\nproviders: [echo]\ntests: [{vars: ../v/v_*.yaml, assert: [{type: is-json}]}]\n"
    for name, content in {
        "p/a.md": "One {{q}}",
        "p/b.md": "Two {{q}}",
        "v/v_1.yaml": "q: 1",
        "v/v_2.yaml": "q: x",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "evals").mkdir()
    source = read_any_suite(put(tmp_path / "evals", text).path, [tmp_path])
    (case,) = source.suite.cases
    assert not lost(source)
    assert [case.asked_with(prompt).input for prompt in "ab"] == ["One x", "Two x"]


@pytest.mark.parametrize("pattern", ["../../../../*.md", "../*/../../../x*.md", "/etc/*", "~/*"])
def test_a_pattern_does_not_lead_out_of_the_project(tmp_path: Path, pattern: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "evals").mkdir()
    text = f"prompts: 'file://{pattern}'\nproviders: [echo]\ntests: [{{assert: [{{type: is-json}}]}}]\n".replace(
        "//~", "//~"
    )
    assert any(
        "leads out of the folder" in one for one in wrong(READERS[0], put(tmp_path / "evals", text))
    )


def test_a_file_in_another_encoding_is_a_loss(tmp_path: Path) -> None:
    """promptfoo reads it with signs in the place of what it cannot read."""
    (tmp_path / "p.txt").write_bytes("Grüße {{q}}".encode("cp1252"))
    text = "prompts: [a, file://p.txt]\nproviders: [echo]\ntests: [{assert: [{type: is-json}]}]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    assert len(lost(source)) == 1 and [case.input for case in source.suite.cases] == ["a"]


def test_scores_of_factuality_are_the_anchors_of_a_judge(tmp_path: Path) -> None:
    """Those that are left out are promptfoo's own; above 0 passes."""
    asserts = "[{type: factuality, value: Paris}]"
    case = one(
        tmp_path,
        asserts,
        more="options: {factuality: {superset: 0.8, differButFactual: 0.5, disagree: 0}}",
    )
    (criterion,) = case.rubric.criteria
    anchors = criterion.items[0].anchors
    assert anchors is not None and criterion.floor == Fraction(1, 2)
    assert [level for level, _ in anchors.levels] == [0, Fraction(1, 2), Fraction(4, 5), 1]
    assert "contradicts" in anchors.levels[0][1] and " or the same" in anchors.levels[-1][
        1
    ].replace("says ", "")
    text = f"{HEAD}tests:\n  - vars: {{word: hi}}\n    options: {{factuality: {{disagree: 1}}}}\n    assert: {asserts}\n"
    assert len(lost(suite_of(READERS[0], put(tmp_path, text)))) == 1


def test_an_empty_list_of_tests_runs_every_prompt_once(tmp_path: Path) -> None:
    """As without `tests`; keys that promptfoo does not know change nothing there, and `targets` is
    another name of `providers`.
    """
    (case,) = suite_of(
        READERS[0], put(tmp_path, "prompts: [a]\ntargets: [echo]\ntests: []\n")
    ).suite.cases
    assert case.skip == "asserts nothing that decides"
    source = suite_of(READERS[0], put(tmp_path, "prompt: a\nproviders: [echo]\n"))
    assert not lost(source) and source.suite.cases[0].input == ""


def test_a_provider_that_is_no_target_leaves_the_choice(tmp_path: Path) -> None:
    """Nothing is guessed: --target names one."""
    text = "prompts: [a]\nproviders: ['file://own.js']\ntests: [{assert: [{type: is-json}]}]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    assert source.suite.target.use is None
    assert any("--target" in note for note in source.notes)


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("contains: a, b", {"type": "contains", "value": "a, b"}),
        ("not-icontains:x", {"type": "not-icontains", "value": "x"}),
        ("grade: Is kind", {"type": "llm-rubric", "value": "Is kind"}),
        ("similar(0.8):Hello", {"type": "similar", "threshold": 0.8, "value": "Hello"}),
        ("is-json", {"type": "is-json"}),
        ("fn: output.length", {"type": "javascript", "value": "output.length"}),
        ("note: this is text", {"type": "equals", "value": "note: this is text"}),
    ],
)
def test_cells_of_a_table_are_assertions(cell: str, assertion: dict[str, Any]) -> None:
    """`type(threshold):value`, else a text to be equal to."""
    assert assertion_of_cell(cell) == assertion


def test_a_config_that_multiplies_without_end_is_refused(tmp_path: Path) -> None:
    """Ten lists of ten values would be ten thousand million cases."""
    variables = ", ".join(f"v{n}: [a,b,c,d,e,f,g,h,i,j]" for n in range(10))
    document = put(
        tmp_path, f"prompts: [a]\ntests: [{{vars: {{{variables}}}, assert: [{{type: is-json}}]}}]\n"
    )
    with pytest.raises(Exception, match="more than 10000 cases"):
        READERS[0].read(document)


# ---------------------------------------------------------------------------------------------
# being recognised


@pytest.mark.parametrize(
    "text",
    [
        "prompts: [a]\nproviders: [echo]\ntests: [{vars: {a: 1}}]\n",
        "description: x\nproviders: [echo]\nprompts: [a]\n",
        "prompts: [a]\ntests: [{assert: [{type: javascript, value: x}]}]\n",
        "prompts: [a]\ntests: tests.csv\n",
    ],
)
def test_its_own_files_are_recognised(tmp_path: Path, text: str) -> None:
    """By content, whatever the name of the file."""
    assert READERS[0].signs(put(tmp_path, text, name="anything.txt")) == 60


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nprompts: ['{{ input }}']\nevaluate_options: {repeat: 2}\ntests: [{id: a, vars: {input: hi}}]\n",
        "prompts: [a]\ntests: [{id: a, vars: {input: hi}, assert: [{type: llm-rubric, value: [{outcome: x}]}]}]\n",
        "prompts: [a]\ndescription: x\ntests: [{vars: {input: hi}, assert: [A plain sentence]}]\n",
        "suite: 1\ncases: []\n",
        "[judges]\n",
        "tests: [{id: a, vars: {a: 1}}]\n",
    ],
)
def test_files_of_others_are_not_claimed(tmp_path: Path, text: str) -> None:
    """AgentV has prompts and tests too; its reader is asked first."""
    assert READERS[0].signs(put(tmp_path, text)) <= 20


@pytest.mark.parametrize(
    "text",
    [
        "tests: [{vars: {a: 1}}, {vars: {a: 2}, assert: [{type: icontains, value: b}]}]\n",
        "defaultTest: {assert: [{type: is-json}]}\ntests: [{vars: {a: 1}}]\n",
        "name: x\nprompts: ['{{a}}']\nproviders: ['openai:gpt-5']\ntests: [{id: one, vars: {a: b}, assert: [{type: contains, value: b}]}]\n",
        "prompts: ['{{a}}']\ntargets: [{id: 'file://p.py', label: mine}]\ntests: [{id: one, vars: {a: b}}]\n",
        "prompts: ['{{a}}']\nproviders: [{'openai:gpt-5': {temperature: 0}}]\ntests: [{id: one, vars: {a: b}}]\n",
        "prompts: ['{{a}}']\ntargets: [echo]\n",
    ],
)
def test_a_config_is_known_by_the_names_of_its_providers_and_tests_by_what_they_have(
    tmp_path: Path, text: str
) -> None:
    """Names with a colon are promptfoo's, AgentV's tests have ids, and only promptfoo has
    `defaultTest`.
    """
    document = put(tmp_path, text)
    assert recognise(document) is READERS[0]
    assert read_any_suite(document.path).dialect == "promptfoo"


def test_a_key_of_a_test_that_promptfoo_passes_over_is_a_note_and_a_slip_a_loss(
    tmp_path: Path,
) -> None:
    """Strangers keep their own words there; `assertions` was meant to judge."""
    head = "prompts: ['{{q}}']\nproviders: ['openai:gpt-5']\ntests:\n  - {id: a, vars: {q: b}, assert: [{type: is-json}], "
    source = suite_of(READERS[0], put(tmp_path, head + "expected_vendor: x, difficulty: hard}\n"))
    assert not lost(source)
    assert all(
        any(f"ignores the key `{key}`" in note for note in source.notes)
        for key in ("id", "expected_vendor")
    )
    for slip in ("assertions", "var", "variables", "threshhold", "asserts"):
        (loss,) = lost(suite_of(READERS[0], put(tmp_path, f"{head}{slip}: x}}\n")))
        assert f"unknown key `{slip}`" in loss


def test_a_key_of_a_provider_that_promptfoo_does_not_send_is_a_note_and_one_that_it_uses_a_loss(
    tmp_path: Path,
) -> None:
    text = (
        "prompts: ['{{q}}']\nproviders: [{id: 'ollama:chat:m', config: {KEYS}}]\n"
        "tests: [{vars: {q: b}, assert: [{type: is-json}]}]\n"
    )
    source = suite_of(
        READERS[0], put(tmp_path, text.replace("KEYS", "options: {num_ctx: 5}, num_predict: 5"))
    )
    assert not lost(source) and any("ignores the key `options`" in note for note in source.notes)
    (loss,) = lost(suite_of(READERS[0], put(tmp_path, text.replace("KEYS", "think: true"))))
    assert "`think` of a provider is not sent" in loss
    (loss,) = lost(suite_of(READERS[0], put(tmp_path, text.replace("KEYS", "temprature: 1"))))
    assert "unknown key `temprature`" in loss


@pytest.mark.parametrize(
    "providers",
    ["[mine]", "['agentv:codex-cli']", "[{id: 'openai:gpt-5', runtime: host}]", "[{id: mine}]"],
)
def test_a_config_whose_providers_may_be_agentvs_is_left_to_it(
    tmp_path: Path, providers: str
) -> None:
    text = f"prompts: ['{{{{a}}}}']\nproviders: {providers}\ntests: [{{id: one, vars: {{a: b}}}}]\n"
    assert READERS[0].signs(put(tmp_path, text)) <= 20


def test_the_example_of_the_docs_is_read_whole(tmp_path: Path) -> None:
    """The example in the reference pages loses nothing and is recognised among all formats."""
    document = put(tmp_path, READERS[0].example)
    assert recognise(document) is READERS[0]
    source = suite_of(READERS[0], document)
    assert source.suite.target.use == "openai:gpt-5-mini"
    assert [case.id for case in source.suite.cases] == ["weekday"] and not source.losses
    assert all(key.meaning for reader in READERS for table in reader.keys for key in table.rows)


# -------------------------------------------------------------------------------------------------
# properties

names = st.sampled_from(["a", "b", "word"])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-1, 2, allow_nan=False),
    st.text(max_size=12),
    st.sampled_from(
        ["{{a}}", "{{a.b}}{{", "{% x %}", "file://x", "file://*", "(", "[", ",", "#/a"]
    ),
)
nested = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
kinds = st.sampled_from(
    ["assert-set", *READ_TYPES, *(f"not-{t}" for t in READ_TYPES), "python", "nope"]
)
assertions = st.recursive(
    st.fixed_dictionaries(
        {"type": kinds},
        optional={
            "value": nested,
            "threshold": values,
            "weight": values,
            "metric": values,
            "metricOnly": values,
            "$ref": st.sampled_from(["#/tests/0/assert/0", "#/a"]),
        },
    )
    | nested,
    lambda inner: st.fixed_dictionaries(
        {"type": st.just("assert-set"), "assert": st.lists(inner, max_size=3)},
        optional={"threshold": values, "weight": values},
    ),
    max_leaves=5,
)
tests = (
    st.fixed_dictionaries(
        {},
        optional={
            "vars": st.dictionaries(names, nested, max_size=3) | nested,
            "assert": st.lists(assertions, max_size=4) | nested,
            "threshold": values,
            "description": values,
            "options": nested,
            "metadata": nested,
            "prompts": nested,
        },
    )
    | nested
)
configs = st.fixed_dictionaries(
    {"prompts": st.lists(st.sampled_from(["{{a}}", "x {{b.c}}"]) | nested, max_size=3) | nested},
    optional={
        "tests": st.lists(tests, max_size=3) | nested,
        "defaultTest": tests,
        "scenarios": nested,
        "providers": nested,
        "evaluateOptions": nested,
        "description": values,
        "assertionTemplates": nested,
    },
)


@settings(max_examples=examples(150), deadline=None)
@given(configs)
def test_no_config_crashes_the_reader(config: dict[str, Any]) -> None:
    """Whatever stands in a config, it is read or refused in words."""
    never_crashes(
        READERS[0],
        Document(path=Path(__file__).parent / "none" / "c.yaml", text=json.dumps(config)),
    )


@given(st.text(alphabet="{}%#a.b[0] |\n", max_size=60), st.dictionaries(names, nested, max_size=3))
def test_filling_in_never_fails_and_leaves_text_without_braces_alone(
    text: str, variables: dict[str, Any]
) -> None:
    """Templates are hostile data as well."""
    filled = fill(text, variables)
    if "{" not in text:
        assert filled.text == text and not filled.lost


@given(st.text(max_size=30))
def test_what_is_filled_in_is_not_looked_at_again(value: str) -> None:
    """A variable that holds braces puts braces in."""
    assert fill("<{{a}}>", {"a": value}).text == f"<{value}>"


def test_a_template_that_grows_without_end_is_left_alone() -> None:
    """A text may not blow up to more than two million characters."""
    filled = fill("{{a}}" * 30, {"a": "x" * 100_000})
    assert len(filled.text) <= MAX_FILLED and "more than" in filled.lost[0]


def test_a_config_for_red_teaming_alone_says_what_runs_it(tmp_path: Path) -> None:
    """Nothing is there to judge: promptfoo's own command is named. With tests, `promptfoo eval`
    runs those.
    """
    text = "targets: [echo]\nprompts: ['{{q}}']\nredteam: {purpose: p, plugins: [harmful]}\n"
    document = put(tmp_path, text)
    assert recognise(document) is READERS[0]
    with pytest.raises(UsageError, match="red teaming alone") as told:
        READERS[0].read(document)
    assert "promptfoo redteam run" in (told.value.hint or "") and (told.value.place or "").endswith(
        ":3:10"
    )
    tests = "tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]\n"
    source = suite_of(READERS[0], put(tmp_path, text + tests))
    assert not lost(source) and any("`redteam`" in note for note in source.notes)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("prompts: ['{{q}}']\nproviders: [echo]\ntests: langfuse://a/b\n", "on a server"),
        ("prompts: ['{{q}}']\nproviders: [echo]\ntests: file://tests.rb\n", "is code in"),
        ("prompts: ['exec:p']\nproviders: [echo]\ntests: [{vars: {q: a}}]\n", "from a program"),
    ],
)
def test_a_config_whose_tests_or_prompts_are_all_lost_has_one_case_that_is_skipped(
    tmp_path: Path, text: str, word: str
) -> None:
    """With --accept-loss it loads, and its only case says why nothing is judged."""
    source = suite_of(READERS[0], put(tmp_path, text))
    (case,) = source.suite.cases
    assert any(word in loss for loss in lost(source))
    assert (
        case.skip == "its prompts or tests are missing, made by a program or on a server"
        and not case.messages
    )


def test_a_rubric_prompt_without_a_value_is_a_loss_and_so_is_none_at_all(tmp_path: Path) -> None:
    """promptfoo allows an `llm-rubric` without a value only where `rubricPrompt` has the question."""
    head = "prompts: ['{{q}}']\nproviders: [echo]\n"
    tests = "tests: [{vars: {q: a}, assert: [{type: llm-rubric}, {type: contains, value: a}]}]\n"
    asked = "defaultTest: {options: {rubricPrompt: 'Is it right?'}}\n"
    assert any(
        "is in `rubricPrompt`" in loss
        for loss in lost(suite_of(READERS[0], put(tmp_path, head + asked + tests)))
    )
    (loss,) = lost(suite_of(READERS[0], put(tmp_path, head + tests)))
    assert "needs a `value`" in loss


def test_steps_and_tools_are_counted_with_patterns(tmp_path: Path) -> None:
    """`*` in a tool's name stands for anything; steps that are not calls of tools are lost."""
    text = """
prompts: ['{{q}}']
providers: [echo]
tests:
  - vars: {q: a}
    assert:
      - {type: 'trajectory:tool-used', value: {pattern: 'search_*'}}
      - {type: 'trajectory:step-count', value: {type: tool, max: 4}}
      - {type: 'trajectory:step-count', value: {type: tool, pattern: 'read*', min: 0, max: 2}}
      - {type: 'trajectory:step-count', value: {type: message, max: 2}}
"""
    source = suite_of(READERS[0], put(tmp_path, text))
    checks = [
        item.check
        for criterion in source.suite.cases[0].rubric.criteria
        for item in criterion.items
    ]
    assert [check.value for check in checks if check] == [
        {"search_*": {"min": 1}},
        {"*": {"max": 4}},
        {"read*": {"min": 0, "max": 2}},
    ]
    (loss,) = lost(source)
    assert "counts calls of tools only" in loss
    assert any(
        "needs `min` or `max`" in one
        for one in lost(suite_of(READERS[0], put(tmp_path, text.replace(", max: 4", ""))))
    )


def test_relevance_to_a_conversation_is_a_score_of_the_judges(tmp_path: Path) -> None:
    """With a threshold it decides."""
    text = "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n"
    text += "  - {vars: {q: a}, assert: [{type: conversation-relevance, threshold: 0.8}]}\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    (criterion,) = source.suite.cases[0].rubric.criteria
    assert (
        criterion.floor == Fraction(4, 5)
        and "relevant to the last message" in criterion.requirement
    )
    assert not lost(source)


def test_only_lists_of_texts_are_multiplied_into_cases(tmp_path: Path) -> None:
    """promptfoo keeps a list whose first value is not a text as one value; a loop over it has a
    round for each.
    """
    text = """
prompts: ['{% for m in xs %}{% for role, said in m %}{{role}}={{said}} {% endfor %}{% endfor %}']
providers: [echo]
tests: [{vars: {xs: [{user: a}, {assistant: b}]}, assert: [{type: contains, value: 'user=a assistant=b'}]}]
"""
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert case.input == "user=a assistant=b "


def test_a_loop_with_one_name_goes_over_no_mapping() -> None:
    """As in Nunjucks, which takes pairs of a mapping for two names only."""
    assert fill("{% for k in m %}{{k}}{% endfor %}.", {"m": {"a": 1}}).text == "."
    assert fill("{% for k, v in m %}{{k}}{{v}}{% endfor %}.", {"m": {"a": 1}}).text == "a1."


def test_an_unknown_kind_of_assertion_does_not_hide_whose_file_it_is(tmp_path: Path) -> None:
    """Prompts, providers, and variables in every test: promptfoo's, with a loss for that kind."""
    text = "prompts: ['{{q}}']\nproviders: [echo]\ntests: [{vars: {q: a}, assert: [{type: b-eval, value: [x]}]}]\n"
    document = put(tmp_path, text)
    assert recognise(document) is READERS[0]
    assert "unknown assertion `b-eval`" in lost(suite_of(READERS[0], document))[0]


def test_keys_that_promptfoo_does_not_read_either_are_notes(tmp_path: Path) -> None:
    """They change nothing there, so nothing is lost; the note names them. Another unknown key is
    still a loss.
    """
    text = """
prompts:
  - {id: 'say {{q}}', label: p, config: {temperature: 0}, vars: {q: x}, file: p.txt}
providers: [echo]
envPath: .env
passRateThreshold: 0.8
tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]
"""
    source = suite_of(READERS[0], put(tmp_path, text))
    assert not lost(source) and source.suite.cases[0].input == "say a"
    said = " ".join(source.notes)
    assert all(
        f"`{key}`" in said for key in ("envPath", "passRateThreshold", "config", "file", "vars")
    )
    assert "--min-pass-rate" in said
    (loss,) = lost(suite_of(READERS[0], put(tmp_path, text + "outputz: x\n")))
    assert "unknown key `outputz`" in loss


def test_a_value_that_promptfoo_refuses_when_it_runs_is_a_loss(tmp_path: Path) -> None:
    """The config loads there and fails each test, so with --accept-loss it loads here; `is-json` of
    nothing asks for JSON.
    """
    text = """
prompts: ['{{q}}']
providers: [echo]
tests:
  - vars: {q: a}
    assert:
      - {type: contains, value: [a, b]}
      - {type: similar, value: ''}
      - {type: contains-any, value: {a: b}}
      - {type: is-json, value: false}
      - {type: llm-rubric, value: good, threshold: 3.5}
      - {type: word-count}
      - {type: regex, value: '('}
"""
    source = suite_of(READERS[0], put(tmp_path, text))
    requirements = [c.requirement for c in source.suite.cases[0].rubric.criteria]
    assert requirements == ["is JSON", "matches /(/, by JavaScript"]
    assert [loss.partition(" ")[2] for loss in lost(source)] == [
        "`contains` takes a text, not a list",
        "`similar` takes a text, not ''",
        "`contains-any` takes a list of texts, not a mapping",
        "`threshold` is 3.5, but must be from 0 to 1",
        "`word-count` needs a `value`: a number of words or {min, max}",
    ]
    outside = text.replace("value: [a, b]", "value: 'file:///etc/passwd'")
    assert any(
        "leads out of the folder" in one
        for one in lost(suite_of(READERS[0], put(tmp_path, outside)))
    )


def test_files_that_are_missing_are_losses_as_promptfoo_runs_without_them(tmp_path: Path) -> None:
    """Tests, assertions, variables and prompts; one loss each, and nothing else is said of the
    value.
    """
    text = """
prompts: ['{{q}}']
providers: [echo]
tests:
  - file://none.yaml
  - file://none/*.yaml
  - vars: {q: a, x: file://none.txt}
    assert:
      - {type: contains-any, value: file://none.txt}
      - {type: word-count, value: file://none.json}
      - {type: javascript, value: file://none.js}
      - {type: 'trajectory:tool-used', value: file://none.yaml}
      - {type: contains, value: a}
"""
    source = suite_of(READERS[0], put(tmp_path, text))
    said = [loss.partition(" ")[2] for loss in lost(source)]
    assert len(said) == 7 and all("next to this one" in one for one in said), said
    assert [c.requirement for c in source.suite.cases[0].rubric.criteria] == ["contains 'a'"]
    more = text.replace("'{{q}}'", "'{{q}}', file://none.md, file://none.py:f, {label: nothing}")
    assert len(lost(suite_of(READERS[0], put(tmp_path, more)))) == 10
    alone = suite_of(
        READERS[0], put(tmp_path, "prompts: [x]\nproviders: [echo]\ntests: file://none.yaml\n")
    )
    assert [case.skip for case in alone.suite.cases] == [
        "its prompts or tests are missing, made by a program or on a server"
    ]


BROKEN = {
    "a test of another kind": (
        "tests: [one, 2, {vars: {q: a}, assert: [{type: is-json}]}]",
        "must be a mapping, not 2",
    ),
    "a label that is no text": ("prompts: ['{{q}}', {raw: x, label: []}]", "`label` must be text"),
    "an empty prompt file": ("prompts: ['{{q}}', file://empty.txt]", "holds no prompt"),
    "a prompt of another kind": ("prompts: ['{{q}}', null]", "must be a mapping, not nothing"),
    "tests that are not YAML": (
        "tests: [file://odd.yaml, {vars: {q: a}, assert: [{type: is-json}]}]",
        "does not belong",
    ),
    "a table with a column twice": (
        "tests: [t.csv, {vars: {q: a}, assert: [{type: is-json}]}]",
        "the same name",
    ),
    "a table with a cell too many": (
        "tests: [u.csv, {vars: {q: a}, assert: [{type: is-json}]}]",
        "2 cells",
    ),
    "a file of another machine": ("prompts: ['{{q}}', 'file:///home/somebody/p.txt']", "leads out"),
    "a provider of another kind": ("providers: [echo, 3]", "must be text or a mapping"),
    "scenarios of another kind": ("scenarios: {a: b}", "must be a list"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_with_one_part_keeps_no_other_from_being_read(
    tmp_path: Path, name: str
) -> None:
    """Each is one loss with its place; the test that is whole is a case."""
    odd, said = BROKEN[name]
    whole = {
        "prompts": "prompts: ['{{q}}']",
        "providers": "providers: [echo]",
        "tests": "tests: [{vars: {q: a}, assert: [{type: is-json}]}]",
    }
    whole[odd.partition(":")[0]] = odd
    files = {
        "empty_txt": "\n",
        "odd_yaml": "a: b: c\n",
        "t_csv": "q,q\n1,2\n",
        "u_csv": "q\n1,2\n",
        "one": "a: 1",
    }
    source = suite_of(READERS[0], put(tmp_path, "\n".join([*whole.values(), ""]), **files))
    assert any(said in loss for loss in lost(source)), lost(source)
    assert "a" in [case.input for case in source.suite.cases if case.skip is None]


def test_a_case_whose_variables_cannot_be_read_is_skipped_and_says_so(tmp_path: Path) -> None:
    """It would be run with another input otherwise. One that overrides them is run."""
    text = """
prompts: ['{{q}}']
providers: [echo]
defaultTest: {vars: {q: file://none.txt}, assert: [{type: is-json}]}
tests:
  - {}
  - vars: {q: b}
  - vars: none.yaml
  - vars: [a: 1]
"""
    source = suite_of(READERS[0], put(tmp_path, text))
    assert [case.skip for case in source.suite.cases] == [
        "its variable `q` cannot be read",
        None,
        "its variable `q` cannot be read",
        "its variable `q` cannot be read",
    ]
    assert len(lost(source)) == 3


def test_prompts_and_providers_alone_are_a_config(tmp_path: Path) -> None:
    """promptfoo runs every prompt once; nothing is asserted, so the cases are skipped. Keys for
    people change nothing.
    """
    document = put(tmp_path, "prompts: [Write a haiku]\nproviders: [echo]\n")
    assert recognise(document) is READERS[0]
    (case,) = suite_of(READERS[0], document).suite.cases
    assert case.skip == "asserts nothing that decides"
    named = "prompts: ['{{q}}']\nproviders: [echo]\ntests: [{tags: [a], vars: {q: a}, assert: [{type: is-json}]}]\n"
    source = suite_of(READERS[0], put(tmp_path, named))
    assert not lost(source) and any("`tags`" in note for note in source.notes)
