"""The shape of the code: imports are read from the source, and none may point upwards, in a circle
or outside.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import honestone

ROOT = Path(honestone.__file__).parent


@dataclass(frozen=True)
class Import:
    """One import statement's target. `late`: inside a function. `for_types`: under `if
    TYPE_CHECKING`.
    """

    source: str
    target: str
    line: int
    late: bool
    for_types: bool

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


# Parsing all of it takes seconds: each process of xdist collects this file, one of them runs it.
@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text("utf-8"), str(FILES[module]))


def imports_of(module: str) -> Iterator[Import]:
    yield from _walk(module, tree(module), late=False, for_types=False)


def _walk(module: str, node: ast.AST, *, late: bool, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(module, alias.name, child.lineno, late, for_types)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, (
                f"{module}:{child.lineno} is a relative import; this package writes them out"
            )
            for alias in child.names:
                inner = f"{child.module}.{alias.name}"
                yield Import(
                    module,
                    inner if inner in FILES else str(child.module),
                    child.lineno,
                    late,
                    for_types,
                )
        else:
            types = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _walk(module, child, late=late or function, for_types=for_types or types)


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(one for module in FILES for one in imports_of(module))


@cache
def our_imports() -> tuple[Import, ...]:
    return tuple(one for one in all_imports() if one.target.split(".")[0] == "honestone")


def layer(module: str) -> str:
    """core, ports, engine, ...; the package itself is `honestone` (its version, which everybody may
    read).
    """
    return module.split(".")[1] if "." in module else module


def area(module: str) -> str | None:
    """Which outside thing an adapter is about; None for the registry and what is no adapter."""
    parts = module.split(".")
    return (
        parts[2] if parts[1:2] == ["adapters"] and (ROOT / "adapters" / parts[2]).is_dir() else None
    )


ARROWS = {
    "honestone": set(),
    "core": {"core"},
    "ports": {"core", "ports"},
    "system": {"core", "ports", "system"},
    "prompts": {"core", "prompts"},
    "formats": {"core", "ports", "system", "formats"},
    "interop": {"core", "system", "ports", "formats", "interop"},
    "report": {"core", "system", "report"},
    "templates": {"core", "templates"},
    "engine": {"core", "ports", "system", "engine"},
    "adapters": {"core", "ports", "system", "prompts", "adapters"},
    "testing": {"core", "ports", "testing"},
    "app": {
        "core",
        "ports",
        "system",
        "prompts",
        "templates",
        "formats",
        "interop",
        "report",
        "engine",
        "adapters",
        "app",
    },
}
"""Who may import whom; cli and api may import everything. Arrows point down: DESIGN 11."""

INSIDE = {
    "core": {
        "audit": "judging reading statistics",
        "authoring": "checking judging reading skill suite",
        "belief": "judging",
        "checking": "judging reading",
        "editing": "",
        "judging": "",
        "loop": "belief editing judging skill suite",
        "reading": "judging",
        "record": "belief editing judging skill statistics suite",
        "skill": "editing judging suite",
        "statistics": "judging suite",
        "suite": "judging",
    },
    "app": {
        "agents": "",
        "authoring": "judging suites",
        "doors": "",
        "improving": "agents doors judging suites",
        "judging": "doors",
        "remote": "judging suites",
        "rubrics": "judging",
        "runs": "doors judging suites",
        "stages": "doors improving judging suites",
        "suites": "doors judging",
        "trust": "judging",
    },
    "report": {
        "building": "documents",
        "documents": "",
        "exports": "building documents",
        "pages": "documents",
        "terminal": "documents",
        "trust": "building documents pages",
    },
}
"""Which rooms of `core`, `app` and `report` a room of the same layer imports, besides the files that
lie at the top of the layer. `building` knows no medium, `terminal` and `pages` know no record.
"""

NOT_FROM_RECORDS = ("terminal", "pages")
"""Rooms of `report` that draw documents, and import nothing of `core/record`."""

TOP = (
    "cli",
    "view",
    "mcp",
    "api",
    "api.measures",
    "pytest_plugin",
    "compat",
    "integrations",
    "evaluate",
    "__main__",
)
"""The faces of the package: each may import everything below."""

FACES = {
    "__main__": "cli",
    "api": "view.labelling",
    "cli": "mcp view",
    "evaluate": "compat",
    "integrations": "api",
}
"""What a face imports of other ones. `honestone.label` asks on a page, which `view` serves."""

NO_CLOCK_FILE_NETWORK_OR_CHANCE = {
    "asyncio",
    "builtins",
    "concurrent",
    "ctypes",
    "datetime",
    "fcntl",
    "fileinput",
    "ftplib",
    "getpass",
    "glob",
    "http",
    "imaplib",
    "importlib",
    "io",
    "linecache",
    "locale",
    "logging",
    "mmap",
    "multiprocessing",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "poplib",
    "pty",
    "random",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shelve",
    "shutil",
    "signal",
    "smtplib",
    "socket",
    "socketserver",
    "sqlite3",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "urllib.request",
    "uuid",
    "webbrowser",
    "zoneinfo",
}


def test_no_arrow_points_upwards() -> None:
    """Doors over app over engine, adapters, formats, interop and report over ports over core."""
    upward = [
        str(one)
        for one in our_imports()
        if layer(one.source) not in TOP
        and layer(one.target) != "honestone"
        and not (
            one.source == "honestone" and (one.late or one.for_types)
        )  # the package's face is lazy
        and layer(one.target) not in ARROWS.get(layer(one.source), set())
    ]
    assert upward == []


def test_faces_do_not_know_each_other() -> None:
    """But for what the table names. No face imports the engine or an adapter: `app` does."""
    faces = {one.partition(".")[0] for one in TOP}
    wrong = [
        str(one)
        for one in our_imports()
        if layer(one.source) in faces
        and layer(one.target) in {*faces, "engine", "adapters"} - {layer(one.source)}
        and not {layer(one.target), one.target.removeprefix("honestone.")}.intersection(
            FACES.get(layer(one.source), "").split()
        )
    ]
    assert wrong == []


def test_every_layer_has_its_arrows() -> None:
    """A new folder is given its place here before it is used."""
    assert {layer(module) for module in FILES} - {*ARROWS, *TOP} == set()


def room(module: str) -> str:
    """The room that a module is in, within its layer; empty for a file at the top of the layer."""
    parts = module.split(".")
    is_inside = len(parts) > 3 or (ROOT / Path(*parts[1:3])).is_dir()
    return parts[2] if len(parts) > 2 and is_inside else ""


@pytest.mark.parametrize("inside", INSIDE)
def test_rooms_inside_a_layer_have_their_arrows(inside: str) -> None:
    """A new arrow between two rooms is a decision: it is written into the table."""
    found: dict[str, set[str]] = {
        module.split(".")[2]: set() for module in FILES if layer(module) == inside and room(module)
    }
    for one in our_imports():
        if layer(one.source) == layer(one.target) == inside and not one.for_types:
            source, target = room(one.source), room(one.target)
            if source and target and source != target:
                found[source].add(target)
    assert found == {name: set(to.split()) for name, to in INSIDE[inside].items()}
    both = [(a, b) for a, to in found.items() for b in to if a in found[b]]
    assert both == []


MOST_ROOMS = {"core": (20, 85), "app": (24, 80), "report": (14, 45)}
"""How many rooms a layer has, and arrows between them, where a file at its top is a room of its own:
what many modules use belongs to one of those that are there, near the bottom.
"""


@pytest.mark.parametrize("inside", MOST_ROOMS)
def test_a_layer_has_few_rooms_and_arrows(inside: str) -> None:
    """And no two of them import each other, late imports counted."""
    rooms = {module.split(".")[2] for module in FILES if module.startswith(f"honestone.{inside}.")}
    arrows = {
        (one.source.split(".")[2], one.target.split(".")[2])
        for one in our_imports()
        if one.source.startswith(f"honestone.{inside}.")
        and one.target.startswith(f"honestone.{inside}.")
        and not one.for_types
    }
    between = {(a, b) for a, b in arrows if a != b}
    assert [(a, b) for a, b in sorted(between) if (b, a) in between] == []
    most_rooms, most_arrows = MOST_ROOMS[inside]
    assert len(rooms) <= most_rooms
    assert len(between) <= most_arrows


def test_what_draws_documents_knows_no_record() -> None:
    """Terminal and pages get documents, whatever they were made from."""
    from_records = [
        str(one)
        for one in our_imports()
        if layer(one.source) == "report"
        and room(one.source) in NOT_FROM_RECORDS
        and one.target.startswith("honestone.core.record")
        and not one.for_types
    ]
    assert from_records == []


def test_adapters_do_not_know_each_other() -> None:
    """Only the registry knows them all, and it imports them when they are asked for; models,
    workers and targets run agent CLIs.
    """
    allowed = {("models", "agent_clis"), ("workers", "agent_clis"), ("targets", "agent_clis")}
    crossing = [
        str(one)
        for one in our_imports()
        if area(one.source)
        and area(one.target)
        and area(one.source) != area(one.target)
        and (area(one.source), area(one.target)) not in allowed
    ]
    upward = [
        str(one)
        for one in our_imports()
        if area(one.source) and one.target == "honestone.adapters.registry"
    ]
    eager = [
        str(one)
        for one in our_imports()
        if one.source == "honestone.adapters.registry"
        and area(one.target)
        and not one.late
        and not one.for_types
    ]
    assert (crossing, upward, eager) == ([], [], [])


def test_nothing_imports_in_a_circle() -> None:
    """Among what is imported when a module is; parents of a package are not counted."""
    graph: dict[str, set[str]] = {module: set() for module in FILES}
    for one in our_imports():
        if (
            not one.late
            and not one.for_types
            and one.target in graph
            and not one.source.startswith(one.target + ".")
        ):
            graph[one.source].add(one.target)
    assert _a_circle(graph) is None


def _a_circle(graph: dict[str, set[str]]) -> list[str] | None:
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        for target in sorted(graph[module]):
            found = visit(target, [*path, module])
            if found:
                return found
        done.add(module)
        return None

    return next((found for module in graph if (found := visit(module, []))), None)


def test_a_circle_would_be_found() -> None:
    """The search above is able to fail."""
    assert _a_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert _a_circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


CORE = [module for module in FILES if layer(module) == "core"]


def test_core_is_standard_library_and_records_alone() -> None:
    """No clock, file, network, process or chance; not even inside a function. msgspec, of which
    records are made, has none of them.
    """
    outside = [
        str(one)
        for one in all_imports()
        if one.source in CORE
        and layer(one.target) != "core"
        and one.target.split(".")[0] != "msgspec"
        and (
            one.target.split(".")[0] not in sys.stdlib_module_names
            or one.target in NO_CLOCK_FILE_NETWORK_OR_CHANCE
            or one.target.split(".")[0] in NO_CLOCK_FILE_NETWORK_OR_CHANCE
        )
    ]
    assert outside == []


@pytest.mark.parametrize("module", CORE)
def test_core_opens_and_prints_nothing(module: str) -> None:
    """Nor does it run text as code."""
    calls = {
        node.func.id
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "eval", "exec", "__import__"}


def test_patterns_are_compiled_when_they_are_used() -> None:
    """A module or a class that is loaded compiles none: `late_pattern` does, at the first use."""
    at_once = [
        f"{module}:{node.lineno}"
        for module in FILES
        for node in _at_import(tree(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    ]
    assert at_once == []


def test_programs_of_their_own_import_nothing_of_ours() -> None:
    """They run in a Python that may not find this package, within a sandbox, for each check."""
    programs = {
        module
        for module in FILES
        if module.rpartition(".")[2] in {"_child", "_document", "_inspect_task", "_script"}
    }
    assert len(programs) == 6
    ours = [
        str(one)
        for one in all_imports()
        if one.source in programs and one.target.startswith("honestone")
    ]
    assert ours == []


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: all but the bodies of its functions."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _at_import(child)


HEAVY = (
    "ruamel",
    "msgspec",
    "aiohttp",
    "sqlite3",
    "jsonschema",
    "asyncio",
    "ssl",
    "prompt_toolkit",
    "markdown_it",
)


def loaded_by(*words: str, folder: Path | None = None) -> list[str]:
    """The modules that a command has imported when it ends, run in that folder."""
    code = (
        "import json, sys\n"
        f"sys.argv = ['honestone', *{list(words)!r}]\n"
        "from honestone.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=folder,
    )
    loaded: list[str] = json.loads(done.stderr.splitlines()[-1])
    return loaded


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_help_answers_at_once(words: tuple[str, ...]) -> None:
    """No HTTP client, YAML reader, database or event loop is loaded to print it."""
    loaded = loaded_by(*words)
    assert "honestone.cli.main" in loaded
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []
    assert [
        name for name in loaded if name.startswith(("honestone.adapters.", "honestone.engine."))
    ] == []


def test_completing_the_name_of_a_command_imports_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell asks at each press of a key; names and their help are in a table."""
    monkeypatch.setenv("_HONESTONE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "honestone ru")
    monkeypatch.setenv("COMP_CWORD", "1")
    ours = {name for name in loaded_by() if name.startswith("honestone.")}
    names = "cli cli.commands cli.ctrl_c cli.main core core.errors"
    assert ours == {f"honestone.{name}" for name in names.split()}


CHECKED = """
adapters adapters.stores adapters.stores.sqlite_file adapters.stores.sqlite_file.still_file
adapters.stores.unfinished app app.judging app.judging.judging_options app.options app.rubrics
app.rubrics.check app.store_origin app.workspace cli cli.commands cli.ctrl_c cli.helping
cli.main cli.options cli.rubrics cli.rubrics.check cli.rubrics.group cli.terminal core
core.artifact core.authoring core.authoring.lint core.checking core.checking.added_kinds
core.errors core.json_value core.judging core.judging.ballot core.judging.choices
core.judging.images core.judging.needs core.judging.request core.judging.rubric
core.judging.settings_tables core.judging.spend core.numbers core.plugins
core.reading core.reading.json_schema core.record core.record.store_address core.skill
core.skill.skill_file core.suite core.suite.message core.suite.trace core.tables formats
formats.fields formats.findings formats.project formats.rubric formats.rubric.check_words
formats.rubric.rubric_file formats.settings formats.source formats.syntax
formats.syntax.document formats.syntax.marked formats.syntax.nodes formats.syntax.reader
formats.syntax.toml_nodes formats.syntax.yaml_nodes formats.values interop interop.reader
interop.recognise ports system system.drawing system.plugins system.trust
system.trust.own_stores system.trust.person_folder
"""
SHOWN = """
adapters adapters.context adapters.registry adapters.stores adapters.stores.place
adapters.stores.sqlite adapters.stores.sqlite_file adapters.stores.sqlite_file.hostile_files
adapters.stores.sqlite_file.sqlite_opening adapters.stores.sqlite_file.still_file
adapters.stores.sqlite_queries adapters.stores.stored adapters.stores.unfinished app app.history
app.judging app.judging.measured app.judging.measured.known_noise app.options app.runs
app.runs.records app.store_origin app.workspace cli cli.commands cli.ctrl_c cli.main cli.options
cli.recorded cli.recorded.show cli.suites cli.suites.options cli.terminal core core.artifact
core.belief core.belief.contract core.belief.counting core.belief.errors core.belief.normal core.belief.outcomes
core.belief.scales.marks core.belief.scales core.belief.scales.rounding core.belief.scales.scores
core.belief.stated core.belief.verdict core.checking core.checking.added_kinds core.editing
core.editing.proposal core.editing.result core.errors core.events core.json_value core.judging core.judging.ballot core.judging.choices
core.judging.contract core.judging.images core.judging.needs core.judging.packing
core.judging.request core.judging.rubric core.judging.scorecard core.judging.scorer
core.judging.settings_tables core.judging.spend core.numbers core.plugins
core.reading core.reading.evidence core.reading.json_schema core.record core.record.event_codec
core.record.judge_spends core.record.runs core.record.store_address core.skill core.skill.skill_file
core.statistics core.statistics.labels core.statistics.noise core.suite core.suite.case
core.suite.message core.suite.trace core.tables engine engine.place formats formats.project
formats.settings formats.syntax formats.syntax.marked formats.syntax.nodes
formats.syntax.toml_nodes ports report report.building report.building.scorecard
report.documents report.documents.belief report.documents.findings report.documents.scorecard
report.documents.states report.documents.trust report.documents.trust.noise report.formats
report.terminal report.terminal.score_table report.terminal.text system system.drawing
system.files system.plugins system.trust system.trust.git_index system.trust.judging_files
system.trust.own_stores system.trust.person_folder
"""
# Neither events nor what reads them: a suite's run says itself what it came to.
LISTED = """
adapters adapters.context adapters.registry adapters.stores adapters.stores.place
adapters.stores.sqlite adapters.stores.sqlite_file adapters.stores.sqlite_file.hostile_files
adapters.stores.sqlite_file.sqlite_opening adapters.stores.sqlite_file.still_file
adapters.stores.sqlite_queries adapters.stores.stored adapters.stores.unfinished app app.options
app.run_figures app.runs app.runs.run_list app.store_origin app.workspace cli cli.commands
cli.ctrl_c cli.main cli.options cli.recorded cli.recorded.runs cli.terminal core core.artifact
core.checking core.checking.added_kinds core.editing core.editing.result core.errors
core.json_value core.judging core.judging.ballot core.judging.choices core.judging.images
core.judging.needs core.judging.request core.judging.rubric core.judging.settings_tables
core.judging.spend core.numbers core.plugins core.reading
core.reading.json_schema core.record core.record.runs core.record.store_address core.skill
core.skill.skill_file core.suite core.suite.message core.suite.trace core.tables formats
formats.project formats.settings formats.syntax formats.syntax.marked formats.syntax.nodes
formats.syntax.toml_nodes ports report report.documents report.documents.run_list
report.documents.states report.terminal report.terminal.run_list_text system system.drawing
system.files system.plugins system.trust system.trust.git_index system.trust.own_stores
system.trust.person_folder
"""


@pytest.mark.parametrize(
    ("words", "listed", "heavy"),
    [
        (("--help",), "cli cli.commands cli.ctrl_c cli.main core core.errors", ()),
        (("rubric", "check", "rubric.yaml"), CHECKED, ("ruamel", "msgspec", "sqlite3")),
        (("show", "last"), SHOWN, ("msgspec", "sqlite3")),
        (("runs",), LISTED, ("msgspec", "sqlite3")),
    ],
)
def test_a_command_loads_what_it_uses(
    words: tuple[str, ...], listed: str, heavy: tuple[str, ...], tmp_path: Path
) -> None:
    """Every module of ours is listed: what is not used is imported in the function that needs it,
    or for types only. No event loop, no HTTP client and no list of installed packages.
    """
    (tmp_path / "rubric.yaml").write_text(
        "rubric: 1\ncriteria: [{id: a, requirement: It says hello}]\n"
    )
    if words[0] == "show":
        (tmp_path / "text.md").write_text("hello")
        loaded_by("eval", "text.md", "--rubric", "rubric.yaml", "--judge", "mock", folder=tmp_path)
    elif words[0] == "runs":
        case = '{"id": "a", "input": "x", "checks": [{"contains": "x"}]}'
        (tmp_path / "suite.yaml").write_text(f"suite: 1\ntarget: mock\ncases: [{case}]\n")
        loaded_by("eval", "suite.yaml", folder=tmp_path)
    loaded = loaded_by(*words, folder=tmp_path)
    ours = {name.removeprefix("honestone.") for name in loaded if name.startswith("honestone.")}
    lint = {
        name for name in ours if name.startswith("core.authoring.lint.")
    }  # all of its rules are asked
    assert sorted(ours - set(listed.split()) - lint) == []
    assert [name for name in loaded if name.split(".")[0] in set(HEAVY) - set(heavy)] == []
    assert "importlib.metadata" not in loaded
    assert sorted(SELDOM.intersection(loaded)) == []


def test_what_checks_a_rubric_loads_nothing_that_runs_it(tmp_path: Path) -> None:
    """Also where its checks are looked at."""
    (tmp_path / "rubric.yaml").write_text(
        "rubric: 1\ncriteria: [{id: a, requirement: It says hello, check: {contains: hello}}]\n"
    )
    loaded = loaded_by("rubric", "check", "rubric.yaml", folder=tmp_path)
    assert [name for name in loaded if name.startswith("honestone.engine")] == []
    assert sorted({*SELDOM, "statistics", "asyncio", "ctypes"}.intersection(loaded)) == []


def test_view_prints_its_address_before_it_loads_pages(tmp_path: Path) -> None:
    code = (
        "import json, os, sys\n"
        "import honestone.cli.browser\n"
        "def announce(*_, **__):\n"
        "    os.write(1, json.dumps(sorted(sys.modules)).encode())\n"
        "    os._exit(0)\n"
        "honestone.cli.browser.announce = announce\n"
        "from honestone.cli.main import main\n"
        "main(['view', '--port', '0', '--no-open'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=120, check=True, cwd=tmp_path
    )
    loaded = json.loads(done.stdout)
    serving = ("honestone.report.", "honestone.engine.", "honestone.view.pages")
    late = {*HEAVY, "jinja2"} - {"msgspec"}
    assert [one for one in loaded if one.startswith(serving) or one.split(".")[0] in late] == []


def test_a_suite_loads_no_code_of_other_suites(tmp_path: Path) -> None:
    """Neither formats of other tools, nor runs of skills, nor what asks judges on."""
    cases = [{"id": "a", "input": "x", "checks": [{"contains": "x"}]}]
    suite = {"suite": 1, "target": "mock", "cases": cases}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    loaded = loaded_by("eval", "suite.json", "-q", folder=tmp_path)
    others = ("interop.", "app.suites.comparing.", "app.suites.running.watch")
    others += ("engine.sure_suites", "core.loop.", "system.workspace", "formats.text_table")
    others += ("app.judging.evaluate", "app.judging.text", "cli.recorded.", "report.building.texts")
    others += ("app.git_versions", "system.processes.process", "system.processes.commands")
    ours = {name.removeprefix("honestone.") for name in loaded}
    needed = {"interop.environment", "interop.reader", "interop.recognise", "core.loop.named"}
    assert sorted(name for name in ours - needed if name.startswith(others)) == []


def test_code_that_judges_alone_loads_nothing_of_judges(tmp_path: Path) -> None:
    """Nor of suites that run, of tables, and of what `show` prints: a commit hook waits for it."""
    (tmp_path / "rubric.yaml").write_text(
        "rubric: 1\ncriteria: [{id: a, requirement: It says hello, check: {contains: hello}}]\n"
    )
    (tmp_path / "text.md").write_text("hello")
    loaded = loaded_by("eval", "text.md", "--rubric", "rubric.yaml", "-q", folder=tmp_path)
    ours = {name.removeprefix("honestone.") for name in loaded if name.startswith("honestone.")}
    others = ("adapters.judges", "adapters.models", "app.runs.", "app.suites.running")
    others += (
        "cli.recorded.",
        "core.reading.reply",
        "core.reading.json_text",
        "core.record.record",
    )
    others += ("core.statistics.noise", "report.building.texts", "report.case_text")
    others += ("core.belief.verdict", "core.belief.next_look", "formats.text_table")
    others += ("system.processes.sandbox", "system.workspace")
    assert sorted(name for name in ours if name.startswith(others)) == []
    assert len(ours) <= MOST_MODULES
    assert {"asyncio", "calendar", "ctypes", *SELDOM}.intersection(loaded) <= {
        "difflib",
        "tempfile",
    }


MOST_MODULES = 178
"""How many modules of ours an `eval` of one file by code alone may load: each takes some .2 ms."""
SELDOM = set("difflib html logging mmap secrets socket subprocess tempfile".split())
"""Modules of Python for a rare case: a slip, an entity, a private folder, another program. They take
long to load, so the function that needs one imports it.
"""
MOST_DATACLASSES = {
    ("--help",): 0,
    ("rubric", "check", "rubric.yaml"): 1,  # `_Watched`, a program that runs
    ("show", "last"): 0,
    ("runs",): 0,
    ("eval", "text.md", "--rubric", "rubric.yaml", "-q"): 2,  # and `Evaluated`, which is a Mapping
}
"""How many dataclasses of ours a command may make at its start: each takes .4 ms, a msgspec struct
.01.
"""


@pytest.mark.parametrize("words", MOST_DATACLASSES)
def test_a_command_makes_few_dataclasses(words: tuple[str, ...], tmp_path: Path) -> None:
    """A record is a struct; a dataclass is what has an abstract base, or is seldom made."""
    (tmp_path / "rubric.yaml").write_text(
        "rubric: 1\ncriteria: [{id: a, requirement: It says hello, check: {contains: hello}}]\n"
    )
    (tmp_path / "text.md").write_text("hello")
    if words[0] in ("show", "runs"):
        loaded_by("eval", "text.md", "--rubric", "rubric.yaml", "-q", folder=tmp_path)
    made = [
        f"{name}.{node.name}"
        for name in loaded_by(*words, folder=tmp_path)
        if name in FILES
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ClassDef) and "dataclass" in map(_decorator, node.decorator_list)
    ]
    assert len(made) <= MOST_DATACLASSES[words]


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def test_the_core_loads_none_of_it() -> None:
    """Importing every noun costs no heavy library, so any command may."""
    names = "\n".join(f"import {module}" for module in CORE)
    code = f"import sys, json\n{names}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    heavy = set(HEAVY) - {"msgspec"}
    assert [name for name in json.loads(done.stdout) if name.split(".")[0] in heavy] == []


_FROM_OUTSIDE = {
    "app/workspace",
    "app/doors/telemetry",
    "app/runs/exporting",
    "app/git_versions",
    "app/agents",
}


def test_only_doors_know_the_working_directory() -> None:
    """A runner works on several runs at once, each in a folder of its own, as does a server: so a
    folder is given. Variables are read where a machine is asked for them by name, by adapters and
    `system/`, and where a workspace is opened; not on the way.
    """
    doors = {
        module
        for module in FILES
        if layer(module) in TOP or module.startswith(("honestone.cli", "honestone.pytest"))
    }
    below = {module: ast.unparse(tree(module)) for module in FILES if module not in doors}
    asked = ("Path.cwd(", "os.getcwd(", "os.chdir(", "Path().resolve(", "Path().absolute(")
    folders = [module for module, text in below.items() if any(word in text for word in asked)]
    assert folders == ["honestone.adapters.checks.startup.sitecustomize"], (
        "it is for a process of a check"
    )
    given = {
        module.removeprefix("honestone.").replace(".", "/")
        for module, text in below.items()
        if "os.environ" in text
    }
    layers = ("core", "engine", "formats", "report", "app", "ports")
    assert not [
        name
        for name in given
        if name.startswith(layers) and not name.startswith(tuple(_FROM_OUTSIDE))
    ]


# ------------------------------------------------------------------------------------------------------------
# how much is in one place

MOST_FILES = 16
# One file a check, a provider or a command.
MANY_FILES = dict.fromkeys(("adapters/checks", "adapters/models", "cli"), 26)
MOST_LINES = 500
MOST_METHODS = 30
# What a store has to do is one contract.
LARGE_CLASSES = ("honestone.adapters.stores.", "honestone.ports")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def test_a_room_holds_few_files() -> None:
    """More of them are two rooms."""
    rooms = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in FILES.values()
        if path.name != "__init__.py" and "_examples" not in path.parts
    )
    assert not {
        room: count for room, count in rooms.items() if count > MANY_FILES.get(room, MOST_FILES)
    }


def test_a_file_is_short_enough_to_be_read() -> None:
    """Lines of code, without comments, docstrings and empty ones."""
    long = [one for one in FILES if FILES[one].read_bytes().count(b"\n") > MOST_LINES]
    assert not {one: count for one in long if (count := code_lines(one)) > MOST_LINES}


def code_lines(module: str) -> int:
    text = FILES[module].read_text("utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def test_a_class_has_few_methods() -> None:
    """More of them are two classes, or functions of what they use."""
    large = {
        f"{module}.{node.name}": count
        for module in FILES
        if not module.startswith(LARGE_CLASSES)
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef)
        if (count := sum(isinstance(one, _FUNCTIONS) for one in node.body)) > MOST_METHODS
    }
    assert not large


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
