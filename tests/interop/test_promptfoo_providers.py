"""The `config` of promptfoo's providers: what becomes a parameter of the target, and what is said
of the rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import checks, lost, never_crashes, put, suite_of

from honestone.formats.source import SuiteSource
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.document import Document
from honestone.interop.promptfoo.read import READERS
from property_examples import examples

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}


def config_of(*providers: Any, asserts: Any = ({"type": "is-json"},)) -> str:
    tests = [{"vars": {"a": 1}, "assert": list(asserts)}]
    return json.dumps({"prompts": ["Hi {{a}}"], "providers": list(providers), "tests": tests})


def read(
    folder: Path, *providers: Any, asserts: Any = ({"type": "is-json"},), **files: str
) -> SuiteSource:
    return suite_of(READERS[0], put(folder, config_of(*providers, asserts=asserts), **files))


@pytest.mark.parametrize(
    ("id", "config", "parameters"),
    [
        (
            "openai:gpt-5",
            {"temperature": 0, "max_tokens": 9, "top_p": 1, "reasoning_effort": "low", "cost": 1},
            {"api": "chat", "temperature": 0, "max_output_tokens": 9, "top_p": 1, "effort": "low"},
        ),
        (
            "openai:chat:gpt-5",
            {"tools": [CHAT_TOOL], "tool_choice": "auto", "stop": ["x"], "seed": 1},
            {
                "api": "chat",
                "seed": 1,
                "extra": {"tools": [CHAT_TOOL], "tool_choice": "auto", "stop": ["x"]},
            },
        ),
        (
            "openai:gpt-5",
            {"functions": [1], "passthrough": {"a": 2}},
            {"api": "chat", "extra": {"functions": [1], "a": 2}},
        ),
        (
            "openai:gpt-5",
            {"response_format": FORMAT},
            {"api": "chat", "extra": {"response_format": FORMAT}},
        ),
        ("openai:gpt-5-pro", {"temperature": 1}, {"api": "responses", "temperature": 1}),
        (
            "openai:responses:gpt-5",
            {
                "instructions": "Be brief",
                "tools": [{"type": "web_search"}],
                "reasoning": {"effort": "low"},
            },
            {
                "api": "responses",
                "extra": {
                    "instructions": "Be brief",
                    "tools": [{"type": "web_search"}],
                    "reasoning": {"effort": "low"},
                },
            },
        ),
        (
            "openai:responses:gpt-5",
            {"response_format": FORMAT, "verbosity": "low"},
            {
                "api": "responses",
                "extra": {
                    "text": {
                        "format": {
                            "type": "json_schema",
                            "name": "a",
                            "strict": True,
                            "schema": SCHEMA,
                        },
                        "verbosity": "low",
                    }
                },
            },
        ),
        (
            "anthropic:messages:claude-sonnet-4-6",
            {
                "max_tokens": 9,
                "thinking": {"type": "enabled"},
                "tools": [{"name": "weather", "input_schema": SCHEMA}],
            },
            {
                "max_output_tokens": 9,
                "extra": {
                    "thinking": {"type": "enabled"},
                    "tools": [{"name": "weather", "input_schema": SCHEMA}],
                },
            },
        ),
        (
            "google:gemini-2.5-flash",
            {"maxOutputTokens": 9, "generationConfig": {"topK": 2}, "stopSequences": ["x"]},
            {
                "max_output_tokens": 9,
                "extra": {"generationConfig": {"topK": 2, "stopSequences": ["x"]}},
            },
        ),
        (
            "ollama:chat:llama3",
            {"num_predict": 9, "seed": 3, "stop": ["x"]},
            {"max_output_tokens": 9, "seed": 3, "extra": {"stop": ["x"]}},
        ),
        ("echo", {"tools": [CHAT_TOOL]}, {}),
    ],
)
def test_a_config_becomes_parameters_of_the_target(
    tmp_path: Path, id: str, config: dict[str, Any], parameters: dict[str, Any]
) -> None:
    """In the words of the API that is asked here."""
    source = read(tmp_path, {"id": id, "config": config})
    assert not source.losses
    assert source.suite.target.parameters == parameters


@pytest.mark.parametrize(
    ("id", "config", "said"),
    [
        ("openai:gpt-5", {"modalities": ["audio"]}, "`modalities` asks for sound or images"),
        ("openai:gpt-5", {"functionToolCallbacks": {"a": "x"}}, "runs code of this config"),
        (
            "openai:gpt-5",
            {"tools": "file://tools.js"},
            "`tools` of a provider is in a file that is not read",
        ),
        ("openai:gpt-5", {"tools": "file://gone.json"}, "`gone.json` not found"),
        (
            "openai:responses:gpt-5",
            {"instructions": "Be {{mood}}"},
            "`instructions` of a provider is filled in from variables",
        ),
        ("google:gemini-3-pro-image-preview", {"imageSize": "2K"}, "`imageSize` asks for an image"),
        ("ollama:llama3", {"num_ctx": 9}, "`num_ctx` of a provider is not sent"),
    ],
)
def test_what_changes_the_answer_and_is_not_carried_is_lost(
    tmp_path: Path, id: str, config: dict[str, Any], said: str
) -> None:
    """By its name, and at its place in the file."""
    source = read(tmp_path, "echo", {"id": id, "config": config})
    assert any(said in message for message in lost(source))
    assert source.suite.more_targets[0].parameters == {}


@pytest.mark.parametrize(
    ("id", "key"), [("openai:responses:gpt-5", "stop"), ("openai:gpt-5", "made_up")]
)
def test_what_promptfoo_does_not_send_is_a_note(tmp_path: Path, id: str, key: str) -> None:
    source = read(tmp_path, "echo", {"id": id, "config": {key: ["x"]}})
    assert lost(source) == [] and any(f"ignores the key `{key}`" in note for note in source.notes)


def test_a_transform_of_a_provider_is_lost(tmp_path: Path) -> None:
    """Checks see the output as it came, so they may say something else."""
    (loss,) = lost(read(tmp_path, {"id": "openai:gpt-5", "transform": "output.text"}))
    assert "the `transform` of a provider is not run" in loss


@pytest.mark.parametrize(
    "provider",
    [
        {"id": "azure:chat:gpt-5", "config": {"apiHost": "x.openai.azure.com", "made_up": 1}},
        {"id": "google:gemini-2.5-pro", "config": {"apiHost": "google.example.test"}},
        {"id": "openai:gpt-5", "config": {"apiBaseUrl": "{{env.SERVER}}/v1"}},
        {"id": "openai:gpt-5", "config": {"apiHost": ["a.example.test"]}},
        {"id": "openai:gpt-5", "config": {"apiBaseUrl": 8080}},
        {"id": "openai:codex-sdk", "config": {"working_dir": "."}},
        {"id": "openai:agents:helper", "config": {"agent": "file://helper.ts"}},
        {"id": "google:live:gemini-2.0-flash"},
    ],
)
def test_another_server_or_an_agent_is_not_the_target(
    tmp_path: Path, provider: dict[str, Any]
) -> None:
    """The name of the model alone would ask something else. `--target` names one, so nothing is
    lost.
    """
    source = read(tmp_path, provider)
    assert not source.losses and source.suite.target.use is None
    (why,) = source.untaken_targets
    assert f"`{provider['id']}`: " in why
    assert any("--target names one" in note for note in source.notes)


@pytest.mark.parametrize(
    ("type", "config"),
    [
        ("is-valid-openai-tools-call", {"tools": [CHAT_TOOL]}),
        ("is-valid-openai-function-call", {"functions": [CHAT_TOOL["function"]]}),
        ("is-valid-function-call", {"tools": "file://tools.json"}),
    ],
)
def test_calls_are_held_against_the_functions_of_the_provider(
    tmp_path: Path, type: str, config: dict[str, Any]
) -> None:
    """Also of a provider that is not a target here. Google writes types in capitals."""
    capitals = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
    tools = json.dumps([{"functionDeclarations": [{"name": "weather", "parameters": capitals}]}])
    provider = {"id": "vertex:gemini-2.5-flash", "config": config}
    source = read(tmp_path, provider, asserts=[{"type": type}], tools_json=tools)
    assert not source.losses
    (criterion,) = source.suite.cases[0].rubric.criteria
    assert checks(criterion)[0][:2] == ("function-calls", {"weather": SCHEMA})


def test_without_functions_the_assertion_is_lost(tmp_path: Path) -> None:
    """Nothing says which calls there are."""
    (loss,) = lost(
        read(tmp_path, "echo", asserts=[{"type": "is-valid-function-call"}, {"type": "is-json"}])
    )
    assert "needs the functions of a provider" in loss


@pytest.mark.parametrize("type", ["javascript", "python"])
@pytest.mark.parametrize(
    ("id", "is_value"), [("openai:gpt-5", True), ("openai:responses:gpt-5", False)]
)
def test_code_is_handed_the_value_of_calls(
    tmp_path: Path, id: str, is_value: bool, type: str
) -> None:
    """Where promptfoo's provider gives a list; where it gives a text, code gets the text."""
    source = read(
        tmp_path,
        {"id": id, "config": {"tools": [CHAT_TOOL]}},
        asserts=[{"type": type, "value": "True"}],
    )
    (criterion,) = source.suite.cases[0].rubric.criteria
    check = criterion.items[0].check
    assert check is not None and ("transform" in check.options) is is_value


KEYS = st.sampled_from(
    ["tools", "functions", "name", "parameters", "type", "generationConfig", "response_format"]
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=4)
        ),
        max_leaves=20,
    ),
    st.sampled_from(["openai:a", "google:a", "anthropic:a", "ollama:a", "exec:a", "other:a"]),
)
@settings(max_examples=examples(60))
def test_any_config_is_read_or_refused(config: Any, id: str) -> None:
    """Never with a traceback, whatever is in it."""
    text = config_of({"id": id, "config": config}, asserts=[{"type": "is-valid-function-call"}])
    never_crashes(READERS[0], Document(path=Path("f.json"), text=text))


@pytest.mark.parametrize(
    ("id", "config", "use", "base_url"),
    [
        (
            "openai:chat:a",
            {"apiBaseUrl": "http://127.0.0.1:1/v1"},
            "openai:a",
            "http://127.0.0.1:1/v1",
        ),
        ("openai:a", {"apiHost": "llm.example.test"}, "openai:a", "https://llm.example.test/v1"),
        ("anthropic:messages:a", {"apiBaseUrl": "http://h/"}, "anthropic:a", "http://h/v1"),
        ("openai:a", {}, "openai:a", None),
        ("openai:a", {"apiHost": ""}, "openai:a", None),
        ("anthropic:messages:a", {"apiHost": "", "apiBaseUrl": ""}, "anthropic:a", None),
        ("openai:a", {"apiHost": "", "apiBaseUrl": "http://h/v1"}, "openai:a", "http://h/v1"),
        ("openai:a", {"apiHost": None, "apiBaseUrl": ""}, "openai:a", None),
    ],
)
def test_a_server_of_a_provider_is_that_of_the_target(
    tmp_path: Path, id: str, config: dict[str, Any], use: str, base_url: str | None
) -> None:
    """With the variable that has the key, by its name; a converted suite says the same."""
    source = read(tmp_path, {"id": id, "config": {**config, "apiKeyEnvar": "BOT_KEY"}})
    target = source.suite.target
    assert (target.use, target.base_url, target.api_key_env) == (use, base_url, "BOT_KEY")
    assert not source.losses and not source.untaken_targets
    native = put(tmp_path, dump_suite(source.suite), "native.yaml")
    assert read_suite(native).suite.target == target


@pytest.mark.parametrize("id", ["echo", "exec:cat"])
def test_a_command_has_no_key(tmp_path: Path, id: str) -> None:
    """Its config is not read, and a note says so."""
    source = read(tmp_path, {"id": id, "config": {"apiKeyEnvar": "BOT_KEY", "apiHost": ""}})
    target = source.suite.target
    assert (target.api_key_env, target.base_url) == (None, None)
    assert (target.use or "").startswith("cmd:cat")
    assert any("`config` of a provider" in note for note in source.notes)


def test_why_a_provider_was_not_taken_is_known(tmp_path: Path) -> None:
    """Each by its name; those that are taken are not among them."""
    source = read(tmp_path, "oddvendor:chat:x", "echo", "file://p.mjs")
    assert [one.partition(":")[0] for one in source.untaken_targets] == [
        "not `oddvendor",
        "not `file",
    ]


JOKES = """
prompts: ['Tell a joke{use}']
providers: [echo]
tests:
  - {{vars: {{mood: dark}}, assert: [{{type: contains, value: {value}}}]}}
  - {{vars: {{mood: dry}}, assert: [{{type: contains, value: {value}}}]}}
"""


def test_equal_questions_that_differ_in_a_variable_nobody_reads_are_a_loss(tmp_path: Path) -> None:
    """Not where a prompt or an assertion has the variable; one question alone is noted."""
    (loss,) = lost(suite_of(READERS[0], put(tmp_path, JOKES.format(use="", value="joke"))))
    assert "`mood`" in loss and "2 cases" in loss
    for use, value in ((" {{mood}}", "joke"), ("", "'{{mood}}'")):
        source = suite_of(READERS[0], put(tmp_path, JOKES.format(use=use, value=value)))
        assert not source.losses and "mood" not in " ".join(source.notes)
    alone = JOKES.format(use="", value="joke").rpartition("  - ")[0]
    source = suite_of(READERS[0], put(tmp_path, alone))
    assert not source.losses and any("`mood`" in note for note in source.notes)


def test_a_provider_of_a_test_without_a_prompt_is_no_target(tmp_path: Path) -> None:
    """A test that is for no prompt is left out, and what it alone would ask with it."""
    asserts = [{"type": "contains", "value": "x"}]
    tests = [
        {"vars": {"q": "x"}, "assert": asserts},
        {"provider": "openai:gpt-4o", "prompts": ["nope"], "assert": asserts},
    ]
    config = {"prompts": ["Say {{q}}"], "providers": ["echo"], "tests": tests}
    suite = suite_of(READERS[0], put(tmp_path, json.dumps(config))).suite
    assert [one.use for one in suite.targets] == ["cmd:cat"]
    assert [case.targets for case in suite.cases] == [()]
