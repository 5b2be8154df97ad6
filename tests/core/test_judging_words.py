"""What the words of a command run and judge by: programs x ways of naming a file."""

from __future__ import annotations

import shlex
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.commands.command_texts import (
    asked_for_includes,
    commands_of_makefile,
    makefiles_included,
    scripts_run_by,
)
from honestone.core.checking.commands.judging_words import named_by
from honestone.core.checking.commands.known_programs import (
    is_setting,
    is_test,
    only_looks,
    runs_tests,
    settings_in,
    with_their_own,
)

FILES = {
    "jj.py": "",
    "rules.txt": "yes",
    "run.sh": "python jj.py\n",
    "checks/__main__.py": "",
    "starts.py": "import subprocess\nsubprocess.run(['ruff', 'check', '.'])\n",
    "Makefile": "PY = python\nj: dep\n\t@$(PY) jj.py\ndep:\n\t-sh run.sh\nother:\n\tnode other.js\n",
    "package.json": '{"scripts": {"pretest": "sh run.sh", "test": "npm run deep", "deep": "node t.js"}}',
    "t.js": "",
    "other.js": "",
    "README.md": "",
    "app.py": "",
    "sub/jj.py": "",
}


def named(command: str) -> tuple[set[str], set[str]]:
    result = named_by(
        shlex.split(command), lambda name: FILES[name].encode() if name in FILES else None
    )
    return {name for name in result.files if name in FILES}, set(result.programs)


WRAPPERS = (
    "{}",
    "sh -c {q}",
    "bash -euc {q}",
    "env A=1 {}",
    "timeout 5 {}",
    "timeout -k 1 5s {}",
    "nice -n 5 {}",
    "uv run {}",
    "xargs {}",
    "python -c {p}",
    "unknown-wrapper --flag {}",
    "sh -c {cd}",
    "if true; then {}; fi",
)


def wrapped(wrapper: str, command: str) -> str:
    in_python = f"import os; os.system({command!r})"
    text = wrapper.format(
        command,
        q=shlex.quote(command),
        p=shlex.quote(in_python),
        cd=shlex.quote(f"cd . && x=1 {command} | cat > out.txt"),
    )
    return f"sh -c {shlex.quote(text)}" if text.startswith("if ") else text


@given(
    st.lists(st.sampled_from(WRAPPERS), max_size=2),
    st.sampled_from(("python jj.py", "python3.12 -u jj.py", "sh run.sh", "make j")),
)
def test_a_program_is_found_in_any_wrapping(wrappers: list[str], command: str) -> None:
    """Behind wrappers, inside `sh -c`, in code that starts it, also two deep."""
    for wrapper in wrappers:
        command = wrapped(wrapper, command)
    assert "jj.py" in named(command)[0], command


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python jj.py --rules=rules.txt README.md", {"jj.py", "rules.txt"}),
        ("python jj.py --rules rules.txt", {"jj.py", "rules.txt"}),
        ("python jj.py -c rules.txt", {"jj.py", "rules.txt"}),
        ("python jj.py @rules.txt", {"jj.py", "rules.txt"}),
        ("python jj.py rules.txt", {"jj.py", "rules.txt"}),
        ("RULES=rules.txt python jj.py", {"jj.py", "rules.txt"}),
        ("grep -f rules.txt README.md", {"rules.txt"}),
        ("grep -frules.txt README.md", {"rules.txt"}),
        ("ruff check --config=rules.txt app.py", {"rules.txt"}),
        ("python -m checks", {"checks/__main__.py"}),
        ("python -mchecks", {"checks/__main__.py"}),
        ("make -s", {"Makefile", "run.sh", "jj.py"}),
        ("make other", {"Makefile", "other.js"}),
        ("npm test", {"run.sh", "jj.py", "t.js"}),
        ("npm run deep --silent", {"t.js"}),
        ("node -r ./jj.py t.js", {"jj.py", "t.js"}),
        ("sh -c 'cd sub; python jj.py'", {"sub/jj.py"}),
        ("make -C sub test", set()),
        ("./run.sh", {"run.sh", "jj.py"}),
        # What is looked at is what is judged.
        ("ruff check app.py", set()),
        ("grep -q Usage README.md", set()),
        ("python -m py_compile app.py", set()),
        ("bash -n run.sh", set()),
        ("node --check t.js", set()),
        ("python jj.py --out=README.md app.py", {"jj.py"}),
        ("sh -c 'python jj.py > rules.txt'", {"jj.py"}),
    ],
)
def test_files_that_words_name(command: str, expected: set[str]) -> None:
    """Scripts, recipes and values of options; not what a program is to look at or write."""
    assert named(command)[0] == expected


def test_what_code_in_the_words_loads_is_known_apart() -> None:
    """`python -c 'import jj'`: of a judge it is its program, of a check it may be what is judged."""
    words = ["python", "-c", "import jj; exec(open('rules.txt').read())"]
    result = named_by(words, lambda name: b"" if name in FILES else None)
    assert set(result.loaded) == {"jj.py", "rules.txt"} and result.unclear


@pytest.mark.parametrize(
    "command",
    [
        "sh -c '$JUDGE'",
        "python $X",
        "sh -c 'python $(cat x)'",
        "python -c 'import os; os.system(input())'",
    ],
)
def test_what_cannot_be_named_is_reported(command: str) -> None:
    """Words that only running them would tell."""
    assert named_by(shlex.split(command), lambda name: None).unclear


@pytest.mark.parametrize(
    ("command", "setting"),
    [
        ("ruff check .", "ruff.toml"),
        ("ruff check .", "deep/.ruff.toml"),
        ("python -m ruff check", ".ruff.toml"),
        ("mypy .", "mypy.ini"),
        ("mypy .", "app.pyi"),
        ("sh -c 'pytest -q'", "conftest.py"),
        ("uv run pytest", "a/.pytest.ini"),
        ("python -m tox", "tox.ini"),
        ("nox", "noxfile.py"),
        ("make test", "deep/rules.mk"),
        ("npm test", ".npmrc"),
        ("pnpm test", ".npmrc"),
        ("npx eslint .", "eslint.config.mjs"),
        ("eslint .", ".eslintignore"),
        ("prettier --check .", ".editorconfig"),
        ("npx tsc --noEmit", "tsconfig.build.json"),
        ("jest", "__mocks__/fs.js"),
        ("vitest run", "vite.config.ts"),
        ("cargo test", ".cargo/config.toml"),
        ("cargo clippy", "clippy.toml"),
        ("go test ./...", "go.work"),
        ("./gradlew test", "gradle/wrapper/gradle-wrapper.properties"),
        ("mvn -q verify", ".mvn/jvm.config"),
        ("pre-commit run -a", ".pre-commit-config.yaml"),
        ("markdownlint-cli2 **/*.md", ".markdownlint.json"),
        ("vale .", ".vale.ini"),
        ("python starts.py", "ruff.toml"),
        # Of a program that no table knows, by the customs of settings.
        ("somelint .", ".somelintrc.json"),
        ("somelint .", "somelint.toml"),
        ("somelint .", "somelint.config.js"),
        ("somelint .", ".somelintignore"),
    ],
)
def test_settings_of_the_programs_that_run(command: str, setting: str) -> None:
    """What a program reads as its settings, wherever it lies."""
    programs = with_their_own(named(command)[1])
    assert is_setting(setting, programs)
    assert not is_setting("README.md", programs) and not is_setting("src/app.py", programs)


def test_a_shared_file_counts_by_the_part_that_is_read() -> None:
    """pyproject.toml with another version is the same to pytest; with settings of pytest, however
    written, it is not.
    """
    programs = with_their_own(["pytest"])
    before = settings_in("pyproject.toml", b'[project]\nversion = "1"\n', programs)
    assert (
        before
        == settings_in(
            "pyproject.toml", b'[project]\nversion = "2"\n[tool.black]\nx = 1\n', programs
        )
        is None
    )
    for text in (
        b'[tool."\\u0070ytest".ini_options]\naddopts = "--co"\n',
        b"[tool.pytest]\nx = 1\n",
        b"not toml [",
    ):
        assert settings_in("pyproject.toml", text, programs) != before
    assert settings_in(
        "setup.cfg", b"[tool:pytest]\naddopts =\n  [x]\n  --co\n", programs
    ) != settings_in("setup.cfg", b"[tool:pytest]\naddopts =\n  [x]\n  -q\n", programs)
    npm = with_their_own(["npm"])
    assert settings_in(
        "package.json", b'{"version": "1", "scripts": {"test": "x"}}', npm
    ) == settings_in("package.json", b'{"version": "2", "scripts": {"test": "x"}}', npm)
    assert settings_in("package.json", b'{"scr\\u0069pts": {"test": "true"}}', npm) != settings_in(
        "package.json", b"{}", npm
    )


def test_tests_by_the_customs_of_languages() -> None:
    """Names and folders of tests; not words that only begin so."""
    for name in (
        "tests/a.json",
        "test_app.py",
        "src/app.test.ts",
        "pkg/a_test.go",
        "spec/x_spec.rb",
        "AppTest.java",
        "__snapshots__/a",
    ):
        assert is_test(name), name
    for name in ("app.py", "latest.md", "src/contest.py", "README.md", "testimony/a.md"):
        assert not is_test(name), name
    assert (
        runs_tests(["pytest"])
        and not runs_tests(["ruff"])
        and only_looks(["ruff", "grep", "sh"])
        and not only_looks(["x"])
    )


@pytest.mark.parametrize(
    ("text", "included"),
    [
        ("include \\\n  a.inc\n", ["a.inc"]),
        ("ifdef A\n\t-include a.inc # why\nendif", ["a.inc"]),
        ("include $(sort $(wildcard mk/*.inc))", ["mk/*.inc"]),
        ("include $(dir $(lastword $(MAKEFILE_LIST)))a.inc", ["sub/a.inc"]),
        ("D = mk # where\ninclude $D/a.inc ${D}/b.inc", ["mk/a.inc", "mk/b.inc"]),
        ("I = a.inc\nI += b.inc\ninclude $(I)", ["a.inc", "b.inc"]),
        ("include $(addsuffix .mk,$(addprefix mk/,a b))", ["mk/a.mk", "mk/b.mk"]),
        ("include $(foreach one,a b,mk/$(one).inc)", ["mk/*.inc"]),
        ("include $(if $(CI),ci.mk,own.mk)", ["ci.mk", "own.mk"]),
        ("include $(shell find . -name '*.mk')", ["*.mk"]),
        # What only make can tell: by the last part of the word, and never what is compiled.
        ("include $(TOP)/a.inc $(TOP)b.inc", ["**/a.inc", "*b.inc"]),
        ("S = $(wildcard src/*.c)\n-include $(S:.c=.d)", ["*.d"]),
        ("S = $(wildcard src/*.c)\n-include $(patsubst %.c,out/%.d,$(S))", ["out/*.d"]),
        ("S = $(wildcard src/*.c)\n-include $(subst .c,.d,$(S))", ["src/*.d"]),
        ("include $(UNKNOWN)", ["$"]),
    ],
)
def test_what_a_makefile_includes(text: str, included: list[str]) -> None:
    """As paths from where make runs, and patterns."""
    assert [word for word, _ in makefiles_included(text, "sub/Makefile")] == included


@pytest.mark.parametrize(
    ("line", "is_unclear"),
    [
        ("$(sort $(wildcard mk/*.inc))", True),
        ("$(TOP)/a.inc", True),
        ("$(UNKNOWN)", True),
        ("$(wildcard mk/*.inc)", False),
        ("$(dir $(lastword $(MAKEFILE_LIST)))a.inc", False),
    ],
)
def test_an_include_that_only_make_could_tell_is_said(line: str, is_unclear: bool) -> None:
    """In the words of its line: a judge with such a recipe is reported."""
    files = {"Makefile": f"include {line}\n".encode()}
    assert named_by(["make"], files.get).unclear == ([f"include {line}"] if is_unclear else [])


@pytest.mark.parametrize(
    ("recipe", "scripts"),
    [
        ("commands = python -u go.py --x", ["go.py"]),
        ('commands = [["python3.12", "-W", "error", "-m", "go"]]', ["error", "go"]),
        ("session.run('python', 'checks/go.py')", ["checks/go.py"]),
        ("\t@./go && sh tools/run", ["./go", "tools/run"]),
        ("entry: tools/go.sh", ["tools/go.sh"]),
        ("run: |\n  source env.sh", ["env.sh"]),
        ("python = 3\nbashful a.py, shell.py", []),
    ],
)
def test_scripts_that_a_recipe_runs(recipe: str, scripts: list[str]) -> None:
    """Behind an interpreter or by themselves, in lines of shell and in lists of words."""
    assert scripts_run_by(recipe) == scripts


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(
            "python |--a |$(shell |$(call a|,b|define a\n|endef\n|a:|A=$(A)\n|\t$(a)|(|)|eval include |,|'|./|}|a| |\n|\t"
            "|$(1)|A=|A+=a\n|a:A+=a\n|.RECIPEPREFIX=a\n|for a in |;|$$a".split("|")
        ),
        max_size=9,
    )
)
def test_hostile_recipes_are_read_in_time_with_their_size(parts: list[str]) -> None:
    """Thousands of the same part make no reader try every way to split them."""
    text = "".join(part * 3_000 for part in parts)
    for read in (scripts_run_by, commands_of_makefile, asked_for_includes):
        read(text)
    named_by(["make"], {"Makefile": text.encode()}.get)


BODY = "$(1)" * 25_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"f = {BODY}\na:\n\t$(call f,{'x' * 100_000})\n", id="a long argument"),
        pytest.param(f"f = {BODY}\nA = {'$(call f,)' * 9_000}\na:\n\t$(A)\n", id="empty ones"),
        pytest.param(f"f = {BODY}\nA = {'$(call f,x)' * 9_000}\na:\n\t$(A)\n", id="calls"),
        pytest.param(f"a:\n\t$(call {'a' * 100_000}\n", id="a call without its end"),
        pytest.param(f"A = $(shell{' ' * 100_000}\n", id="spaces in a function"),
        pytest.param(f"a{' ' * 100_000}\n", id="spaces behind a target"),
        pytest.param(f"a:{' ' * 100_000}=\n", id="spaces behind a colon"),
        pytest.param(".RECIPEPREFIX = x\n" * 30_000, id="prefixes"),
        pytest.param(f"{'a b c d ' * 3_000}: {'e f ' * 9_000}\n" + "\tx\n" * 9_000, id="targets"),
        pytest.param("".join(f"a{n}: b{n}\n%{n}: x\n" for n in range(9_000)), id="patterns"),
        pytest.param("A = a\nA = b\n" * 3_000 + "a:\n\t" + "$(A)" * 3_000, id="values"),
        pytest.param(f"a:\n\tcat {'a ' * 50_000}{'| sh ' * 20_000}\n", id="pipes"),
        pytest.param(f"a:\n\t{'for a in b$$a$$a$$a; do ' * 5_000}sh $$a\n", id="loops"),
        pytest.param(f"a:\n\tcat {' '.join(map(str, range(9_000)))} | sh\n", id="operands"),
        pytest.param("A = x$(A)$(A)\n" + "include $(A)\n" * 5_000, id="includes"),
    ],
)
def test_a_small_makefile_takes_little_time_and_memory(text: str) -> None:
    """Each was quadratic, or made gigabytes."""
    names = [f"d{n}/a" for n in range(2_000)]
    start = time.process_time()
    tracemalloc.start()
    try:
        named_by(["make", "a"], {"Makefile": text.encode()}.get, names)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 100_000_000 and time.process_time() - start < 30


@pytest.mark.parametrize(
    ("line", "patterns", "files"),
    [
        # What is run.
        ("for t in checks/*.sh; do $t README.md; done", {"checks/*.sh"}, set()),
        ('for t in checks/*.sh; do "$t"; done', {"checks/*.sh"}, set()),
        ("for t in checks/*.sh; do eval $t; done", {"checks/*.sh"}, set()),
        ("for d in a b; do for t in $d/*.sh; do sh $t; done; done", {"a/*.sh", "b/*.sh"}, set()),
        ("for t in $(ls checks/*.sh); do sh $t; done", {"checks/*.sh"}, set()),
        ("ls checks/*.sh | while read -r t; do sh $t; done", {"checks/*.sh"}, set()),
        ("while read t; do sh $t; done < rules.txt", set(), {"rules.txt"}),
        ("for t in checks/*; do cat $t; done | sh", {"checks/*"}, set()),
        ("cat run.sh | sh; cat app.py | sh -n", set(), {"run.sh"}),
        ("cat run.sh |\n  sh", set(), {"run.sh"}),
        ("cat jj.py | python3 -", set(), {"jj.py"}),
        ("grep -h '^[a-z].*' run.sh | sh", set(), {"run.sh"}),
        ("find checks -name '*.sh' -exec sh {} +", {"checks/**/*.sh"}, set()),
        ('set -- run.sh; sh "$1"', set(), {"run.sh", "jj.py"}),
        ('set -- run.sh docs/a.md; sh "$@"', set(), {"run.sh", "jj.py", "docs/a.md"}),
        ("set -- a run.sh; sh ${2}", set(), {"run.sh", "jj.py"}),
        ("for t in run.sh; do sh $t; done", set(), {"run.sh", "jj.py"}),
        # Nothing.
        ("", set(), set()),
        ("# a comment", set(), set()),
        # What is only looked at.
        ('for f in docs/*.md; do "$TOOLS/lint" "$f" || exit 1; done', set(), set()),
        ('"$D/lint" docs README.md', set(), set()),
        ("for f in docs/*.md; do sh run.sh $f; done", set(), {"run.sh", "jj.py"}),
        ("for t in checks/*.sh; do sh $t README.md; done", {"checks/*.sh"}, set()),
        ("while read l; do test $l; done < README.md", set(), set()),
        ("cat README.md | python3 t.py; ls | cat", set(), {"t.py"}),
        ("find docs -name '*.md' | xargs sh run.sh", set(), {"run.sh", "jj.py"}),
    ],
)
def test_what_a_text_of_a_shell_runs(line: str, patterns: set[str], files: set[str]) -> None:
    """By a variable of a loop or a pipe; not what the text names besides."""
    there = {**FILES, "docs/a.md": "", "t.py": "import subprocess\nsubprocess.run(['sh'])\n"}
    found = named_by(
        ["sh", "-c", line],
        lambda name: there[name].encode() if name in there else None,
        tuple(there),
    )
    assert (set(found.patterns), set(found.files) & set(there)) == (patterns, files)


def test_what_an_unknown_program_prints_to_a_shell_cannot_be_named() -> None:
    """Its operands may be what it looks at."""
    found = named_by(["sh", "-c", "./gen README.md | sh"], lambda name: b"")
    assert "README.md" not in found.files and found.unclear == ["./gen README.md |"]


def test_what_a_makefile_of_another_folder_includes_is_of_that_folder() -> None:
    """Also a pattern for files that are not there yet."""
    found = named_by(["make", "-C", "sub"], {"sub/Makefile": b"include mk/*.mk\n"}.get)
    assert found.patterns == ["sub/mk/*.mk"]


def test_a_recipe_in_a_makefile_that_a_pattern_chooses_is_followed() -> None:
    """Among the names that are given, from the folder where make runs."""
    files = {
        "sub/Makefile": b"include $(sort $(wildcard mk/*.inc))\n",
        "sub/mk/a.inc": b"test:\n\tpython go.py\n",
        "sub/go.py": b"",
    }
    found = named_by(["make", "-C", "sub", "test"], files.get, tuple(files))
    assert set(files) <= set(found.files)


@given(st.text(alphabet="$(){}, =:%*/.\n\tAabincludesort+#\\", max_size=200))
def test_any_makefile_is_read(text: str) -> None:
    """Whatever is in it, also a variable that names itself; no word has a space or a mark inside."""
    text = f"A = $(A)$(A) {text}\ninclude $(A) {text}"
    assert not any(set(word) & {" ", "\0"} for word, _ in makefiles_included(text))


def test_what_a_variable_of_make_prints_is_run() -> None:
    """`NAME != command` runs it as `$(shell command)` does, and what is included may be its output."""
    files = {
        "Makefile": b"V != sh jj.sh\ninclude $(V)\na:\n\techo $(V)\n",
        "jj.sh": b"python go.py",
        "go.py": b"",
    }
    found = named_by(["make", "a"], files.get, tuple(files))
    assert {"jj.sh", "go.py"} <= set(found.files)
