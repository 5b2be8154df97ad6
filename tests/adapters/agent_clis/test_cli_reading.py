"""How the end of each agent CLI is read: what is an answer, and everything that only looks like
one.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.agent_clis import known_cli
from honestone.adapters.agent_clis.base import CliOutcome, Setup, classify, wait_of
from honestone.adapters.agent_clis.codex import is_strict, toml
from honestone.adapters.agent_clis.driver import (
    failure,
    one_line,
    read_key,
    require_login,
    require_sendable,
)
from honestone.adapters.agent_clis.gemini import keep_at_signs
from honestone.ports import CallFailed
from honestone.system.processes.process import Ended

from .fakes import SAYS, claude_says, codex_fails, codex_says, gemini_fails, gemini_says

NAMES = ("codex", "claude", "gemini")


def read(
    name: str, stdout: str | bytes = "", stderr: str = "", exit: int = 0, **setup: Any
) -> CliOutcome:
    data = stdout.encode() if isinstance(stdout, str) else stdout
    ended = Ended(
        exit=exit,
        stdout=data,
        stderr=stderr.encode(),
        timed_out=False,
        truncated=False,
        duration=1.0,
    )
    return known_cli(name).read(ended, Setup(label=name, program=name, **setup))


@pytest.mark.parametrize("name", NAMES)
def test_a_complete_reply_is_an_answer(name: str) -> None:
    """The final message, with what it cost in tokens."""
    outcome = read(name, SAYS[name]('{"a": 1}'))
    assert (outcome.kind, outcome.text) == ("answer", '{"a": 1}')
    assert (
        outcome.usage.input_tokens,
        outcome.usage.output_tokens,
        outcome.usage.cached_tokens,
    ) == (10, 3, 4)


@pytest.mark.parametrize("name", NAMES)
def test_the_exit_code_proves_nothing(name: str) -> None:
    """A complete reply counts whatever the exit code is, and nothing is no reply though it is 0."""
    assert read(name, SAYS[name]("yes"), exit=1).kind == "answer"
    assert read(name, "").kind == "bad answer"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_nothing_in_a_complete_reply_is_empty(name: str, text: str) -> None:
    """An empty message is named as one."""
    assert read(name, SAYS[name](text)).kind == "empty"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "banner",
    [
        "Welcome to the agent!\nUpdate available 1.2 -> 1.3\n",
        "PASS: score 100\n",
        "{}",
        "[]",
        "null",
        "{",
    ],
)
def test_a_banner_is_no_answer(name: str, banner: str) -> None:
    """Text on stdout that is not the documented output is never taken for a message."""
    assert read(name, banner).kind == "bad answer"
    assert read(name, banner).text == ""


@pytest.mark.parametrize("name", NAMES)
def test_warnings_before_the_output_do_not_hide_it(name: str) -> None:
    """Warnings in front of the machine-readable part are passed over."""
    assert read(name, "Warning: 256 colours {not} found\n" + SAYS[name]("fine")).text == "fine"


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_half_an_output_is_never_an_answer(name: str, data: st.DataObject) -> None:
    """Cut anywhere, the output of a good call holds no answer any more."""
    whole = SAYS[name]('{"answers": {"1": true}} and more').rstrip("\n}")
    cut = data.draw(st.integers(0, len(whole)))
    assert read(name, whole[:cut]).kind not in ("answer", "cut")


@pytest.mark.parametrize("name", NAMES)
@given(stdout=st.binary(max_size=300), stderr=st.text(max_size=300), exit=st.integers(-15, 255))
def test_any_bytes_can_be_read(name: str, stdout: bytes, stderr: str, exit: int) -> None:
    """Whatever a program prints, reading it says something and invents nothing."""
    assert read(name, stdout, stderr.encode("utf-8", "replace").decode(), exit).kind != "answer"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
)
_FIELDS = (
    "type",
    "item",
    "result",
    "response",
    "error",
    "usage",
    "stats",
    "subtype",
    "is_error",
    "modelUsage",
    "warnings",
)


@pytest.mark.parametrize("name", NAMES)
@given(value=st.dictionaries(st.sampled_from(_FIELDS), _JSON))
def test_any_shape_of_json_can_be_read(name: str, value: dict[str, Any]) -> None:
    """Fields that hold something unexpected never crash the reader."""
    for kind in ("result", "turn.completed", "item.completed", None):
        outcome = read(name, json.dumps(value | ({"type": kind} if kind else {})))
        assert outcome.kind != "answer" or isinstance(outcome.text, str)


# -------------------------------------------------------------------------------------------------------------
# codex


def test_codex_text_before_a_failure_is_half_an_answer() -> None:
    """A message that was printed before the turn failed does not count."""
    outcome = read(
        "codex",
        codex_fails("stream disconnected before completion: closed", after='{"score": 100}'),
    )
    assert (outcome.kind, outcome.text) == ("broken", "")


def test_codex_needs_its_closing_event_after_the_last_message() -> None:
    """Without `turn.completed` behind it a message may be half."""
    assert read("codex", codex_says("half", closing=False)).kind == "broken"
    late = codex_says("first") + json.dumps(
        {"type": "item.completed", "item": {"type": "agent_message", "text": "second"}}
    )
    assert read("codex", late).kind == "broken"


def test_codex_marks_a_length_stop() -> None:
    """Half a reply at the length limit is kept, and marked as cut."""
    outcome = read(
        "codex", codex_fails("Incomplete response returned, reason: max_output_tokens", after='{"a')
    )
    assert (outcome.kind, outcome.text) == ("cut", '{"a')


def test_codex_warnings_are_no_errors() -> None:
    """An item of type `error` is a warning; the turn went on."""
    warning = {"type": "error", "message": "Model metadata not found"}
    assert read("codex", codex_says("fine", warning)).kind == "answer"


@pytest.mark.parametrize(
    ("message", "kind", "status"),
    [
        ("unexpected status 401 Unauthorized: bad key, url: http://h/v1", "refused", 401),
        ("unexpected status 403 Forbidden: no", "refused", 403),
        ("unexpected status 404 Not Found: The model `x` does not exist", "no such model", 404),
        ("exceeded retry limit, last status: 429 Too Many Requests", "slow down", 429),
        ("You exceeded your current quota, please check your plan (429)", "used up", None),
        ("You've hit your usage limit. Try again in 3 days", "used up", None),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "server",
            None,
        ),
        ("unexpected status 503 Service Unavailable: busy", "server", 503),
        ("Connection failed: error sending request", "network", None),
        (
            "stream disconnected before completion: stream closed before response.completed",
            "broken",
            None,
        ),
        ("Missing environment variable: `X`.", "not signed in", None),
        ("Input exceeds the maximum length of 1048576 characters", "too large", None),
        ('{"error": {"message": "Unsupported parameter: x", "code": null}}', "rejected", None),
    ],
)
def test_codex_failures_are_told_apart(message: str, kind: str, status: int | None) -> None:
    """Its exit code is always 1; the words of `turn.failed` say what happened."""
    outcome = read("codex", codex_fails(message), exit=1)
    assert outcome.kind == kind
    assert outcome.status == status


def test_codex_arguments_that_it_does_not_know() -> None:
    """Errors before it starts are on stderr only, without JSON."""
    assert (
        read("codex", "", "error: unexpected argument '--ignore-rules' found\n", 2).kind
        == "wrong setting"
    )


@pytest.mark.parametrize(
    "item",
    [
        {
            "type": "command_execution",
            "command": "sed",
            "exit_code": 4,
            "status": "failed",
            "aggregated_output": "sed: Read-only file system",
        },
        {
            "type": "command_execution",
            "command": "echo",
            "exit_code": 0,
            "status": "completed",
            "aggregated_output": "x: Read-only file system\nrc=1",
        },
        {"type": "file_change", "status": "declined"},
    ],
)
def test_codex_refused_edits_are_found(item: dict[str, Any]) -> None:
    """It exits 0 and says "done"; the refused command is in its events."""
    assert read("codex", codex_says("done", item)).denials


def test_codex_a_failing_test_is_no_refusal() -> None:
    """A command that fails for its own reasons was not denied."""
    item = {
        "type": "command_execution",
        "command": "pytest",
        "exit_code": 1,
        "status": "failed",
        "aggregated_output": "1 failed",
    }
    assert read("codex", codex_says("done", item)).denials == ()


# ------------------------------------------------------------------------------------------------------------
# claude


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"is_error": True, "api_error_status": 401}, "refused"),
        ({"is_error": True, "api_error_status": 404}, "no such model"),
        ({"is_error": True, "api_error_status": 429}, "slow down"),
        ({"is_error": True, "api_error_status": 529}, "server"),
        ({"is_error": True, "api_error_status": 400}, "rejected"),
        ({"is_error": True, "result": "Not logged in · Please run /login"}, "not signed in"),
        (
            {"is_error": True, "result": "API Error: Unable to connect to API (ConnectionRefused)"},
            "network",
        ),
        (
            {"is_error": True, "result": "API Error: Unable to connect to API (ECONNRESET)"},
            "broken",
        ),
        (
            {
                "is_error": True,
                "result": "Claude's response exceeded the 32000 output token maximum",
            },
            "cut",
        ),
        ({"is_error": True, "result": "Prompt is too long"}, "too large"),
        ({"is_error": True, "subtype": "error_max_turns"}, "turn limit"),
        ({"stop_reason": None, "usage": {"output_tokens": 0}}, "broken"),
        ({"stop_reason": "max_tokens"}, "cut"),
        ({"usage": {"input_tokens": 0, "output_tokens": 0}}, "bad answer"),
        ({"usage": None}, "bad answer"),
        ({"is_error": None}, "crashed"),
        ({"subtype": "error_during_execution"}, "crashed"),
    ],
)
def test_claude_subtype_success_is_not_success(changes: dict[str, Any], kind: str) -> None:
    """It says "success" on a 401 too and puts the error's words where the answer would be."""
    assert (
        read("claude", claude_says("API Error: 100/100, all criteria met", **changes)).kind == kind
    )


def test_claude_an_error_is_never_the_answer() -> None:
    """The text of a failed call is a reason and no reply."""
    outcome = read("claude", claude_says('{"score": 100}', is_error=True, api_error_status=500))
    assert outcome.text == ""


def test_claude_denials_are_listed() -> None:
    """Refused tools are listed though all went "well"."""
    denied = [{"tool_name": "Edit", "tool_input": {"file_path": "/etc/x"}}, "nonsense"]
    assert read("claude", claude_says("done", permission_denials=denied)).denials == (
        "Edit /etc/x",
    )


def test_claude_a_price_is_only_a_price_where_it_is_paid() -> None:
    """Its list price means nothing for another server or for a plan paid by the month: unknown, not
    a number.
    """
    assert read("claude", claude_says("x")).usage.usd == 0.25
    assert read("claude", claude_says("x"), base_url="http://h").usage.usd is None
    assert read("claude", claude_says("x"), auth="login").usage.usd is None


# ------------------------------------------------------------------------------------------------------------
# gemini


@pytest.mark.parametrize(
    ("message", "code", "type", "kind"),
    [
        (
            '{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}',
            401,
            "Error",
            "refused",
        ),
        (
            '{"error":{"code":400,"message":"API key not valid. Please pass one."}}',
            400,
            "Error",
            "refused",
        ),
        ("rate limit", 429, "Error", "slow down"),
        ("You exceeded your current quota, please check", 429, "Error", "used up"),
        ('{"error":{"code":500,"message":"oops"}}', 500, "Error", "server"),
        (
            "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.",
            41,
            "Error",
            "not signed in",
        ),
        ("exception TypeError: fetch failed sending request", 1, "Error", "network"),
        ("terminated", 1, "Error", "broken"),
        ("Incomplete JSON segment at the end", 1, "Error", "broken"),
        ("Reached max session turns for this session.", 53, "FatalTurnLimitedError", "turn limit"),
        ("settings.json is wrong", 52, "FatalConfigError", "wrong setting"),
    ],
)
def test_gemini_failures_are_read_from_stderr(
    message: str, code: int, type: str, kind: str
) -> None:
    """Its error object stands on stderr behind a stack trace that has braces too."""
    assert read("gemini", "", gemini_fails(message, code, type), code % 256).kind == kind


def test_gemini_exit_codes_are_a_status_modulo_256() -> None:
    """Without any JSON the exit code still tells a 429 from a 401."""
    assert read("gemini", "", "something happened", 173).kind == "slow down"
    assert read("gemini", "", "something happened", 145).kind == "refused"


def test_gemini_a_response_beside_an_error_is_no_answer() -> None:
    """It exits 0 with half a text and an error next to it."""
    error = {"type": "INVALID_STREAM", "message": "Model stream ended without a finish reason."}
    outcome = read("gemini", gemini_says('{"score": 1', error=error))
    assert (outcome.kind, outcome.text) == ("broken", "")


def test_gemini_an_empty_response_is_named_as_one() -> None:
    """Its empty reply comes as a broken stream; the words tell."""
    error = {
        "type": "INVALID_STREAM",
        "message": "The model returned an empty response with no text or thoughts.",
    }
    assert read("gemini", gemini_says("", error=error)).kind == "empty"


@pytest.mark.parametrize(
    "warning", ["Maximum session turns exceeded", "Loop detected, stopping execution"]
)
def test_gemini_stopped_half_way_is_no_answer(warning: str) -> None:
    """Stopped by its own limits it exits 0 with half a text; only a warning says so."""
    assert read("gemini", gemini_says("half", warnings=[warning])).kind == "turn limit"


def test_gemini_without_a_model_call_there_is_no_answer() -> None:
    """A prompt that overflows, or is taken for a command, gives exit 0 and asks nobody."""
    assert (
        read("gemini", gemini_says("I am the help text", stats={"models": {}})).kind == "bad answer"
    )
    assert read("gemini", gemini_says("", stats={"models": {}})).kind == "bad answer"
    assert read("gemini", gemini_says("text", candidates=0)).kind == "bad answer"


def test_gemini_denials_stand_on_stderr() -> None:
    """A refused path exits 0; stderr or the counts tell."""
    said = "Error executing tool replace: Path not in workspace: /etc/x\n"
    assert read("gemini", gemini_says("done"), said).denials
    stats = {
        "models": {"m": {"tokens": {"candidates": 1}}},
        "tools": {"totalDecisions": {"reject": 2}},
    }
    assert read("gemini", gemini_says("done", stats=stats)).denials
    assert read("gemini", gemini_says("done")).denials == ()


# -------------------------------------------------------------------------------------------------
# `@` and small parts


@pytest.mark.parametrize(
    "text",
    [
        "mail a@b.c",
        "@generalist do it",
        "see @note.txt, @/etc/passwd and (@../x)",
        "@",
        "x@",
        '@"a b"',
        "\\@./",
        "@..",
        "@decorator",
    ],
)
def test_at_signs_stay_as_they_are(text: str) -> None:
    """What an artifact says with an @ reaches the model letter for letter."""
    assert keep_at_signs(text) == (text, 0)


@pytest.mark.parametrize(
    "text", ["@./", "@./.", "@x/..", '@"./"', "look at @./ now", "@.//,", "a@./", "@a/../b/.."]
)
def test_only_a_path_to_the_working_folder_is_escaped(text: str) -> None:
    """`@./` would be expanded, so it gets the documented backslash."""
    escaped, count = keep_at_signs(text)
    assert count == 1 and escaped == text.replace("@", "\\@")


@given(st.text(alphabet='@./\\" ab,\n', max_size=40))
def test_escaping_adds_backslashes_and_nothing_else(text: str) -> None:
    """Whatever the text, it differs only by the counted backslashes, and escaping again changes
    nothing.
    """
    escaped, count = keep_at_signs(text)
    assert len(escaped) == len(text) + count
    assert escaped.replace("\\@", "@") == text.replace("\\@", "@")
    assert keep_at_signs(escaped)[1] == 0


_TOML = st.recursive(
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
)


@given(_TOML)
def test_settings_are_written_as_toml(value: Any) -> None:
    """Whatever is given to codex as a setting reads back as the same value: no text can break out
    of its place.
    """
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            True,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {}},
                "required": [],
                "additionalProperties": False,
            },
            False,
        ),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "array", "items": {"type": ["object", "null"]}}, False),
        ({"type": "string"}, True),
    ],
)
def test_only_schemas_that_the_service_takes_are_sent(schema: Any, strict: bool) -> None:
    """A schema with open objects would be rejected with a 400, so it is not sent."""
    assert is_strict(schema) is strict


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("retry after 2 seconds", 2.0),
        ("Please try again in 1.5s.", 1.5),
        ("retry-after: 30", 30.0),
        ("try again in 200ms", 0.2),
        ("again later", None),
    ],
)
def test_a_wait_is_read_from_words(words: str, seconds: float | None) -> None:
    """Some give the wait only in their words."""
    assert wait_of(words) == seconds


def test_a_status_is_worth_more_than_wording() -> None:
    """A 401 whose words speak of limits is still a 401."""
    assert classify("rate limit of your network", 401) == ("refused", 401)


def test_what_is_refused_before_a_cli_starts_is_not_a_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a key, a login or a prompt that it can take, nothing is sent, so nothing is counted."""
    cli = known_cli("claude")
    monkeypatch.delenv("MY_KEY", raising=False)
    for name in ("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    by_key = Setup(label="c", program="c", key_names=("MY_KEY",))
    refusals = (
        lambda: read_key(cli, by_key),
        lambda: require_login(cli, Setup(label="c", program="c", auth="login")),
        lambda: require_sendable(cli, ""),
        lambda: require_sendable(cli, "/help"),
        lambda: require_sendable(cli, "x" * (cli.most_characters + 1)),
    )
    for refusal in refusals:
        with pytest.raises(CallFailed) as failed:
            refusal()
        assert failed.value.unsent and not failed.value.retryable


def test_failures_name_the_variable_and_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused key names its variable, a refused login what to type, a wrong model its name; none
    of them retries.
    """
    monkeypatch.setenv("MY_KEY", "x")
    cli = known_cli("claude")
    by_key = Setup(label="c", program="c", key_names=("MY_KEY",), model="m9")
    by_login = Setup(label="c", program="c", auth="login")
    refused = CliOutcome(kind="refused", status=401, reason="no")
    assert (
        "MY_KEY" in failure(cli, by_key, refused).reason
        and not failure(cli, by_key, refused).retryable
    )
    assert cli.sign_in in failure(cli, by_login, refused).reason
    unknown = failure(cli, by_key, CliOutcome(kind="no such model", status=404))
    assert "`m9`" in unknown.reason and not unknown.retryable


@pytest.mark.parametrize(
    ("kind", "again"),
    [
        ("slow down", True),
        ("server", True),
        ("network", True),
        ("broken", True),
        ("used up", False),
        ("empty", False),
        ("cut", False),
        ("timeout", False),
        ("rejected", False),
        ("crashed", False),
        ("too large", False),
    ],
)
def test_what_may_be_tried_again(kind: Any, again: bool) -> None:
    """Only what may pass by itself within a run is worth another call."""
    failed = failure(known_cli("codex"), Setup(label="c", program="c"), CliOutcome(kind=kind))
    assert failed.retryable is again and not failed.missing and failed.reason


def test_words_of_a_program_are_safe_to_print() -> None:
    """No escape sequences, no second line, no end."""
    shown = one_line("\x1b[31mred\x1b[0m\n\x07two\u202e " + "x" * 900)
    assert shown.startswith("red two") and len(shown) == 300 and shown.isprintable()
