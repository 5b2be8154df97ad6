"""Settings of a checkout get no standard key and run nothing that a person did not name or trust."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .corpus import Attack, Desk, Ended

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
KEY = "sk-test-ZQ7ZQ7ZQ7ZQ7"
EVAL = ("eval", "a.md", "--rubric", "r.yaml", "--json")
PROGRAM = "#!/bin/sh\ntouch {desk}/ran\necho 1.0\n"
TEAM = '[judges.team]\nprovider = "claude"\ncommand = "./evil"\n'
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "TEAM_KEY")


def table(name: str = "mine", what: str = "judges", **more: str) -> str:
    known = {"provider": "compatible", "base_url": "http://127.0.0.1:9/v1", "model": "m", **more}
    return f'[{what}."{name}"]\n' + "".join(
        f'{key} = "{value}"\n' for key, value in known.items() if value
    )


def lay_out(desk: Desk, settings: str, place: str = "honestone.toml") -> None:
    desk.extra.update(dict.fromkeys(KEYS, KEY))
    desk.put("a.md", "text\n")
    desk.put("r.yaml", ONE)
    desk.put(place, settings)
    desk.put("evil", PROGRAM.format(desk=desk.folder)).chmod(0o755)


def nothing_ran(desk: Desk, ended: Ended) -> bool:
    return not desk.has("ran") and KEY not in ended.out + ended.err


def refused(
    name: str,
    settings: str,
    *more: str,
    says: str = "nothing was sent",
    place: str = "honestone.toml",
    setup: Callable[[Desk], object] = lambda desk: None,
    command: tuple[str, ...] = EVAL,
) -> Attack:
    """Exit 2 before anything is sent or run."""

    def build(desk: Desk) -> Iterable[str]:
        lay_out(desk, settings, place)
        setup(desk)
        return more

    return Attack(
        name=name, hole=7, build=build, command=command, exit=2, says=(says,), after=nothing_ran
    )


def taken(name: str, what: str = "judges", place: str = "honestone.toml") -> Attack:
    """A table with the name of something built in."""
    settings = table(name, what, api_key_env="OPENAI_API_KEY")
    if place == "pyproject.toml":
        settings = settings.replace(f"[{what}.", f"[tool.honestone.{what}.")
    return refused(
        f"{what} called {name} in {place}",
        settings,
        "--judge",
        name,
        says="built-in name",
        place=place,
    )


def asking(name: str, *more: str, says: str = "nothing was sent", **entry: str) -> Attack:
    """A judge named on the command line that asks for a standard key."""
    return refused(
        name,
        table(**{"api_key_env": "OPENAI_API_KEY", **entry}),
        "--judge",
        "mine",
        *more,
        says=says,
    )


def used(
    name: str,
    settings: str,
    *more: str,
    env: dict[str, str] | None = None,
    own: str = "",
    ran: bool = False,
) -> Attack:
    """An honest use: it gets as far as the host (where nothing answers) or the program; exit 3, and
    not 2.
    """

    def build(desk: Desk) -> Iterable[str]:
        lay_out(desk, settings)
        desk.extra.update(env or {})
        if own:
            (desk.root / "home/.config/honestone").mkdir(parents=True)
            (desk.root / "home/.config/honestone/honestone.toml").write_text(own)
        if "trusted" in name:
            assert desk.run("trust").code == 0
        return ("--max-minutes", "0.02", *more)

    def after(desk: Desk, ended: Ended) -> bool:
        return desk.has("ran") == ran and KEY not in ended.out + ended.err

    return Attack(name=name, hole=7, build=build, command=EVAL, exit=3, after=after)


def found(
    name: str,
    command: tuple[str, ...],
    settings: str,
    exit: int,
    ran: bool,
    *steps: Callable[[Desk], object],
) -> Attack:
    """What is not named on the command line: `steps` come before the command."""

    def build(desk: Desk) -> None:
        lay_out(desk, settings)
        for name in KEYS:
            desk.extra.pop(name)
        for step in steps:
            step(desk)

    def after(desk: Desk, ended: Ended) -> bool:
        return desk.has("ran") == ran and ("honestone trust" in ended.out + ended.err) != ran

    return Attack(name=name, hole=7, build=build, command=command, exit=exit, after=after)


def trust(desk: Desk) -> None:
    assert desk.run("trust").code == 0


def revoke(desk: Desk) -> None:
    assert desk.run("trust", "--revoke").code == 0


def change_settings(desk: Desk) -> None:
    desk.put("honestone.toml", desk.read("honestone.toml") + "# changed\n")


def change_program(desk: Desk) -> None:
    desk.put("evil", desk.read("evil") + "# changed\n")


def forge_trust(desk: Desk) -> None:
    """A checkout that brings a record of trust with it."""
    trust(desk)
    record = next((desk.root / "home/.local/state/honestone").iterdir())
    desk.put(f".local/state/honestone/{record.name}", record.read_text())
    revoke(desk)


LOOK, FIND = ("doctor",), ("eval", "a.md", "--rubric", "r.yaml")
HOST = table(api_key_env="TEAM_KEY")
ATTACKS = (
    *(
        taken(name)
        for name in (
            "codex",
            "claude",
            "gemini",
            "human",
            "mock",
            "openai:gpt-x",
            "anthropic:c",
            "google:g",
            "ollama:x",
            "vllm:m",
            "script:x",
            "cmd:true",
            "record:x",
        )
    ),
    taken("codex", "workers"),
    taken("openai:gpt-x", "workers"),
    taken("identity", "targets"),
    taken("openai:gpt-x", "judges", "pyproject.toml"),
    asking("the OpenAI key for another host", says="--allow-host"),
    asking("the Anthropic key for another host", api_key_env="ANTHROPIC_API_KEY"),
    asking("the Gemini key for another host", api_key_env="GEMINI_API_KEY"),
    asking("the Google key for another host", api_key_env="GOOGLE_API_KEY"),
    asking("another variable of OpenAI", api_key_env="OPENAI_ADMIN_KEY"),
    asking("a host that begins like its own", base_url="https://api.openai.com.evil.test/v1"),
    asking("a host that ends like its own", base_url="https://evil-api.openai.com/v1"),
    asking(
        "its own host without encryption", base_url="http://api.openai.com/v1", provider="openai"
    ),
    asking(
        "its own host on another port", base_url="https://api.openai.com:8443/v1", provider="openai"
    ),
    asking("its own host as a login", base_url="https://api.openai.com@127.0.0.1:9/v1"),
    asking(
        "its own host with a dot at the end",
        base_url="https://api.openai.com./v1",
        provider="openai",
    ),
    asking("the key of another provider", provider="anthropic", base_url=""),
    asking("another host is allowed", "--allow-host", "127.0.0.2"),
    asking("another port is allowed", "--allow-host", "127.0.0.1:10"),
    refused(
        "a CLI is sent elsewhere with the login",
        '[judges.mine]\nprovider = "claude"\nauth = "login"\nbase_url = "http://127.0.0.1:9"\n',
        "--judge",
        "mine",
    ),
    refused(
        "a CLI is sent elsewhere with a key",
        '[judges.mine]\nprovider = "codex"\nauth = "key"\nbase_url = "http://127.0.0.1:9"\n',
        "--judge",
        "mine",
    ),
    refused(
        "a program is given a standard key",
        TEAM + 'auth = "key"\napi_key_env = "ANTHROPIC_API_KEY"\n',
        "--judge",
        "team",
        says="honestone trust",
    ),
    refused(
        "a program is given the usual key",
        TEAM + 'auth = "key"\n',
        "--judge",
        "team",
        says="honestone trust",
    ),
    refused(
        "a command is given a standard key",
        '[judges.team]\nprovider = "cli"\ncommand = ["./evil"]\napi_key_env = "OPENAI_API_KEY"\n',
        "--judge",
        "team",
        says="honestone trust",
    ),
    refused(
        "a worker asks for a standard key",
        table("hand", "workers", api_key_env="OPENAI_API_KEY"),
        command=(
            "improve",
            "a.md",
            "--rubric",
            "r.yaml",
            "--judge",
            "script:false",
            "--worker",
            "hand",
        ),
    ),
    refused(
        "a held-out judge asks for a standard key",
        table(api_key_env="OPENAI_API_KEY"),
        command=(
            "improve",
            "a.md",
            "--rubric",
            "r.yaml",
            "--judge",
            "script:false",
            "--worker",
            "cmd:true",
            "--holdout",
            "mine",
        ),
    ),
    refused(
        "a target asks for a standard key",
        table("app", "targets", provider="http", api_key_env="OPENAI_API_KEY"),
        command=(*EVAL, "--judge", "script:false", "--target", "app"),
    ),
    found("doctor runs no program of the settings", LOOK, TEAM, 0, False),
    found("doctor contacts no host of the settings", LOOK, HOST, 0, False),
    found(
        "doctor runs no worker of the settings", LOOK, TEAM.replace("judges", "workers"), 0, False
    ),
    found("finding a panel runs no program of the settings", FIND, TEAM, 3, False),
    found("finding a panel contacts no host of the settings", FIND, HOST, 3, False),
    found("trust ends when the settings change", LOOK, TEAM, 0, False, trust, change_settings),
    found("trust ends when a program changes", LOOK, TEAM, 0, False, trust, change_program),
    found("trust can be taken back", LOOK, TEAM, 0, False, trust, revoke),
    found("trust is not in the checkout", LOOK, TEAM, 0, False, forge_trust),
    found("honest trust", LOOK, TEAM, 0, True, trust),
    Attack(
        name="nothing there to trust",
        hole=7,
        build=lambda desk: None,
        command=("trust",),
        exit=2,
        says=("honestone.toml",),
    ),
    used("honest key of its own", HOST, "--judge", "mine"),
    used(
        "honest host by option",
        table(api_key_env="OPENAI_API_KEY"),
        "--judge",
        "mine",
        "--allow-host",
        "127.0.0.1:9",
    ),
    used(
        "honest host by option on every port",
        table(api_key_env="OPENAI_API_KEY"),
        "--judge",
        "mine",
        "--allow-host",
        "127.0.0.1",
    ),
    used(
        "honest host by variable",
        table(api_key_env="OPENAI_API_KEY"),
        "--judge",
        "mine",
        env={"HONESTONE_ALLOW_HOSTS": "other.test, 127.0.0.1:9"},
    ),
    used(
        "honest host of the person's settings",
        table(api_key_env="OPENAI_API_KEY"),
        "--judge",
        "mine",
        own='allow_hosts = ["127.0.0.1:9"]\n',
    ),
    used(
        "honest judge of the person's settings",
        table(api_key_env="OPENAI_API_KEY"),
        "--judge",
        "mine",
        own=table(),
    ),
    used("honest host that is trusted", table(api_key_env="OPENAI_API_KEY"), "--judge", "mine"),
    used(
        "honest program with a key of its own",
        TEAM + 'auth = "key"\napi_key_env = "TEAM_KEY"\n',
        "--judge",
        "team",
        ran=True,
    ),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)
