"""What a machine lacks is said in words, with what a person can do, and without the value of any
variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from honestone.core.judging.needs import NO_NEEDS, KeyNeed, MachineNeeds


@dataclass
class Here:
    """A machine with these variables, programs and logins. A value of "?" cannot be sent."""

    variables: dict[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()

    def key_problem(self, variable: str) -> str | None:
        value = self.variables.get(variable)
        return "" if value is None else f"{variable} holds a character" if value == "?" else None

    def is_set(self, variable: str) -> bool:
        return variable in self.variables

    def has_program(self, name: str) -> bool:
        return name in self.programs

    def sign_in_for(self, cli: str) -> str | None:
        return None if cli in self.logins else f"{cli} login"


def said(needs: MachineNeeds, machine: Here) -> list[str]:
    return [f"{one.what}: {one.remedy}" for one in needs.missing(machine)]


def test_of_several_ways_in_one_is_enough() -> None:
    """The first variable that is set counts, also where what it holds is not a key; a login does
    where there is none.
    """
    needs = MachineNeeds(keys=(KeyNeed(variables=("A", "B"), login="codex"),))
    assert said(needs, Here({"B": "x"})) == said(needs, Here(logins=("codex",))) == []
    assert said(needs, Here()) == [
        "A or B is not set, and codex is not logged in: export A=... or log in with `codex login`"
    ]
    assert said(needs, Here({"A": "?", "B": "x"})) == ["A holds a character: export A=... again"]
    assert said(MachineNeeds(keys=(KeyNeed(),)), Here()) == []


def test_all_that_is_missing_is_named() -> None:
    """Programs, keys and variables of two are put together, each once."""
    one = MachineNeeds(programs=("codex",), keys=(KeyNeed(login="codex"),))
    both = one | MachineNeeds(programs=("codex", "node"), variables=("TOKEN",)) | NO_NEEDS
    assert said(both, Here(programs=("node",))) == [
        "the program codex is not installed: install codex",
        "codex is not logged in: log in with `codex login`",
        "TOKEN is not set: export TOKEN=...",
    ]
    assert said(both, Here({"TOKEN": "x"}, ("node", "codex"), ("codex",))) == []
