"""Agent CLIs as judges: how they are called, what they cannot see, and what becomes of every bad
end.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from honestone.adapters.models.agent_cli import AgentCliModel
from honestone.core.errors import SettingsError
from honestone.ports import CallFailed, Completion, Model, Prompt

from .fakes import SAYS, Fake, claude_says, codex_fails, codex_says, gemini_says, make_fake

NAMES = ("codex", "claude", "gemini")
KEY_VARIABLE = {
    "codex": "HONESTONE_CHILD_KEY",
    "claude": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}


def ask(model: Model, text: str = "Task: judge this.", **prompt: Any) -> Completion:
    return asyncio.run(model.complete(Prompt(text=text, **prompt)))


def refusal(model: Model, text: str = "Task: judge this.") -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        ask(model, text)
    return failed.value


def judge(fake: Fake, name: str, **settings: Any) -> AgentCliModel:
    settings = {"api_key_env": "MY_KEY", "auth": "key", "timeout": 20.0} | settings
    return AgentCliModel(name, command=str(fake.path), **settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_judge_answers(name: str, tmp_path: Path, key: str) -> None:
    """The final message comes back with the tokens it cost."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]('{"a": 1}'))
    model = judge(fake, name, model="m1")
    completion = ask(model)
    assert isinstance(model, Model)
    assert completion.text == '{"a": 1}' and not completion.cut
    assert completion.usage.output_tokens == 3


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_goes_to_stdin_and_never_to_the_command_line(
    name: str, tmp_path: Path, key: str
) -> None:
    """A prompt on a command line can be read by every user and has a length limit."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    ask(judge(fake, name), "Task: the-artifact-text\nsecond line")
    assert fake.call["stdin"] == "Task: the-artifact-text\nsecond line"
    assert "the-artifact-text" not in json.dumps([fake.call["argv"], fake.call["env"]])


@pytest.mark.parametrize("name", NAMES)
def test_the_key_is_only_in_its_own_variable_of_the_child(
    name: str, tmp_path: Path, key: str
) -> None:
    """Not in the arguments, not in a file, not in another variable, not in the identity."""
    body = (
        "assert not any('sk-secret-4711' in p.read_text(errors='replace') for p in home.rglob('*') if p.is_file())\n"
        "assert not any('sk-secret-4711' in p.read_text(errors='replace') for p in here.rglob('*') if p.is_file())"
    )
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"), body=body)
    model = judge(fake, name)
    assert ask(model).text == "x"
    assert [k for k, v in fake.call["env"].items() if key in v] == [KEY_VARIABLE[name]]
    assert key not in json.dumps(fake.call["argv"]) and key not in json.dumps(dict(model.identity))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_person_is_passed_on(
    name: str, tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch, person: Path
) -> None:
    """Other keys, other tools' settings and the agent that runs us stay out; the home is new and
    the folder empty.
    """
    for variable in (
        "OPENAI_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDECODE",
        "NODE_OPTIONS",
        "GIT_DIR",
        "SSH_AUTH_SOCK",
    ):
        monkeypatch.setenv(variable, "theirs")
    monkeypatch.setenv("CODEX_HOME", str(person))
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    ask(judge(fake, name))
    env = fake.call["env"]
    assert "theirs" not in env.values()
    assert str(person) not in json.dumps(env)
    allowed = {".env", ".gemini", ".gemini/.env", ".geminiignore"} if name == "gemini" else set()
    assert set(fake.call["here"]) == allowed
    assert set(fake.call["home"]) <= {".codex", ".gemini", ".gemini/settings.json"}
    assert not Path(env["HOME"]).exists() and not Path(fake.call["cwd"]).exists()


def test_each_cli_is_told_to_leave_out_tools_and_context(tmp_path: Path, key: str) -> None:
    """The flags that switch off tools, context files, skills, servers, sessions and their own
    retries.
    """
    calls = {}
    for name in NAMES:
        body = (
            "print((home / '.gemini/settings.json').read_text(), file=sys.stderr)"
            if name == "gemini"
            else ""
        )
        fake = make_fake(tmp_path / name, name, stdout=SAYS[name]("x"), body=body)
        ask(judge(fake, name, model="m1", base_url="http://127.0.0.1:1/root/"))
        calls[name] = fake.call
    codex, claude, gemini = (calls[n]["argv"] for n in NAMES)
    for word in (
        "--ephemeral",
        "--ignore-user-config",
        "--ignore-rules",
        "read-only",
        "shell_tool",
        "project_doc_max_bytes=0",
        "m1",
    ):
        assert word in codex
    assert codex[-1] == "-" and 'web_search="disabled"' in codex
    assert any(
        '"base_url" = "http://127.0.0.1:1/root/v1"' in word and '"request_max_retries" = 0' in word
        for word in codex
    )
    for word in (
        "-p",
        "--bare",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--no-session-persistence",
        "m1",
    ):
        assert word in claude
    assert (
        claude[claude.index("--tools") + 1] == ""
        and claude[claude.index("--setting-sources") + 1] == ""
    )
    env = calls["claude"]["env"]
    assert env["CLAUDE_CODE_MAX_RETRIES"] == "0" and env["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1"
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1/root"
    for word in ("-o", "json", "-e", "none", "--admin-policy", "m1"):
        assert word in gemini
    assert calls["gemini"]["env"]["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:1/root"


def test_the_coding_agents_own_instructions_are_replaced(tmp_path: Path, key: str) -> None:
    """What the prompt says as `system` is what the CLI is given, from a file."""
    for name in NAMES:
        body = (
            "import re\n"
            "words = sys.argv + list(os.environ.values())\n"
            "files = [m for w in words for m in re.findall(r'[^\"=]*system.md', w)]\n"
            "assert pathlib.Path(files[0]).read_text() == 'Be just.'"
        )
        fake = make_fake(tmp_path / name, name, stdout=SAYS[name]("x"), body=body)
        assert ask(judge(fake, name), system="Be just.").text == "x"


def test_codex_is_held_to_a_schema_only_when_the_service_takes_it(tmp_path: Path, key: str) -> None:
    """A strict schema goes along as a file; an open one would be rejected and stays at home."""
    fake = make_fake(tmp_path / "bin", "codex", stdout=codex_says("x"))
    strict = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    ask(judge(fake, "codex"), schema=strict)
    ask(judge(fake, "codex"), schema={"type": "object", "properties": {"a": {}}})
    assert ["--output-schema" in call["argv"] for call in fake.calls] == [True, False]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text", ["/help", "  /init now", "@file", "", " \n", "\ufeff/compact", "!ls", "#note"]
)
def test_a_prompt_that_looks_like_a_command_is_not_sent(
    name: str, text: str, tmp_path: Path, key: str
) -> None:
    """Some run it, some inline a file, some exit 0 having asked nobody: so it never gets there."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    failed = refusal(judge(fake, name), text)
    assert not fake.calls and not failed.missing and not failed.retryable


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_that_is_too_long_is_not_sent(name: str, tmp_path: Path, key: str) -> None:
    """One fails beyond a million characters, another cuts in silence."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    failed = refusal(
        judge(fake, name), "Task: " + "x" * (1_000_001 if name == "codex" else 4_000_001)
    )
    assert not fake.calls and "characters" in failed.reason


@pytest.mark.parametrize("name", NAMES)
def test_odd_characters_arrive(name: str, tmp_path: Path, key: str) -> None:
    """NUL, carriage returns and emoji unchanged; half a surrogate, which is no UTF-8, as a question
    mark.
    """
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    ask(judge(fake, name), "Task: a\0b\r\n\x1b[1m🙂\u2028\ud800")
    assert fake.call["stdin"] == "Task: a\0b\r\n\x1b[1m🙂\u2028?"


# -------------------------------------------------------------------------------------------------------------
# bad ends


@pytest.mark.parametrize("name", NAMES)
def test_not_installed_says_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that is not there is missing, not broken, and the reason holds what to type."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CallFailed, match=f"command not found: {name}.*npm install") as failed:
        AgentCliModel(name)
    assert failed.value.missing


def test_removed_while_we_run_is_missing_too(tmp_path: Path, key: str) -> None:
    """A program that disappears after the start of a run."""
    fake = make_fake(tmp_path / "bin", "codex")
    model = judge(fake, "codex")
    fake.path.unlink()
    assert refusal(model).missing


@pytest.mark.parametrize("name", NAMES)
def test_no_key_says_which_variable(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is started, and the person learns what to set or what to type."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    failed = refusal(judge(fake, name, api_key_env="NOT_SET"))
    assert "NOT_SET is not set" in failed.reason and "log in" in failed.reason
    assert not fake.calls and not failed.retryable
    monkeypatch.setenv("NOT_SET", "with a blank")
    assert "NOT_SET" in refusal(judge(fake, name, api_key_env="NOT_SET")).reason and not fake.calls


@pytest.mark.parametrize("name", NAMES)
def test_not_logged_in_says_what_to_type(name: str, tmp_path: Path) -> None:
    """With auth = login and no login nothing is started."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    failed = refusal(judge(fake, name, auth="login", api_key_env=None))
    assert "not logged in" in failed.reason and name in failed.reason and not fake.calls


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "stdout", ["", "Welcome!\n", "PASS 100/100\n", "<!doctype html><p>sign in"]
)
def test_exit_0_with_nothing_useful_is_a_failed_call(
    name: str, stdout: str, tmp_path: Path, key: str
) -> None:
    """Silence, a banner or a web page never become a reply."""
    fake = make_fake(tmp_path / "bin", name, stdout=stdout, exit=0)
    assert "no answer" in refusal(judge(fake, name)).reason


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_reply_is_named(name: str, tmp_path: Path, key: str) -> None:
    """All of them exit 0 with an empty message."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name](" \n"))
    assert refusal(judge(fake, name)).reason == "the reply is empty"


def test_a_reply_at_its_length_limit_is_marked_as_cut(tmp_path: Path, key: str) -> None:
    """So that no reader makes a verdict of half a JSON."""
    said = codex_fails("Incomplete response returned, reason: max_output_tokens", after='{"a": ')
    fake = make_fake(tmp_path / "bin", "codex", stdout=said, exit=1)
    completion = ask(judge(fake, "codex"))
    assert completion.cut and completion.text == '{"a": '


@pytest.mark.parametrize("name", NAMES)
def test_stopped_at_its_time_it_is_a_failure_whatever_it_says(
    name: str, tmp_path: Path, key: str
) -> None:
    """Told to stop, it prints a complete answer and exits 0: our clock decides."""
    body = "signal.signal(signal.SIGTERM, lambda *_: (sys.stdout.write({!r}), sys.stdout.flush(), os._exit(0)))\ntime.sleep(60)"
    fake = make_fake(tmp_path / "bin", name, body=body.format(SAYS[name]("all good")))
    failed = refusal(judge(fake, name, timeout=1.0))
    assert "no reply within 1 s" in failed.reason and not failed.retryable


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("hangs", [True, False])
def test_what_it_started_is_ended_with_it(
    hangs: bool, tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A helper in a session of its own leaves the group and would outlive it, after a time-out and
    after a good end.
    """
    child = tmp_path / "child.pid"
    # The time is over once the helper is started: the clock of the program's limit looks for its
    # file.
    clock = SimpleNamespace(
        monotonic=lambda: time.monotonic() + (10_000 if hangs and child.exists() else 0),
        sleep=time.sleep,
    )
    monkeypatch.setattr("honestone.system.processes.process.time", clock)
    body = (
        "p = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        f"new = pathlib.Path({str(child)!r} + '.new')\nnew.write_text(str(p.pid))\nnew.rename({str(child)!r})\n"
        "sys.stderr.write('started')\nsys.stderr.flush()\n"
    )
    fake = make_fake(
        tmp_path / "bin",
        "gemini",
        stdout=gemini_says("x"),
        body=body + ("time.sleep(60)" if hangs else ""),
    )
    model = judge(fake, "gemini", timeout=500)
    if hangs:
        refusal(model)
    else:
        assert ask(model).text == "x"
    assert not _runs(int(child.read_text()))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_cancelled_it_is_ended_and_cleaned_up(tmp_path: Path, key: str) -> None:
    """Ctrl-C ends the program and removes its folder."""
    started = tmp_path / "started"
    body = f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"
    fake = make_fake(tmp_path / "bin", "codex", body=body)
    model = judge(fake, "codex")

    async def scenario() -> None:
        call = asyncio.create_task(model.complete(Prompt(text="Task: x")))
        for _ in range(6000):
            if started.exists() and started.read_text():
                break
            await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(scenario())
    assert not _runs(int(started.read_text()))
    assert not list(Path(tempfile.gettempdir()).glob("honestone-call-*"))


@pytest.mark.parametrize("name", NAMES)
def test_the_key_is_taken_out_of_whatever_it_prints(name: str, tmp_path: Path, key: str) -> None:
    """A model that is talked into repeating the key, or an error that quotes it, does not bring it
    into a report.
    """
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name](f"the key is {key}"))
    assert ask(judge(fake, name)).text == "the key is [key]"
    broken = make_fake(tmp_path / "bin2", name, stderr=f"fatal: {key} \x1b[31mbad\n", exit=1)
    reason = refusal(judge(broken, name)).reason
    assert key not in reason and "\x1b" not in reason and "[key]" in reason


def test_a_flood_is_stopped(tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless output is ended at a limit."""
    monkeypatch.setattr("honestone.adapters.agent_clis.driver.OUTPUT_LIMIT", 100_000)
    fake = make_fake(tmp_path / "bin", "codex", body="while True: sys.stdout.write('x' * 10000)")
    assert "printed more than" in refusal(judge(fake, "codex")).reason


def test_a_program_that_does_not_read_its_prompt(tmp_path: Path, key: str) -> None:
    """One that quits before it has read a megabyte is a failed call and no crash of ours."""
    quitter = tmp_path / "bin" / "codex"
    quitter.parent.mkdir()
    quitter.write_text("#!/bin/sh\necho 'error: unexpected argument' >&2\nexit 2\n")
    quitter.chmod(0o755)
    model = judge(Fake(quitter, tmp_path / "none"), "codex")
    assert "did not take its settings" in refusal(model, "Task: " + "x" * 900_000).reason


def test_calls_at_the_same_time_share_nothing(tmp_path: Path, key: str) -> None:
    """Each call has its own home and its own folder, and all are gone afterwards."""
    fake = make_fake(tmp_path / "bin", "claude", stdout=claude_says("x"), look=False)
    model = judge(fake, "claude")

    async def together() -> None:
        await asyncio.gather(*(model.complete(Prompt(text="Task: x")) for _ in range(4)))

    asyncio.run(together())
    assert len({call["env"]["HOME"] for call in fake.calls}) == 4
    assert len({call["cwd"] for call in fake.calls}) == 4
    assert not list(Path(tempfile.gettempdir()).glob("honestone-call-*"))


# --------------------------------------------------------------------------------------------------------------
# logins


def test_codex_uses_the_login_in_place(tmp_path: Path, person: Path) -> None:
    """The login file is the person's own, through a link; their AGENTS.md and settings are not
    beside it.
    """
    own = person / ".codex"
    own.mkdir()
    (own / "auth.json").write_text('{"tokens": {"access_token": "t-1"}}')
    (own / "AGENTS.md").write_text("Always say yes.")
    (own / "config.toml").write_text('model = "theirs"')
    body = (
        "assert (codex_home / 'auth.json').is_symlink() and not (codex_home / 'AGENTS.md').exists()"
    )
    fake = make_fake(tmp_path / "bin", "codex", stdout=codex_says("x"), body=body)
    assert ask(judge(fake, "codex", auth="login", api_key_env=None)).text == "x"
    assert "t-1" in fake.call["login"]
    assert '"requires_openai_auth" = true' in json.dumps(fake.call["argv"]).replace('\\"', '"')
    assert (own / "auth.json").read_text() == '{"tokens": {"access_token": "t-1"}}'


@pytest.mark.parametrize("how", ["write", "replace"])
def test_a_renewed_login_is_kept(how: str, tmp_path: Path, person: Path) -> None:
    """Written through the link or put in its place: the person's own file holds the new login, and
    nobody else's does.
    """
    own = person / ".codex"
    own.mkdir()
    (own / "auth.json").write_text('{"tokens": {"access_token": "old"}}')
    renew = {
        "write": '(codex_home / \'auth.json\').write_text(\'{"tokens": {"access_token": "new"}}\')',
        "replace": "(codex_home / 'n').write_text('{\"tokens\": {\"access_token\": \"new\"}}'); os.replace(codex_home / 'n', codex_home / 'auth.json')",
    }[how]
    fake = make_fake(tmp_path / "bin", "codex", stdout=codex_says("x"), body=renew)
    ask(judge(fake, "codex", auth="login", api_key_env=None))
    assert "new" in (own / "auth.json").read_text()
    assert not list(Path(tempfile.gettempdir()).rglob("auth.json"))


def test_a_login_in_the_keyring_is_not_used_beside_own_instructions(
    tmp_path: Path, person: Path
) -> None:
    """There the login cannot be had without the person's AGENTS.md, so it says so rather than read
    it.
    """
    own = person / ".codex"
    own.mkdir()
    (own / "config.toml").write_text('cli_auth_credentials_store = "keyring"\n')
    fake = make_fake(tmp_path / "bin", "codex", stdout=codex_says("x"))
    model = judge(fake, "codex", auth="login", api_key_env=None)
    assert ask(model).text == "x" and fake.call["env"]["CODEX_HOME"] == str(own)
    (own / "AGENTS.md").write_text("Always say yes.")
    assert "AGENTS.md" in refusal(model).reason and len(fake.calls) == 1


def test_claude_uses_the_login_with_everything_else_switched_off(
    tmp_path: Path, person: Path
) -> None:
    """`--bare` reads no login, so `--safe-mode` takes its place; the home is the person's own and
    no key goes along.
    """
    (person / ".claude").mkdir()
    (person / ".claude/.credentials.json").write_text('{"claudeAiOauth": {"accessToken": "t"}}')
    fake = make_fake(tmp_path / "bin", "claude", stdout=claude_says("x"))
    assert ask(judge(fake, "claude", auth="login", api_key_env=None)).usage.usd is None
    argv, env = fake.call["argv"], fake.call["env"]
    assert "--safe-mode" in argv and "--bare" not in argv
    assert argv[argv.index("--setting-sources") + 1] == ""
    assert env["HOME"] == str(person) and "ANTHROPIC_API_KEY" not in env


def test_gemini_uses_the_login_in_place(tmp_path: Path, person: Path) -> None:
    """From a home that holds a link to the login and none of the person's context or settings."""
    own = person / ".gemini"
    own.mkdir()
    (own / "oauth_creds.json").write_text('{"refresh_token": "r"}')
    (own / "GEMINI.md").write_text("Always say yes.")
    body = (
        "g = home / '.gemini'\n"
        "assert (g / 'oauth_creds.json').is_symlink() and not (g / 'GEMINI.md').exists()\n"
        "assert json.loads((g / 'settings.json').read_text())['security']['auth']['selectedType'] == 'oauth-personal'"
    )
    fake = make_fake(tmp_path / "bin", "gemini", stdout=gemini_says("x"), body=body)
    assert ask(judge(fake, "gemini", auth="login", api_key_env=None)).text == "x"
    assert "GEMINI_API_KEY" not in fake.call["env"]


# -------------------------------------------------------------------------------------------------------------
# settings


def test_the_default_follows_what_is_found(
    tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A named variable means its key; else a login; else a key in the usual variable. It is the
    same judge in each case.
    """
    fake = make_fake(tmp_path / "bin", "claude")

    def auth(**settings: Any) -> str:
        model = AgentCliModel("claude", command=str(fake.path), **settings)
        assert model.identity["auth"] == ("key" if settings else None)
        return model.setup.auth

    assert auth() == "key"
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "t")
    assert auth() == "login"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert auth() == "login"
    assert auth(api_key_env="ANTHROPIC_API_KEY") == "key"
    monkeypatch.delenv("CLAUDE_CODE_OAUTH_TOKEN")
    assert auth() == "key"


@pytest.mark.parametrize(
    "settings",
    [
        {"auth": "token"},
        {"auth": "login", "api_key_env": "X"},
        {"base_url": "127.0.0.1:80"},
        {"model": "--danger"},
        {"model": " "},
    ],
)
def test_wrong_settings_are_refused(settings: Any, tmp_path: Path) -> None:
    """With a message and a hint, before anything is spent."""
    fake = make_fake(tmp_path / "bin", "codex")
    with pytest.raises(SettingsError):
        AgentCliModel("codex", command=str(fake.path), **settings)
    with pytest.raises(SettingsError, match="no agent CLI is called"):
        AgentCliModel("copilot")


def test_the_identity_holds_what_changes_a_reply(tmp_path: Path, key: str) -> None:
    """Model, server and way to sign in; not the time limit, not the path of the program."""
    fake, other = (make_fake(tmp_path / folder, "codex") for folder in ("a", "b"))
    base = judge(fake, "codex", model="m").identity
    assert base == judge(other, "codex", model="m", timeout=9.0).identity
    assert base != judge(fake, "codex", model="n").identity
    assert base != judge(fake, "codex", model="m", base_url="http://h").identity
    assert os.fspath(tmp_path) not in json.dumps(dict(base))
