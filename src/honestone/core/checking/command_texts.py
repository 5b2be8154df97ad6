"""Commands in texts: imports of Python code, lines that a shell would run, recipes of a Makefile."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return (
        [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if node.module
        else []
    )


def commands_of(line: str) -> Iterator[list[str]]:
    """The commands of one line of shell, as words; of a line that cannot be split, what is between
    spaces.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&{}")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.split(r"[\s'\"]+", line)
    words: list[str] = []
    for token in [*_without_redirections(tokens), ";"]:
        if token and set(token) <= set("();|&{}"):
            if words:
                yield words
            words = []
        elif token:
            words.append(token)


def _without_redirections(tokens: Iterable[str]) -> Iterator[str]:
    """What is written to is neither run nor judged by."""
    is_target = False
    for token in tokens:
        if re.fullmatch(r"\d*>>?[|&]?", token):
            is_target = True
        elif is_target or re.match(r"\d*>", token) or token == "<":
            is_target = False
        else:
            yield token


def recipe_lines(text: str, targets: Sequence[str]) -> list[str]:
    """The recipe lines that make would run for these targets (the first where none is named), with
    plain variables put in.
    """
    variables = {
        "MAKE": "make",
        **dict(
            re.findall(r"^([A-Za-z_][\w.-]*)\s*(?:::|:|\?|\+)?=[ \t]*(.*)$", text, re.MULTILINE)
        ),
    }
    lines, needs = _rules_of(text.replace("\\\n", " "))
    pattern = [name for name in lines if "%" in name or "$" in name]
    waiting = list(targets) or [name for name in lines if not name.startswith(".")][:1]
    seen: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = None
            waiting += needs.get(name, ())
            waiting += [] if name in lines else pattern
    found = [line for name in seen for line in lines.get(name, ())]
    for _ in range(4):
        found = [
            re.sub(r"\$[({]([\w.-]+)[)}]", lambda match: variables.get(match[1], match[0]), line)
            for line in found
        ]
    return [line.replace("$$", "$") for line in found]


def _rules_of(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The rules of a Makefile: for each target its recipe lines and what it needs."""
    lines: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("\t"):
            for name in current:
                lines[name].append(line.strip().lstrip("@-+"))
        elif rule := re.match(r"([^\s#=:][^#=:]*?)\s*::?(?!=)\s*([^;=]*)(?:;(.*))?$", line):
            current = rule[1].split()
            for name in current:
                lines.setdefault(name, []).extend([rule[3].strip()] if rule[3] else [])
                needs.setdefault(name, []).extend(rule[2].split())
    return lines, needs


def scripts_in(data: bytes | None) -> Mapping[str, str]:
    try:
        scripts = json.loads(data or b"{}").get("scripts", {})
        return {name: value for name, value in scripts.items() if isinstance(value, str)}
    except (ValueError, AttributeError, RecursionError):
        return {}
