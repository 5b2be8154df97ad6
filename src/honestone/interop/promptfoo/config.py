"""A promptfoo config as a suite: what is read of it, and in which order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.core.suite.case import Case, Suite, TargetSpec
from honestone.formats.source import SuiteSource, WrittenCases, WrittenPrompt
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.reader import Cases, FileEntry
from honestone.interop.criteria import undecided
from honestone.interop.promptfoo.assertion import FORMATS, TABLES
from honestone.interop.promptfoo.assertion_types import lose_problems
from honestone.interop.promptfoo.cases import CaseReading, RunOptions
from honestone.interop.promptfoo.columns import Columns
from honestone.interop.promptfoo.hooks import (
    Extension,
    extended_before_all,
    read_extensions,
    variables_transformed,
)
from honestone.interop.promptfoo.layers import (
    ConfigFiles,
    Layer,
    LayerReading,
    as_data,
    last_of,
    with_variables,
)
from honestone.interop.promptfoo.made import NOT_RUN
from honestone.interop.promptfoo.prompts import Prompt, PromptReading
from honestone.interop.sibling_files import LEFT_OUT


class ConfigReading:
    """One reading of a config and of the files that it names."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.files = ConfigFiles(document)
        self.reading, self.siblings = self.files.reading, self.files.siblings
        self.columns = Columns(self.files)
        self.layers = LayerReading(self.files, self.columns.provider)
        self.extensions: list[Extension] = []

    def read(self) -> SuiteSource:
        reading, top = self.reading, self.reading.at()
        if not top.read(TABLES["config"]):
            reading.finish()
        if "redteam" in top and not any(
            key in top for key in ("tests", "scenarios", "defaultTest")
        ):
            raise UsageError(
                "this promptfoo config is for red teaming alone: a model of promptfoo's makes its tests",
                place=reading.marked.at((*top.path, "redteam")),
                hint="run it with `promptfoo redteam run`; honestone reads configs with `tests`",
            )
        prompts = PromptReading(self.reading, self.siblings).prompts(top)
        options = self.options(top)
        self.columns.read(top)
        default = self.layers.default_test(top)
        tests = [*self.layers.tests(top, default), *self.layers.scenarios(top, default)]
        self.extensions = read_extensions(top, self.siblings)
        tests = self.changed_by_code(tests, () if default is None else (default,))
        if not tests and not self.files.has(problems=True, losses=True, code=True):
            reading.problem(
                "this config has no tests", (), "give it `tests`, each with `vars` and `assert`"
            )
        cases = Cases()
        case_reading = CaseReading(
            self.files, self.columns, self.extensions, options, _own_variables(top)
        )
        for number, layers in enumerate(tests, 1):
            case_reading.cases(prompts, number, layers, cases)
        if tests and prompts and not cases:
            reading.loss("no test of this config is for any of its prompts", ())
        if not cases:
            cases.add(_nothing_read(is_code=self.files.has(code=True)), top)
        reading.note(*FORMATS.defaults("promptfoo"))
        reading.join(*self.files.others)
        lose_problems(reading, LEFT_OUT)
        self.lose_unseen(case_reading.unseen_variables(), cases.all(), top)
        reading.finish()
        found = cases.all()
        targets = self.columns.targets(found, prompts, case_reading.unseen_variables)
        first, *more = targets or [TargetSpec()]
        suite = Suite(
            cases=found,
            title=top.text("description") or "",
            target=first,
            more_targets=tuple(more),
            concurrency=options.concurrency,
            prompts=tuple(one.id for one in prompts) if len(prompts) > 1 else (),
        )
        source = reading.suite_source(
            self.document.path, "promptfoo", suite, cases, self.siblings.files
        )
        return replace(
            source,
            untaken_targets=tuple(self.columns.untaken),
            written=_written(prompts, default, case_reading),
        )

    def lose_unseen(self, unseen: Sequence[str], cases: Sequence[Case], top: FileEntry) -> None:
        """Names the variables that reach no prompt and no check. Cases that differ in nothing else
        are the same question: a loss. What code reads of them is not known.
        """
        if not unseen or self.reading.code:
            return
        names = ", ".join(f"`{name}`" for name in unseen)
        asked = Counter(
            repr((case.messages, case.prompts, case.rubric)) for case in cases if case.skip is None
        )
        most = max(asked.values(), default=0)
        unread = f"{names} of the tests' variables reach no prompt, no check and no target"
        if most > 1:
            self.reading.loss(
                f"{unread}: {most} cases ask the same",
                (*top.path, "tests") if "tests" in top else (),
                "put them into a prompt or an assertion; --accept-loss asks the same several times",
            )
        else:
            self.reading.note(f"promptfoo: {unread}")

    def changed_by_code(
        self, tests: list[tuple[Layer, ...]], base: tuple[Layer, ...]
    ) -> list[tuple[Layer, ...]]:
        """The tests with what `beforeAll` of extensions, then `transformVars`, make of them, where
        that code is run. Raises UsageError where they fail: which tests were meant is not known
        then.
        """
        run_code = self.document.run_code
        if run_code is None or not tests:
            return tests
        for extension in self.extensions:
            if extension.is_for("beforeAll"):
                given = [as_data(layers) for layers in tests]
                found, more = extended_before_all(
                    extension, self.reading.marked.value, given, run_code
                )
                tests = [
                    with_variables(layers, made) for layers, made in zip(tests, found, strict=True)
                ]
                other = self.files.other(
                    parse_marked(json.dumps(more, ensure_ascii=False), str(extension.script.file))
                )
                tests += [
                    (*base, layer)
                    for n in range(len(more))
                    for layer in self.layers.test_entry(other, (n,))
                ]
        scripts = [last_of(layers, lambda layer: layer.changes_variables) for layers in tests]
        for script in dict.fromkeys(one for one in scripts if one is not None):
            mine = [n for n, one in enumerate(scripts) if one == script]
            changed = variables_transformed(script, [as_data(tests[n]) for n in mine], run_code)
            for n, made in zip(mine, changed, strict=True):
                tests[n] = with_variables(tests[n], made)
        return tests

    def options(self, top: FileEntry) -> RunOptions:
        at = top.mapping("evaluateOptions", TABLES["run"])
        if at is None:
            return RunOptions()
        repeat = at.number("repeat", low=1, high=1000, is_whole=True)
        concurrency = at.number("maxConcurrency", low=1, high=1000, is_whole=True)
        timeout = at.number("timeoutMs", low=0)
        if repeat is not None and repeat > 1:
            self.reading.note(
                "promptfoo: every repeat is a test of its own, so all attempts have to pass (pass^k)"
            )
        return RunOptions(
            repeat=int(repeat or 1),
            concurrency=None if concurrency is None else int(concurrency),
            timeout=float(timeout) / 1000 if timeout else None,
        )


def _written(
    prompts: Sequence[Prompt], default: Layer | None, cases: CaseReading
) -> WrittenCases | None:
    """How the cases are written, where no code makes a prompt."""
    if any(prompt.script is not None for prompt in prompts):
        return None
    return WrittenCases(
        prompts=tuple(
            WrittenPrompt(label=one.id, messages=one.messages, file=one.file) for one in prompts
        ),
        defaults={} if default is None else default.variables,
        variables=cases.variables,
        tables=cases.tables,
    )


def _nothing_read(*, is_code: bool) -> Case:
    """What a config comes to whose prompts or tests are all lost, or made by code that was not run:
    one case that is skipped, and says why.
    """
    why = NOT_RUN if is_code else "missing, made by a program or on a server"
    return Case(id="not-read", rubric=undecided(), skip=f"its prompts or tests are {why}")


def _own_variables(top: FileEntry) -> dict[str, str]:
    """What a config sets under `env`. One that names another variable is of the environment, so it
    is not one of its own.
    """
    found = top.raw("env")
    plain = (
        {} if not isinstance(found, dict) else {str(name): value for name, value in found.items()}
    )
    return {
        name: str(value)
        for name, value in plain.items()
        if isinstance(value, str | int | float) and "{{" not in str(value)
    }
