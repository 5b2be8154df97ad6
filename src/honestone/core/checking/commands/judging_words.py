"""What the words of a command run and judge by: scripts, recipes, option values, and the programs
whose settings count.

Words are read as far as they can be read without running anything: inside `sh -c`, behind wrappers
(`env`, `timeout`, `uv run`), in the recipes of a Makefile, in the scripts of a package.json and in
shell scripts. What stays unknown is reported in `unclear`.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

from honestone.core.checking.commands.command_texts import (
    KEYWORDS,
    asked_for_includes,
    commands_of,
    commands_of_makefile,
    import_folders,
    imported,
    makefiles_included,
    plugins_loaded_by,
    printed_operands,
    recipe_lines,
    scripts_in,
    separated_commands,
)
from honestone.core.checking.commands.known_programs import (
    SHELLS,
    SHORT_OPTIONS,
    is_measure,
    plain_name,
    recipe_of,
    recipes,
)
from honestone.core.checking.commands.shell_values import ShellValues, pipelines
from honestone.core.checking.patterns import path_pattern
from honestone.core.json_value import late_pattern

# What a file of this name holds, as the command sees it; None where there is none.
ReadFile: TypeAlias = Callable[[str], bytes | None]

# How deep recipes that call recipes are followed, and how many commands are read in all.
_DEEPEST: Final = 6
_MOST_COMMANDS: Final = 5_000
_LARGEST_SCRIPT: Final = 1_000_000

_SCRIPTED: Final = frozenset(
    {"node", "ruby", "perl", "php", "lua", "Rscript", "deno", "bun", "tsx", "ts-node", "pypy"}
)
_WRAPPERS: Final = frozenset(
    "env nice ionice nohup time timeout gtimeout stdbuf xargs sudo doas setsid command exec eval chroot flock watch"
    " uv uvx poetry pdm pipenv rye hatch pixi conda mamba micromamba npx pnpx bunx dlx bundle dotenv direnv strace valgrind xvfb-run"
    " parallel script unbuffer coverage caffeinate taskset systemd-run busybox nix-shell mise asdf corepack".split()
)
_SUBCOMMANDS: Final = frozenset({"run", "exec", "dlx", "x", "tool", "shell", "--"})
_PACKAGE_RUNNERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_COMPARERS: Final = frozenset({"diff", "cmp", "comm", "colordiff", "icdiff"})

# Those of programs that are not known.
_SHORT_OF_OTHERS: Final = "cfrp"
_SETTING_OPTION: Final = late_pattern(
    r"conf|rc$|rule|setting|ignore|exclude|plugin|schema|expect|reference|baseline|pattern|template|project|require|import"
    r"|ini$|style|dict|words|golden|policy|makefile|file$|dtd|relaxng|preset|loader"
)
# Values of these are looked at or written, not judged by.
_DATA_OPTION: Final = frozenset(
    "in input inputs out output outfile target artifact source src document log log-file logfile report junitxml junit results html xml"
    " cache-dir output-file outdir stdin-filename".split()
)

# Code that may run what it finds out while it runs.
_FINDS_OUT: Final = late_pattern(
    r"\b(?:exec|eval|import_module|__import__|run_path|run_module|subprocess|system|popen|spawn\w*)\b"
)


@dataclass
class NamedFiles:
    """What a command names.

    `files`: those it runs or judges by, as paths from where it runs; `scripts`: those that it runs
    `programs`: those it starts, by plain name
    `loaded`: files that code in its words imports or opens
    `compared`: operands of which one may be what the other is held against
    `unclear`: words that only running it would tell
    `patterns`: of files that a recipe includes
    `includes_any`: whether a recipe includes what only running it would tell
    `settings`: files that options give to a program whose settings are known
    `plugins`: modules that pytest loads by its options, each from a folder
    `import_folders`: of PYTHONPATH
    """

    files: dict[str, None] = field(default_factory=dict)
    scripts: dict[str, None] = field(default_factory=dict)
    programs: dict[str, None] = field(default_factory=dict)
    loaded: dict[str, None] = field(default_factory=dict)
    compared: list[tuple[str, ...]] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    includes_any: bool = False
    settings: dict[str, None] = field(default_factory=dict)
    plugins: list[tuple[str, str]] = field(default_factory=list)
    import_folders: list[str] = field(default_factory=list)


def named_by(words: Sequence[str], read: ReadFile, names: Collection[str] = ()) -> NamedFiles:
    """What the words of a command name. `read` gives the files that are there, `names` those among
    which a pattern of a Makefile chooses.
    """
    reading = _Words(read, names, words)
    reading.command(list(words), "", _DEEPEST)
    return reading.named


class _Words:
    """One reading of a command and of what it calls."""

    def __init__(self, read: ReadFile, names: Collection[str], words: Sequence[str]) -> None:
        self.named = NamedFiles()
        self._read, self._names = read, names
        self._followed: set[tuple[str, str]] = set()
        self._shell_values = ShellValues((words,), _MOST_COMMANDS)

    # ------------------------------------------------------------------------------------------------
    # one command

    def command(self, words: list[str], folder: str, deep: int) -> None:
        self._shell_values.left -= 1
        words = self._after_assignments(words, folder)
        if not words or deep < 0 or self._shell_values.left < 0:
            return
        name = plain_name(words[0])
        self._program(words[0], name, folder)
        if name in SHELLS:
            self._shell(words[1:], folder, deep)
        elif name in ("python", "pypy"):
            self._python(words[1:], folder, deep)
        elif name in ("source", "."):
            self._script(words[1:2], folder, deep, as_shell=True)
        elif name in _SCRIPTED:
            self._scripted(words, folder, deep)
        elif name in ("make", "gmake"):
            self._make(words[1:], folder, deep)
        elif name in _PACKAGE_RUNNERS:
            self._package(words[1:], folder, deep)
        elif name in _WRAPPERS:
            self._wrapper(words[1:], folder, deep)
        elif name in _COMPARERS:
            operands = (self._place(word, folder) for word in words[1:] if not word.startswith("-"))
            self.named.compared.append(tuple(operands))
        else:
            if "/" in words[0]:
                self._script(words[:1], folder, deep)
            self._inner_command(words[1:], folder, deep)
        self._options(words, name, folder)

    def _after_assignments(self, words: list[str], folder: str) -> list[str]:
        """Without `NAME=VALUE` and words of the shell's grammar in front; the values may name
        files.
        """
        at = 0
        while at < len(words) and (words[at] in KEYWORDS or re.match(r"[A-Za-z_]\w*=", words[at])):
            self._value(words[at].partition("=")[2], folder)
            self._imports_by(words[at], folder)
            at += 1
        return words[at:]

    def _program(self, word: str, name: str, folder: str) -> None:
        self.named.programs[name] = None
        if re.search(r"[/$`]", word):
            self._runs(word, folder)

    def _runs(self, word: str, folder: str) -> str:
        """Notes a file that is run; its path from where the command runs."""
        place = self._place(word, folder)
        if re.search(r"[$`]", word):
            self.named.unclear.append(word)
            for one in self._shell_values.meant(word):
                self._may_run(one, folder)
        elif re.search(r"[*?\[]", word):
            self.named.patterns.append(place)
        self.named.files[place] = self.named.scripts[place] = None
        return place

    @staticmethod
    def _place(word: str, folder: str) -> str:
        return posixpath.normpath(posixpath.join(folder, word.partition("::")[0] or word))

    def _imports_by(self, text: str, folder: str) -> None:
        """Plugins of pytest and folders of imports that options or variables name."""
        self.named.plugins += [(folder, word) for word in plugins_loaded_by(text)]
        self.named.import_folders += [self._place(one, folder) for one in import_folders(text)]

    def _value(self, value: str, folder: str) -> None:
        """The value of an option or variable, where it names files (`a.txt`, `a:b`, `a,b`)."""
        for part in {value, *value.split(":"), *value.split(",")}:
            if part and not part.startswith("-") and self._is_there(self._place(part, folder)):
                self.named.files[self._place(part, folder)] = None

    def _is_there(self, place: str) -> bool:
        return self._read(place) is not None

    def _options(self, words: Sequence[str], name: str, folder: str) -> None:
        """Files that options give, and operands whose names say that something is held against
        them.
        """
        reads = recipe_of(name).reads
        if name == "pytest":
            self._imports_by(" ".join(words[1:]), folder)
        if recipe_of(name).files:
            self._settings(words, folder)
        short = SHORT_OPTIONS.get(name, "" if reads else _SHORT_OF_OTHERS)
        for at, word in enumerate(words[1:], 1):
            following = words[at + 1] if at + 1 < len(words) else ""
            option, is_given, value = word.partition("=")
            long = option.lstrip("-")
            if word.startswith("@"):
                self._value(word[1:], folder)
            elif not word.startswith("-"):
                if not reads and recipe_of(plain_name(word)).files:
                    self.named.programs[plain_name(word)] = (
                        None  # behind a wrapper that we do not know
                    )
                if is_given and option.isidentifier():
                    self._value(value, folder)
                elif not reads and is_measure(word):
                    self._value(word.partition("::")[0], folder)
            elif is_given:
                if long.lower() not in _DATA_OPTION:
                    self._value(value, folder)
            elif not word.startswith("--") and len(word) >= 2 and word[1] in short:
                self._value(word[2:] or following, folder)
            elif (
                len(long) > 1
                and long.lower() not in _DATA_OPTION
                and _SETTING_OPTION.search(long.lower())
            ):
                self._value(following, folder)

    def _settings(self, words: Sequence[str], folder: str) -> None:
        """Files of settings that `-c FILE`, `-cFILE` and `--config=FILE` give."""
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if given := re.fullmatch(
                r"-c(.*)|--(?:[\w-]+-)?(?:conf|config|rc|ini)(?:-?file)?(?:=(.*))?", word
            ):
                place = self._place(given[1] or given[2] or following, folder)
                if self._is_there(place):
                    self.named.settings[place] = None

    def _inner_command(self, words: Sequence[str], folder: str, deep: int) -> None:
        """A program that is known, named among the words of one that is not: a wrapper that we do
        not know.
        """
        for at, word in enumerate(words):
            name = plain_name(word)
            if (
                name in SHELLS
                or name in ("python", "make", "npm", "node")
                or (name in recipes() and "/" in word)
            ):
                self.command(list(words[at:]), folder, deep - 1)
                return

    def _wrapper(self, words: Sequence[str], folder: str, deep: int) -> None:
        """`timeout 5 CMD`, `env A=1 CMD`, `uv run CMD`: after options, numbers and subcommands
        begins a command.
        """
        at = 0
        while at < len(words) and (
            words[at].startswith("-")
            or words[at] in _SUBCOMMANDS
            or re.fullmatch(r"[\d.]+[smhd%]?|[A-Z]+:?\d*", words[at])
        ):
            if words[at] in ("-S", "-c") and at + 1 < len(words):  # env -S 'CMD', flock -c 'CMD'
                self.shell_text(words[at + 1], folder, deep - 1)
                at += 1
            at += 1
        rest = list(words[at:])
        if rest and "=" not in rest[0] and self._is_there(self._place(rest[0], folder)):
            self._script(rest[:1], folder, deep)
        self.command(rest, folder, deep - 1)
        self._inner_command(rest[1:], folder, deep)

    # ------------------------------------------------------------------------------------------------
    # interpreters

    def _shell(self, words: Sequence[str], folder: str, deep: int) -> None:
        is_checked_only = any(re.fullmatch(r"-\w*n\w*", word) for word in words)
        for at, word in enumerate(words):
            if re.fullmatch(r"-\w*c\w*", word) and at + 1 < len(words):
                self.shell_text(words[at + 1], folder, deep - 1)
                return
            if not word.startswith(("-", "+")):
                if not is_checked_only:
                    self._script([word], folder, deep, as_shell=True)
                return
        if not is_checked_only:
            self._run_what_comes_in(folder)

    def _python(self, words: Sequence[str], folder: str, deep: int) -> None:
        at = 0
        while at < len(words):
            word = words[at]
            flags, code = re.fullmatch(r"-([A-Za-z]*?)([cm])(.*)", word, re.DOTALL), None
            if (
                flags is not None
                and not word.startswith("--")
                and set(flags[1]) <= set("bBdEhiIOPqsSuvVx")
            ):
                code = flags[3] or (words[at + 1] if at + 1 < len(words) else "")
                rest = list(words[at + 1 + (not flags[3]) :])
                if flags[2] == "c":
                    self.python_text(code, folder, deep - 1, is_inline=True)
                else:
                    self._module(code, rest, folder, deep)
                return
            if word in ("-W", "-X", "--check-hash-based-pycs"):
                at += 1
            elif not word.startswith("-"):
                self._script([word], folder, deep)
                return
            at += 1
        self._run_what_comes_in(folder)

    def _module(self, module: str, rest: list[str], folder: str, deep: int) -> None:
        stem = posixpath.join(folder, *module.split("."))
        found = [
            name
            for name in (f"{stem}.py", f"{stem}/__main__.py", f"{stem}/__init__.py")
            if self._is_there(name)
        ]
        for name in found:
            self._runs(name, "")
        if not found:
            self.command([module.partition(".")[0], *rest], folder, deep - 1)

    def _scripted(self, words: Sequence[str], folder: str, deep: int) -> None:
        """The script of another interpreter, and what is loaded before it; code in the words may
        load anything.
        """
        skips = {"run", "test", "task", "exec", "-f"}
        if any(
            word in ("-c", "--check", "-l", "-wc", "-cw") for word in words[1:2]
        ):  # only whether it can be parsed
            return
        for at, word in enumerate(words[1:], 1):
            if word in ("-e", "-p", "-pe", "--eval", "--print", "-r") and at + 1 < len(words):
                if word == "-r" and self._is_there(self._place(words[at + 1], folder)):
                    continue
                self._loaded_by_code(words[at + 1], folder)
                return
            if word in ("--require", "--import", "--loader", "--experimental-loader", "-I", "-r"):
                continue
            if word.startswith("-") or word in skips:
                continue
            self._script([word], folder, deep)
            if words[at - 1] not in (
                "--require",
                "--import",
                "--loader",
                "--experimental-loader",
                "-r",
            ):
                return

    def _loaded_by_code(self, code: str, folder: str) -> None:
        if _FINDS_OUT.search(code):
            self.named.unclear.append(code)
        endings = ("", ".js", ".mjs", ".cjs", ".ts", ".json", ".rb", ".pl", ".php")
        for text in re.findall(r"""["']([^"'\n]{1,200})["']""", code):
            self._loaded(self._place(text + ending, folder) for ending in endings)

    def _script(
        self, words: Sequence[str], folder: str, deep: int, *, as_shell: bool = False
    ) -> None:
        """A file that is run, and what it calls, as far as its text says."""
        for word in words:
            if word == "{}":  # of `find -exec`
                self._run_what_comes_in(folder)
                continue
            place = self._runs(word, folder)
            data = self._read(place)
            if data is None or len(data) > _LARGEST_SCRIPT or (place, "") in self._followed:
                continue
            self._followed.add((place, ""))
            text = data.decode("utf-8", "replace")
            first = text.partition("\n")[0] if text.startswith("#!") else ""
            interpreter = plain_name(first[2:].split()[-1]) if first[2:].split() else ""
            if (
                interpreter in SHELLS
                or (as_shell and not interpreter)
                or place.endswith((".sh", ".bash"))
            ):
                self.shell_text(text, folder, deep - 1)
            elif interpreter == "python" or place.endswith(".py"):
                self.python_text(text, folder, deep - 1)
            else:
                self._quoted(text, folder)

    def _quoted(self, text: str, folder: str) -> None:
        """Programs that a script in another language names in quotes."""
        for word in re.findall(r"""["'`]([\w.@/-]+)[ "'`]""", text):
            if plain_name(word) in recipes():
                self.named.programs[plain_name(word)] = None

    def python_text(self, text: str, folder: str, deep: int, *, is_inline: bool = False) -> None:
        """Commands that Python code holds: lists of words, and texts that begin with a known
        program. Of code in the words of the command itself also the modules that it imports, and a
        known program behind a wrapper that is not.
        """
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        if is_inline and _FINDS_OUT.search(text):
            self.named.unclear.append(text)
        self._shell_values.feeding = ()  # what it starts is given something else
        for node in ast.walk(tree):
            if isinstance(node, ast.List | ast.Tuple):
                words = [
                    one.value
                    for one in node.elts
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
                if words and _is_known(words[0]):
                    self.command(words, folder, deep)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and " " in node.value[:60]
            ):
                if _is_known(node.value.split(" ", 1)[0]):
                    self.shell_text(node.value, folder, deep)
                elif is_inline:
                    self._inner_command(node.value[:500].split(), folder, deep)
            elif is_inline and isinstance(node, ast.Import | ast.ImportFrom):
                for module in imported(node):
                    stem = posixpath.join(folder, *module.split("."))
                    self._loaded((f"{stem}.py", f"{stem}/__init__.py"))
            elif is_inline and isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._loaded((self._place(node.value[:500], folder),))

    def _loaded(self, places: Iterable[str]) -> None:
        """Files that code in the words loads or opens; what is judged is among them, so only some
        names judge.
        """
        for place in places:
            if "\0" not in place and self._is_there(place):
                self.named.loaded[place] = None
                if is_measure(place):
                    self.named.files[place] = None

    # ------------------------------------------------------------------------------------------------
    # shell text

    def shell_text(self, text: str, folder: str, deep: int) -> None:
        """Every command in a text that a shell would run."""
        if deep < 0 or self._shell_values.left < 0 or (folder, text) in self._followed:
            return
        self._followed.add((folder, text))
        for inner in re.findall(r"\$\(([^()]*)\)|`([^`]*)`", text):
            self.shell_text("".join(inner), folder, deep - 1)
        values = self._shell_values
        around = values.loops, values.feeding
        values.loops = values.loops.new_child()
        # `${name}` has braces, which stand between commands as well.
        plain = re.sub(r"\$\{(\w+)\}(?!\w)", r"$\1", text.replace("\\\n", " "))
        lines = re.sub(r"\|[ \t]*\n", "| ", plain).splitlines()
        commands = [one for line in lines for one in separated_commands(line)]
        fed = [word for _, words in commands if words[0] == "done" for word in words[1:]]
        following = [*commands[1:], ("", [])]
        for pipeline, (before, after) in zip(pipelines(commands), following, strict=False):
            values.feeding, words = pipeline, pipeline[-1]
            if values.left < 0:
                break
            if words[-1].endswith("$") and before.startswith("("):  # `$(ls checks)`
                values.loops["$"] = values.printed_by(after)
            values.note_loop(words, fed)
            if words[0] == "cd":
                folder = posixpath.join(folder, words[1]) if len(words) > 1 else folder
            else:
                for meant in (words, *values.meant_words(words)):
                    self.command(meant, folder, deep - 1)
        values.loops, values.feeding = around

    def _run_what_comes_in(self, folder: str) -> None:
        """A shell or interpreter that is given its script by a pipe, or the name by `-exec`."""
        for words in self._shell_values.feeding:
            printed = dict.fromkeys(self._shell_values.printed_by(words))
            self._shell_values.left -= len(printed)
            for word in printed:
                self._may_run(word, folder)
            if words is not self._shell_values.feeding[-1] and printed_operands(words) is None:
                self.named.unclear.append(f"{' '.join(words)} |")

    def _may_run(self, word: str, folder: str) -> None:
        """A file, pattern or folder; of what cannot be named, that it is so."""
        place = self._place(word, folder)
        if re.search(r"[$`]", word) or place == ".":
            self.named.unclear.append(word)
        elif re.search(r"[*?\[]", word):
            self.named.patterns.append(place)
        elif self._is_there(place):
            self._runs(word, folder)
        elif place in self._folders:
            self.named.patterns.append(f"{place}/**")

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(
            name[: at.start()] for name in self._names for at in re.finditer("/", name)
        )

    # -------------------------------------------------------------------------------------------------
    # recipes

    def _make(self, words: Sequence[str], folder: str, deep: int) -> None:
        files, targets = [], []
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if (
                word in ("-f", "--file", "--makefile", "-C", "--directory", "-I", "-j", "-o", "-W")
                and waiting
            ):
                value = waiting.pop(0)
                files += [value] if word in ("-f", "--file", "--makefile") else []
                folder = posixpath.join(folder, value) if word in ("-C", "--directory") else folder
            elif word.startswith(("-C", "--directory=")):
                folder = posixpath.join(
                    folder, word.removeprefix("--directory=").removeprefix("-C")
                )
            elif not word.startswith("-") and "=" not in word:
                targets.append(word)
        for name in files or ("GNUmakefile", "makefile", "Makefile"):
            text = self._makefile(name, folder, deep)
            if text is not None:
                for line in recipe_lines(text, targets):
                    self.shell_text(line, folder, deep - 1)
                return

    def _makefile(self, name: str, folder: str, deep: int) -> str | None:
        """The text of a Makefile and of those that it includes; None where it is not there."""
        place = self._place(name, folder)
        data = self._read(place)
        if data is None or ("makefile", place) in self._followed:
            return None
        self._followed.add(("makefile", place))
        self._runs(place, "")
        texts = [data.decode("utf-8", "replace")]
        for command in commands_of_makefile(texts[0]):
            self.shell_text(command, folder, deep - 1)
        for command in asked_for_includes(texts[0]):
            for words in commands_of(command):
                for word in words:
                    self._value(word, folder)
        for word, line in makefiles_included(texts[0], name):
            included = self._place(word, folder)
            is_chosen = "*" in word and "$" in re.sub(r"\$[({]wildcard ", "", line)
            if is_chosen or re.search(r"[$`]", word):
                self.named.unclear.append(f"include {line}")
            if re.search(r"[$`]", word):
                self.named.includes_any = True
                continue
            if self._is_there(included):
                texts += self._included([word], folder, deep)
            else:  # a pattern, or made by a change
                self.named.patterns.append(included)
                glob = path_pattern(included)
                there = [
                    posixpath.relpath(one, folder or ".")
                    for one in self._names
                    if glob.fullmatch(one)
                ]
                texts += self._included(there, folder, deep)
        return "\n".join(texts)

    def _included(self, names: Iterable[str], folder: str, deep: int) -> list[str]:
        if deep <= 0:
            return []
        return [self._makefile(name, folder, deep - 1) or "" for name in names]

    def _package(self, words: Sequence[str], folder: str, deep: int) -> None:
        """The scripts of package.json that `npm test`, `npm run NAME` and the like call."""
        names = [word for word in words if not word.startswith("-")]
        if names[:1] in (["exec"], ["dlx"], ["x"]):
            self.command(names[1:], folder, deep - 1)
            return
        place = self._place("package.json", folder)
        if self._is_there(place):
            self.named.scripts[place] = None  # to a check it is a file of many settings
        scripts = scripts_in(self._read(place))
        if names[:1] in (["run"], ["run-script"]):
            names = names[1:]
        wanted = {"t": "test", "tst": "test", "it": "test"}.get(names[0], names[0]) if names else ""
        if wanted not in scripts and wanted:
            self.command(names, folder, deep - 1)  # `yarn jest`, `bun check.ts`
        for name in (f"pre{wanted}", wanted, f"post{wanted}"):
            if name in scripts and ("package", name) not in self._followed:
                self._followed.add(("package", name))
                self.shell_text(scripts[name], folder, deep - 1)


def _is_known(word: str) -> bool:
    """Whether a text that begins with it is taken for a command."""
    name = plain_name(word)
    return name in recipes() or name in SHELLS or name in _SCRIPTED or name in _WRAPPERS
