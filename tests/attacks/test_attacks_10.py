"""Files are read from their project."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .corpus import Attack, Desk, Ended

SECRET = "TOP-SECRET-ZQ7"
READ = ("TOP",)


def tell_nothing(desk: Desk, ended: Ended) -> bool:
    return "SECRET" not in ended.out + ended.err


def native(case: str, head: str = "") -> str:
    return f"suite: 1\ntarget: cmd:cat\n{head}cases: [{{id: a, {case}, checks: [{{contains: [TOP]}}]}}]\n"


def agentv(block: str) -> str:
    return f"name: x\nexecution: {{target: t}}\ntests:\n  - id: a\n    criteria: Says it\n    input: [{{role: user, content: [{block}]}}]\n    assertions: [{{type: contains, value: TOP}}]\n"


def promptfoo(value: str) -> str:
    return f"prompts: ['{{{{text}}}}']\nproviders: [echo]\ntests:\n  - vars: {{text: '{value}'}}\n    assert: [{{type: contains, value: TOP}}]\n"


def lay_out(text: str, marker: str = "") -> Callable[[Desk], None]:
    """A secret, a suite in `s/` with files and links of its own, and what makes the project larger
    (`marker`).
    """

    def build(desk: Desk) -> None:
        desk.put("secret.txt", f"{SECRET}\n")
        desk.put("out/deep.txt", f"{SECRET}\n")
        desk.put("s/in/ok.txt", "TOP-fine\n")
        desk.put("s/.env", f"{SECRET}\n")
        desk.put("s/.keys/k.txt", f"{SECRET}\n")
        desk.put(
            "s/parts/r.yaml",
            "rubric: 1\ncriteria: [{id: c, requirement: TOP, check: {contains: [TOP]}}]\n",
        )
        desk.put(
            "r.yaml",
            "rubric: 1\ncriteria: [{id: c, requirement: TOP-SECRET-ZQ7, check: {contains: [TOP]}}]\n",
        )
        for link, to in {
            "lnk.txt": "../secret.txt",
            "near.txt": "in/ok.txt",
            "lnk": "../out",
            "chain.txt": "lnk.txt",
        }.items():
            os.symlink(to, desk.folder / "s" / link)
        os.symlink("../s/in/ok.txt", desk.folder / "s/roundabout.txt")
        if marker:
            desk.put(marker, "")
        desk.put("s/s.yaml", text.replace("DESK", str(desk.folder)))

    return build


def kept(
    name: str, text: str, *words: str, says: str = "--allow-outside", marker: str = ""
) -> Attack:
    """What leads out is refused and nothing of it is shown."""
    command = words or ("eval", "s/s.yaml")
    return Attack(
        name=name,
        hole=10,
        build=lay_out(text, marker),
        command=command,
        exit=2,
        says=(says,),
        after=tell_nothing,
    )


def skipped(name: str, value: str) -> Attack:
    """A case of promptfoo whose variable leads out is skipped by whoever accepts the loss, and
    nothing of the file is shown.
    """
    return Attack(
        name=name,
        hole=10,
        build=lay_out(promptfoo(value)),
        command=("suite", "convert", "s/s.yaml", "--accept-loss"),
        exit=0,
        says=(
            "skip: its variable `text` cannot be read",
            f"`{value.removeprefix('file://')}` leads out",
        ),
        after=tell_nothing,
    )


def read(name: str, text: str, *more: str, marker: str = "") -> Attack:
    command = ("eval", "s/s.yaml", "--json", *more)
    return Attack(name=name, hole=10, build=lay_out(text, marker), command=command, exit=0)


def unseen(desk: Desk, ended: Ended) -> bool:
    return "SECRET" not in ended.out and "ok.txt" in ended.out


LISTS = "import pathlib\nfor p in sorted(pathlib.Path('.').rglob('*')): print(p, p.read_text() if p.is_file() else '')\nprint('TOP')\n"
COPY_OF_ALL = native("input: TOP, workspace: {copy: .}").replace(
    "cmd:cat", "cmd:python DESK/list.py"
)


def copied(desk: Desk) -> None:
    lay_out(COPY_OF_ALL)(desk)
    for link in ("lnk.txt", "lnk", "chain.txt", "roundabout.txt"):
        (desk.folder / "s" / link).unlink()
    desk.put("list.py", LISTS)


FILE = "input: {{file: {}}}".format
ATTACKS = (
    kept("a file above", native(FILE("../secret.txt"))),
    kept("an absolute path", native(FILE("DESK/secret.txt"))),
    kept("a file of the machine", native(FILE("/etc/hostname"))),
    kept("dots in the middle", native(FILE("in/../../secret.txt"))),
    kept("a link out", native(FILE("lnk.txt")), says="lnk.txt"),
    kept("a link to a link out", native(FILE("chain.txt"))),
    kept("a file behind a linked folder", native(FILE("lnk/deep.txt"))),
    kept("a name with a dot", native(FILE(".env"))),
    kept("a folder with a dot", native(FILE(".keys/k.txt"))),
    kept("one of several files", native("input: {files: [in/ok.txt, ../secret.txt]}")),
    kept("a message", native("input: [{role: user, content: {file: ../secret.txt}}]")),
    kept("a reference", native("input: TOP, reference: {file: ../secret.txt}")),
    kept("a rubric of a case", native("input: TOP, rubric: {file: ../r.yaml}")),
    kept("the rubric of all cases", native("input: TOP", "rubric: {file: ../r.yaml}\n")),
    kept("the artifact", native("input: TOP", "artifact: ../secret.txt\n")),
    kept("a folder above as workspace", native("input: TOP, workspace: {copy: ..}")),
    kept("a linked folder as workspace", native("input: TOP, workspace: {copy: lnk}")),
    kept("a repository elsewhere as workspace", native("input: TOP, workspace: {git: ../out}")),
    kept(
        "a repository by address as workspace",
        native("input: TOP, workspace: {git: 'file://DESK/out'}"),
    ),
    kept("AgentV above", agentv("{type: file, value: ../secret.txt}"), says="secret.txt"),
    kept("AgentV link out", agentv("{type: file, value: lnk.txt}"), says="lnk.txt"),
    kept("AgentV absolute link", agentv("{type: file, value: chain.txt}"), says="chain.txt"),
    kept(
        "AgentV and accepted losses",
        agentv("{type: file, value: ../secret.txt}"),
        "suite",
        "convert",
        "s/s.yaml",
        "--accept-loss",
    ),
    kept("AgentV name with a dot", agentv("{type: file, value: .env}")),
    kept(
        "promptfoo above",
        promptfoo("file://../secret.txt"),
        "suite",
        "convert",
        "s/s.yaml",
        says="secret.txt",
    ),
    kept(
        "promptfoo link out",
        promptfoo("file://lnk.txt"),
        "suite",
        "convert",
        "s/s.yaml",
        says="lnk.txt",
    ),
    skipped("promptfoo above, its loss accepted", "file://../secret.txt"),
    skipped("promptfoo link out, its loss accepted", "file://lnk.txt"),
    kept("conversion shows nothing", native(FILE("../secret.txt")), "suite", "convert", "s/s.yaml"),
    kept(
        "a check of the suite shows nothing",
        native(FILE("../secret.txt")),
        "suite",
        "check",
        "s/s.yaml",
    ),
    kept("a lock reads nothing", native(FILE("lnk.txt")), "suite", "lock", "s/s.yaml"),
    kept(
        "another folder is allowed",
        native(FILE("../secret.txt")),
        "eval",
        "s/s.yaml",
        "--allow-outside",
        "out",
    ),
    kept(
        "its own folder is allowed",
        native(FILE("../secret.txt")),
        "eval",
        "s/s.yaml",
        "--allow-outside",
        "s",
    ),
    kept("above the settings", native(FILE("../secret.txt")), marker="s/honestone.toml"),
    kept(
        "an empty folder with git's name makes no project",
        native(FILE("../secret.txt")),
        marker=".git/config",
    ),
    kept("a dot in a larger project", native(FILE("../.git/HEAD")), marker=".git/HEAD"),
    Attack(
        name="a workspace that is the project leaves keys out",
        hole=10,
        build=copied,
        command=("eval", "s/s.yaml", "--json"),
        exit=0,
        after=unseen,
    ),
    read("honest file", native(FILE("in/ok.txt"))),
    read("honest link", native(FILE("near.txt"))),
    read("honest dots", native(FILE("in/../in/ok.txt"))),
    read("honest link that comes back", native(FILE("roundabout.txt"))),
    read("honest rubric next to it", native("input: TOP, rubric: {file: parts/r.yaml}")),
    read("honest folder as workspace", native("input: TOP, workspace: {copy: in}")),
    read("honest file of the git repository", native(FILE("../secret.txt")), marker=".git/HEAD"),
    read(
        "honest file of the project by settings",
        native(FILE("../secret.txt")),
        marker="honestone.toml",
    ),
    read("honest folder that is allowed", native(FILE("../secret.txt")), "--allow-outside", "."),
    read("honest link that is allowed", native(FILE("lnk/deep.txt")), "--allow-outside", "out"),
    read("honest dot that is allowed", native(FILE(".keys/k.txt")), "--allow-outside", "s/.keys"),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)
