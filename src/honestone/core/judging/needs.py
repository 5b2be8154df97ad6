"""What judges, models and targets want of the machine that asks them: variables, programs and
logins, by name.

Pure: what a machine has is said by a `Machine`. No value of a variable is held here, so needs can
be put on record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from honestone.core.json_value import Json, expected, texts


class Machine(Protocol):
    """What can be asked of a machine without a call."""

    def key_problem(self, variable: str) -> str | None:
        """Why the variable holds no key that can be sent; None where it does, "" where it is not
        set.
        """
        ...

    def is_set(self, variable: str) -> bool: ...

    def has_program(self, name: str) -> bool:
        """Whether a program is there: at its path where the name has a slash, else on the PATH that
        programs get.
        """
        ...

    def sign_in_for(self, cli: str) -> str | None:
        """What to type to log in with an agent CLI; None where this person is logged in."""
        ...


class Missing(NamedTuple):
    """What a machine does not have, in words, and what a person can do about it."""

    what: str
    remedy: str


class KeyNeed(Struct, frozen=True, kw_only=True):
    """A way in, of which one is enough: the first of these variables that is set, or the login of
    an agent CLI.
    """

    variables: tuple[str, ...] = ()
    login: str | None = None

    def missing(self, machine: Machine) -> Missing | None:
        for name in self.variables:
            problem = machine.key_problem(name)
            if problem is None:
                return None
            if problem:
                return Missing(problem, f"export {name}=... again")
        sign_in = None if self.login is None else machine.sign_in_for(self.login)
        if self.login is not None and sign_in is None:
            return None
        named = [f"{' or '.join(self.variables)} is not set"] if self.variables else []
        login = [] if self.login is None else [f"{self.login} is not logged in"]
        ways = [f"export {self.variables[0]}=..."] if self.variables else []
        ways += [] if sign_in is None else [f"log in with `{sign_in}`"]
        return Missing(", and ".join([*named, *login]), " or ".join(ways)) if ways else None


class MachineNeeds(Struct, frozen=True, kw_only=True):
    """What one judge, model or target must find. `variables` are those that its programs are given
    by name; `programs` are names on the PATH or paths.
    """

    keys: tuple[KeyNeed, ...] = ()
    variables: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    def __or__(self, other: MachineNeeds) -> MachineNeeds:
        return MachineNeeds(
            keys=tuple(dict.fromkeys((*self.keys, *other.keys))),
            variables=tuple(dict.fromkeys((*self.variables, *other.variables))),
            programs=tuple(dict.fromkeys((*self.programs, *other.programs))),
        )

    def missing(self, machine: Machine) -> list[Missing]:
        """What is not there, programs first: without them a key does not help."""
        return list(self._missing(machine))

    def _missing(self, machine: Machine) -> Iterator[Missing]:
        for name in self.programs:
            if not machine.has_program(name):
                yield Missing(f"the program {name} is not installed", f"install {name}")
        yield from filter(None, (key.missing(machine) for key in self.keys))
        for name in self.variables:
            if not machine.is_set(name):
                yield Missing(f"{name} is not set", f"export {name}=...")

    def to_plain(self) -> Mapping[str, Json]:
        return {
            "keys": [[list(key.variables), key.login] for key in self.keys],
            "variables": list(self.variables),
            "programs": list(self.programs),
        }

    @classmethod
    def from_plain(cls, plain: object) -> MachineNeeds:
        """Raises ValueError for what `to_plain` never gave."""
        needs = expected(dict, plain, "a table of needs")
        return cls(
            keys=tuple(map(_key, expected(list, needs.get("keys"), "a list"))),
            variables=texts(needs.get("variables")),
            programs=texts(needs.get("programs")),
        )


NO_NEEDS: Final = MachineNeeds()


def _key(plain: object) -> KeyNeed:
    variables, login = expected(list, plain, "a list")
    return KeyNeed(
        variables=texts(variables), login=None if login is None else expected(str, login, "a name")
    )
