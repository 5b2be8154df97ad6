"""What the variables of a shell's loops and its positional ones may be, and what the commands of a
pipeline print.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final, TypeAlias

from honestone.core.checking.commands.command_texts import (
    BLOCK_ENDS,
    after_keywords,
    printed_operands,
)
from honestone.core.json_value import late_pattern

_PIPED: Final = late_pattern(r"(?:^|[^|])\|&?[({]*$")
_LONGEST_PATH: Final = 4_096
_MOST_MEANT: Final = 500
_MOST_CHOICES: Final = 20

# What stands in front of a command, and its words.
Command: TypeAlias = tuple[str, list[str]]


def pipelines(commands: Sequence[Command]) -> Iterator[list[list[str]]]:
    """For each command, those of its pipeline up to it: the output of each may come to it. What a
    whole block prints may be what any command before it prints.
    """
    begin = 0
    for at, (before, _) in enumerate(commands):
        if not _PIPED.search(before):
            begin = at
        elif re.search("[)}]", before) or commands[at - 1][1][0] in BLOCK_ENDS:
            begin = 0
        yield [one for _, one in commands[begin : at + 1]]


class ShellValues:
    """The values at one place of a shell's text.

    `loops`: what each variable of a loop, and each positional one, may be, by its name. `feeding`: the commands whose output
    the one that is read now is given. `left`: how many commands and values may still be read.
    """

    def __init__(self, feeding: Sequence[Sequence[str]], left: int) -> None:
        self.loops: ChainMap[str, Sequence[str]] = ChainMap({})
        self.feeding = feeding
        self.left = left

    def note_loop(self, words: Sequence[str], fed: Sequence[str]) -> None:
        """What `for NAME in A B` gives to NAME, `set -- A B` to 1, 2, @ and *, and what `read NAME`
        may. `fed`: what is behind the `done` of loops.
        """
        words = after_keywords(words)
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            values = (one for word in words[3:] for one in self.meant(word) or [word.strip("`")])
            self.loops[words[1]] = [one for one in values if len(one) <= _LONGEST_PATH]
        elif words[:2] == ["set", "--"]:
            given = [one for word in words[2:] for one in self.meant(word) or [word]]
            numbered = {str(number): [one] for number, one in enumerate(given, 1)}
            self.loops.update({"@": given, "*": given, **numbered})
        elif "read" in words[:2]:  # `IFS= read`
            values = (one for before in self.feeding for one in self.printed_by(before))
            given = [*fed, *values]
            self.loops.update(dict.fromkeys(words[words.index("read") + 1 :], given))

    def meant(self, word: str) -> list[str]:
        """What a word may be with the variables of loops put in; nothing where it has none."""
        if word == "$":
            return list(self.loops.get("$", ()))
        found = [word]
        for name in dict.fromkeys(re.findall(r"\$\{?(\w+|[@*])", word)):
            values = self.loops.get(name, ())
            if not values:
                continue
            longest = len(word) + word.count("$") * max(map(len, values))
            if longest > _LONGEST_PATH or len(found) * len(values) > max(_MOST_MEANT, len(values)):
                return []
            ends = r"\b" if name.isalnum() or "_" in name else ""
            name = re.escape(name)
            sign = re.compile(rf"\${name}{ends}|\$\{{{name}{ends}[^}}]*\}}")
            found = [value.join(sign.split(one)) for one in found for value in values]
        self.left -= len(found)
        return found if found != [word] else []

    def meant_words(self, words: Sequence[str]) -> list[list[str]]:
        """The same command with the values of its variables, once for each choice of them, so that
        a script that is named by a variable is read as well. Of too many choices none: their files
        are found one by one.
        """
        choices = [self.meant(word) or [word] for word in words]
        count = prod(map(len, choices))
        if count > _MOST_CHOICES or all(
            one == [word] for one, word in zip(choices, words, strict=True)
        ):
            return []
        return [list(chosen) for chosen in product(*choices)]

    def printed_by(self, words: Sequence[str]) -> list[str]:
        """The files and patterns whose names or content a command prints."""
        operands = printed_operands(words) or ()
        return [one for word in operands for one in self.meant(word) or [word]]
