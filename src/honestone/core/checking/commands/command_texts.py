"""Commands in texts: imports of Python code, lines that a shell would run, recipes of a Makefile,
and what settings load.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, islice, pairwise, product, takewhile
from typing import Final

from honestone.core.json_value import late_pattern


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
    return (words for _, words in separated_commands(line))


def separated_commands(line: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a line, each behind the signs that are between it and the one before."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&{}")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.split(r"[\s'\"]+", line)
    words: list[str] = []
    before = signs = ""
    for token in [*_without_redirections(tokens), ";"]:
        if token and set(token) <= set("();|&{}"):
            if words:
                yield before, words
                signs = ""
            words, signs = [], signs + token
        elif token:
            before = before if words else signs
            words.append(token)


# Words of the grammar of a shell that are in front of a command, and those that end a block.
KEYWORDS: Final = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "not", "and", "or"}
)
BLOCK_ENDS: Final = frozenset({"done", "fi", "esac"})
_SILENT: Final = BLOCK_ENDS | {"for", "case", "test", "[", "read", "set", "cd", "xargs"}
_PRINTERS: Final = frozenset(
    "cat tac ls fd grep egrep fgrep rg sed awk gawk head tail sort uniq cut tr nl paste tee echo printf git"
    " envsubst".split()
)
_WITH_PATTERN: Final = frozenset({"grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk"})
_MOST_NAMES: Final = 10


def after_keywords(words: Sequence[str]) -> list[str]:
    return list(dropwhile(KEYWORDS.__contains__, words))


def printed_operands(words: Sequence[str]) -> list[str] | None:
    """The files, folders and patterns whose names or content a command prints; None of a program
    of which that is not known.
    """
    words = after_keywords(words)
    name = words[0].rpartition("/")[2] if words else "["
    if name == "find":
        return _found_by(words[1:])
    if name in _SILENT:
        return []
    if name not in _PRINTERS:
        return None
    operands = [word for word in words[1:] if not word.startswith("-")]
    has_pattern = name in _WITH_PATTERN and not any(re.match("-[ef]", word) for word in words)
    return operands[1:] if has_pattern else operands


def _found_by(words: Sequence[str]) -> list[str]:
    """Where `find` looks: folders, or patterns of the names that it asks for."""
    folders = list(takewhile(lambda word: not word.startswith(("-", "!")), words)) or ["."]
    names = [name for option, name in pairwise(words) if option in ("-name", "-iname", "-path")]
    if not names or len(names) > _MOST_NAMES:
        return folders
    return [posixpath.join(folder, "**", name) for folder in folders for name in names]


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
    plain variables put in; a line may be several.
    """
    rules = _rules_of(text.replace("\\\n", " "))
    pattern = [name for name in rules if "%" in name or "$" in name]
    waiting = list(targets) or [name for name in rules if not name.startswith(".")][:1]
    seen: set[str] = set()
    used: dict[int, _Rule] = {}
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in rules:
            waiting, pattern = waiting + pattern, []
        for rule in rules.get(name, ()):
            waiting += rule.needs if id(rule) not in used else ()
            used[id(rule)] = rule
    lines = _with_variables([line for rule in used.values() for line in rule.lines], text)
    # A variable may hold the marks in front of a line, and a canned recipe lines with such marks.
    return [re.sub(r"(?m)^[ \t@+-]+", "", line).replace("$$", "$") for line in lines]


def makefiles_included(text: str, place: str = "Makefile") -> list[tuple[str, str]]:
    """The words of the `include` lines of the Makefile at `place`, with variables and functions put
    in, each with what the line says. What only make can tell is a `*` or `**/` in a word; a word
    with nothing else in its last part is left as `$`.
    """
    joined = text.replace("\\\n", " ")
    values = {**_variables(joined), "MAKEFILE_LIST": [place]}
    ways = [
        {name: those[min(at, len(those) - 1)] for name, those in values.items()}
        for at in range(max(map(len, values.values())))
    ]
    steps = iter(range(_MOST_EXPANSIONS_IN_ALL))
    found: dict[tuple[str, str], None] = {}
    for line in _INCLUDE.findall(joined):
        for variables in ways if "$" in line else ways[:1]:
            for word in _expanded(line, variables, steps).rstrip(")} \t").split():
                found[_pattern(word) if _says_which(word) else "$", line.strip()] = None
    return list(found)


# Also one that make puts together itself: `$(eval include x.mk)`, and in a `define`.
_INCLUDE: Final = late_pattern(
    r"(?:^[ \t]*|\beval[ \t]+)(?:-include|sinclude|include)[ \t]+([^#\n]*)", re.MULTILINE
)
_SHELL_FUNCTION: Final = late_pattern(r"\$[({]shell[ \t]++((?:[^(){}]|\([^()]*\)|\{[^{}]*\})*)[)}]")


def commands_of_makefile(text: str) -> list[str]:
    """What make itself runs besides recipes: the lines of `$(shell ...)` and of `NAME != ...`, and
    its shell.
    """
    joined = text.replace("\\\n", " ")
    variables = _variables(joined)
    printed = [one for values in variables.values() for one in values if one.startswith("$(shell ")]
    calls = _SHELL_FUNCTION.findall("\n".join([joined, *printed]))
    lines = [*dict.fromkeys(calls), *variables.get("SHELL", ())]
    return [line.replace("$$", "$") for line in _with_variables(lines, joined) if line]


def asked_for_includes(text: str) -> list[str]:
    """Of these lines, those that say what is included."""
    joined = text.replace("\\\n", " ")
    lines = _with_variables(_INCLUDE.findall(joined), joined)
    return [one for line in lines for one in _SHELL_FUNCTION.findall(line)]


# What stands for a part of a word that only make can tell, until the word is whole.
_UNKNOWN: Final = "\0"
_MOST_EXPANSIONS: Final = 500
_MOST_EXPANSIONS_IN_ALL: Final = 20_000
_LONGEST_LINE: Final = 20_000


def _pattern(word: str) -> str:
    return re.sub(rf"(?:^|(?<=/)){_UNKNOWN}/", "**/", word).replace(_UNKNOWN, "*")


def _says_which(word: str) -> bool:
    """Whether the last part of a word holds more than what is unknown, so that it is a pattern."""
    is_plain = _UNKNOWN not in word and "$" not in word
    last = word.rpartition("/")[2].replace(_UNKNOWN, "")
    return is_plain or ("$" not in word and bool(re.search(r"\w", last)))


def _expanded(line: str, variables: Mapping[str, str], steps: Iterator[int]) -> str:
    """A line of a Makefile with its references put in, the innermost first."""
    for _ in islice(steps, _MOST_EXPANSIONS):
        match = re.search(r"\$(?:\(([^(){}$]*)\)|\{([^(){}$]*)\}|([A-Za-z]))", line)
        if match is None or len(line) > _LONGEST_LINE:
            return line
        inner = "".join(one or "" for one in match.groups())
        line = line[: match.start()] + _reference(inner, variables) + line[match.end() :]
    return line


def _reference(inner: str, variables: Mapping[str, str]) -> str:
    """What `$(inner)` may stand for: a variable, one with its endings changed, or a function."""
    if changed := re.fullmatch(r"[\w.-]+:([^=]*)=(.*)", inner.strip()):
        return _with_ending(changed[2], changed[1])
    name, is_call, rest = inner.strip().partition(" ")
    if not is_call:
        return variables.get(name, _UNKNOWN)
    given = [one.strip() for one in rest.split(",")]
    match name:
        case "sort" | "strip" | "wildcard" | "abspath" | "realpath" | "firstword" | "lastword":
            return rest.strip()
        case "dir":
            return " ".join(map(_folder_in_make, rest.split()))
        case "notdir":
            return " ".join(word.rpartition("/")[2] for word in rest.split())
        case "addprefix":
            return " ".join(given[0] + word for word in given[-1].split())
        case "addsuffix":
            return " ".join(word + given[0] for word in given[-1].split())
        case "patsubst" if len(given) == 3:
            return _with_ending(given[1], given[0])
        case "subst" if len(given) == 3 and given[0]:
            return given[2].replace(given[0], given[1])
        case "filter":
            return given[0].replace("%", _UNKNOWN)
        case "foreach" | "filter-out":
            return given[-1]
        case "if":
            return " ".join(given[1:])
        case "or":
            return " ".join(given)
        case "shell" if "|" not in rest:  # `find . -name '*.mk'`
            return " ".join(re.findall(r"[\w./-]*\*[\w.*/-]*", rest)) or _UNKNOWN
    return _UNKNOWN


def _folder_in_make(word: str) -> str:
    folder = word.rpartition("/")[0] or "."
    return f"{_UNKNOWN if _UNKNOWN in word else folder}/"


def _with_ending(new: str, old: str) -> str:
    """Words of which only the ending that they are given is known: any `*.d` of `$(OBJS:.o=.d)`."""
    return new.replace("%", _UNKNOWN) if "%" in old else _UNKNOWN + new


_SET: Final = late_pattern(
    r"^ *([^\s#=:][^#=:\n]*:[ \t]*)?(?:(?:export|override|private) +)*([A-Za-z_][\w.-]*)\s*(\+|:::?|:|\?|!)?="
    r"[ \t]*([^#\n]*)",
    re.MULTILINE,
)
_DEFINE: Final = late_pattern(r"\s*(?:(?:override|export|private)\s+)*define\s+([^\s=:?+]+)")
_MOST_VALUES: Final = 50


def _variables(text: str) -> dict[str, list[str]]:
    """Each value that a Makefile gives to a variable: which of them holds depends on the target
    and on conditions. Of a variable with too many the last one is a reference to itself.
    """
    found: dict[str, list[list[str]]] = {"MAKE": [["make"]], "CURDIR": [["."]]}
    for name, body in _defined(text):
        found.setdefault(name, []).append([body])
    for target, name, sign, value in _SET.findall(text):
        values = found.setdefault(name, [])
        if len(values) > _MOST_VALUES:
            continue
        if sign == "!":  # what a command prints
            values.append([f"$(shell {value.strip()})"])
        elif sign != "+" or not values:
            values.append([value.strip()])
        elif target:
            values += [[*parts, value.strip()] for parts in values]
        else:
            for parts in values:
                parts.append(value.strip())
    return {name: _each(name, values) for name, values in found.items()}


def _each(name: str, values: Sequence[Sequence[str]]) -> list[str]:
    known = list(dict.fromkeys(" ".join(parts) for parts in values[:_MOST_VALUES]))
    return [*known, f"$({name})"] if len(values) > _MOST_VALUES else known


def _defined(text: str) -> Iterator[tuple[str, str]]:
    """Each `define NAME` with the lines between it and `endef`."""
    name, lines = "", list[str]()
    for line in text.splitlines():
        if begun := _DEFINE.match(line):
            name, lines = begun[1], []
        elif line.split(None, 1)[:1] == ["endef"]:
            if name:
                yield name, "\n".join(lines)
            name = ""
        elif name:
            lines.append(line)


# How many characters are read and made where variables are put in, and how many lines of one; what
# is more stays as it is.
_MOST_PUT_IN: Final = 500_000
_MOST_LINES_OF_ONE: Final = 200
_REFERENCE: Final = late_pattern(
    r"\$[({](?:(?P<variable>[\w.-]++)|(?:wildcard|sort|strip|abspath|realpath)[ \t]++(?P<words>[^(){}$]*+)"
    r"|call[ \t]++(?P<called>[\w.-]++)(?P<given>(?:[^(){}]|\([^(){}]*+\)|\{[^(){}]*+\})*+))[)}]"
)
_ARGUMENT: Final = late_pattern(r"\$(?:\((\d)\)|\{(\d)\}|(\d))")


def _with_variables(lines: list[str], text: str) -> list[str]:
    putting = _PuttingIn(_variables(text))
    for _ in range(4):
        lines = list(dict.fromkeys(one for line in lines for one in putting.lines_of(line)))
    return lines


class _PuttingIn:
    """Puts the values of variables into lines, until it has read and made too many characters."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values, self._left = values, _MOST_PUT_IN

    def lines_of(self, line: str) -> Iterator[str]:
        """The line with its references put in, once for each way to choose their values; where
        there are too many ways, also as it is.
        """
        if "$" not in line or self._left < 0:
            yield line
            return
        found = dict.fromkeys(ref["variable"] or ref["called"] for ref in _REFERENCE.finditer(line))
        names = [name for name in found if name in self._values]
        ways = product(*(self._values[name] for name in names))
        for way in islice(ways, _MOST_LINES_OF_ONE):
            if self._left < 0:
                break
            yield self._filled(_REFERENCE, line, self._reader(dict(zip(names, way, strict=True))))
        if self._left < 0 or next(ways, None) is not None:
            yield line

    def _reader(self, chosen: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
        def value_of(ref: re.Match[str]) -> str:
            if ref["words"] is not None:
                return ref["words"]
            if ref["called"] is None:
                return chosen.get(ref["variable"], ref[0])
            given = ref["given"].split(",")
            if ref["called"] not in chosen:
                return " ".join(given)
            return self._filled(_ARGUMENT, chosen[ref["called"]], lambda one: _argument(one, given))

        return value_of

    def _filled(
        self, pattern: re.Pattern[str], text: str, value_of: Callable[[re.Match[str]], str]
    ) -> str:
        """The text with a value for each match; as it is where that would be too much."""
        self._left -= len(text)
        parts, at = list[str](), 0
        for match in pattern.finditer(text):
            value = value_of(match)
            self._left -= len(value)
            if self._left < 0:
                return text
            parts += (text[at : match.start()], value)
            at = match.end()
        return "".join((*parts, text[at:]))


def _argument(number: re.Match[str], given: Sequence[str]) -> str:
    at = int(number[number.lastindex or 0])
    return given[at] if at < len(given) else ""


@dataclass
class _Rule:
    """What the targets of one rule need, and its recipe."""

    needs: list[str]
    lines: list[str] = field(default_factory=list)


_RULE: Final = late_pattern(r"([^\s#=:][^#=:]*+)::?(?!=)([^;=]*+)(?:;(.*))?$")


def _rules_of(text: str) -> dict[str, list[_Rule]]:
    """The rules of a Makefile by target."""
    rules: dict[str, list[_Rule]] = {}
    current = _Rule([])
    prefix = "\t"
    for line in text.splitlines():
        if line.startswith(("\t", prefix)):
            current.lines.append(line[1:])
        elif changed := re.match(r"\.RECIPEPREFIX\s*+[:?]*+=[ \t]*+(\S?)", line):
            prefix = changed[1] or "\t"
        elif rule := _RULE.match(line):
            current = _Rule(rule[2].split(), [rule[3]] if rule[3] else [])
            for name in dict.fromkeys(rule[1].split()):
                rules.setdefault(name, []).append(current)
    return rules


def scripts_in(data: bytes | None) -> Mapping[str, str]:
    try:
        scripts = json.loads(data or b"{}").get("scripts", {})
        return {name: value for name, value in scripts.items() if isinstance(value, str)}
    except (ValueError, AttributeError, RecursionError):
        return {}


# Keys of settings whose values name files that are read as further settings or run as code.
_LOADING_KEY: Final = late_pattern(
    r"extends?|inherit[-_]from|base[-_]?config|includes|imports?|plugins?|load[-_]plugins|requires?"
    r"|presets?|setup_?\w*|\w*_?(?:setup|teardown)(?:_?files?)?|bootstrap|support_?file|resolver"
    r"|\w*_?environment|transforms?|\w*reporters?|runner|loaders?|dotenv(?:-\w+)?|env[-_]?files?"
    r"|rules?_?dir\w*|rulesets?|styles_?path|custom_?rules|rule_?paths?|formatters?|parsers?",
    re.IGNORECASE,
)
_KEY: Final = late_pattern(r"""(?m)(?:^|[\s{,;<])["']?([\w.-]{2,40})["']?[ \t]*(?::?=|:)""")
# `-p NAME` of pytest and `--require NAME` of others, as a text (`-pNAME` too) or as two of a list.
_NEXT: Final = r"""(?:[\s=]+["']?|["']\s*,\s*["'])"""
_LISTED_WORDS: Final = late_pattern(
    rf"""(?:^|[\s"'\[,(=])(?:--(?:require|import|loader|config|plugin){_NEXT}([\w./@-]+))""",
    re.MULTILINE,
)
_PLUGIN_OPTION: Final = late_pattern(
    rf"""(?:^|[\s"'\[,(=])-p(?:{_NEXT})?(?!no:)([A-Za-z_./][\w./-]*)""", re.MULTILINE
)
_OTHER_PROGRAMS: Final = late_pattern(r"""\b(?:mkdir|cp|install|ssh|scp|docker|tsc)\b[\s"',]+-p""")
# `pytest_plugins` of a conftest, a test or a plugin, and the variable of the environment.
_PLUGINS_NAMED: Final = late_pattern(
    r"""\bpytest_plugins\b["']?\s*(?::[^=\n]*)?[+:]?[=:]\s*(\[[^\]]*\]|\([^)]*\)|["'][^"'\n]*["']|[\w.,-]+)"""
    r"""|\bimport_plugin\(\s*["']([\w.]+)["']""",
    re.IGNORECASE,
)
_IMPORT_FOLDERS: Final = late_pattern(
    r"""(?:^|[\s"'])(?:pythonpath|python_paths)["']?\s*[=:][ \t]*(\[[^\]]*\]|.*(?:\n[ \t]+.*)*)"""
    r"""|\bPYTHONPATH["']?[ \t]*[=:][ \t]*["']?([\w./:${}-]+)""",
    re.MULTILINE,
)
# Words of commands, imports and includes in settings of any form.
_LOADING_WORDS: Final = late_pattern(
    r"""(?:^|\s)(?:-p|-r|-c|--require|--import|--loader|--config|--plugin)[ =]+["']?([\w./@-]+)"""
    r"""|(?:\bfrom|\bimport\??|\brequire|\binclude|^mod\??(?:[ ]\w+)?)(?:[ ]+|[ ]*\([ ]*)["']([^"'\n]+)["']""",
    re.MULTILINE,
)
_MOST_OF_A_SETTING: Final = 200_000


def words_loaded_by(settings: str) -> list[str]:
    """Words of a file of settings that may name further settings or code, by the customs of many
    programs: what is a file is for the caller to see. Lists of what is looked at (`include`,
    `files`, `paths`) are not among them.
    """
    text = settings[:_MOST_OF_A_SETTING]
    found = [word for pair in _LOADING_WORDS.findall(text) for word in pair if word]
    found += _LISTED_WORDS.findall(text)
    keys = list(_KEY.finditer(text))
    ends = [key.start() for key in keys[1:]] + ([len(text)] if keys else [])
    below: int | None = None  # the column of a loading key whose table this is
    for key, end in zip(keys, ends, strict=True):
        before = text[text.rfind("\n", 0, key.start(1)) + 1 : key.start(1)]
        is_first, column = not before.strip(" \t\"'"), len(before)
        if is_first and below is not None and column <= below:
            below = None
        loads = bool(_LOADING_KEY.fullmatch(key[1].rpartition(".")[2]))
        if loads and is_first:
            below = column
        if loads or (is_first and below is not None):
            found += re.findall(r"[\w./@$<>{}+-]+", text[key.end() : end])
    return list(dict.fromkeys(found))


# A script behind an interpreter, in a line of shell or a list of words; a module; a script that is
# run itself.
_INTERPRETED: Final = late_pattern(
    r"""\b(?:python[\d.]*|pypy3?|sh|bash|dash|zsh|node|deno|ruby|perl|php|lua|Rscript|tsx|ts-node|source)["']?"""
    r"""(?:[\s,]+["']?-[\w-]+["']?)*[\s,]+["']?([\w./-]*\w)"""
    r"""|["'\s]-m["']?[\s,]+["']?([\w.]+)"""
    r"""|(?:^|[\s"'=;&|(@])(\./[\w./-]+|[\w./-]+\.(?:sh|bash))\b""",
    re.MULTILINE,
)


def scripts_run_by(recipe: str) -> list[str]:
    """The scripts that the lines of a recipe run, in whatever form it is written."""
    found = _INTERPRETED.findall(recipe[:_MOST_OF_A_SETTING])
    return [word for pair in found for word in pair if word]


def plugins_loaded_by(settings: str) -> list[str]:
    """The words by which settings, a conftest or a command load plugins of pytest (`-p NAME`)."""
    text = _OTHER_PROGRAMS.sub("", settings[:_MOST_OF_A_SETTING])
    return [*_PLUGIN_OPTION.findall(text), *plugins_named_in(settings)]


def plugins_named_in(code: str) -> list[str]:
    """The modules that `pytest_plugins` names, in code or as a variable of the environment."""
    found = _PLUGINS_NAMED.findall(code[:_MOST_OF_A_SETTING])
    values = [value for pair in found for value in pair if value]
    return [word for value in values for word in re.findall(r"[\w./-]+", value)]


def import_folders(settings: str) -> list[str]:
    """The folders from which settings or a command let Python import (`pythonpath` of pytest)."""
    found = _IMPORT_FOLDERS.findall(settings[:_MOST_OF_A_SETTING])
    values = [value for pair in found for value in pair if value]
    return [word for value in values for word in re.findall(r"\w[\w./-]*|\.[\w./-]*", value)]
