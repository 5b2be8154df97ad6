"""Every way in which another package can extend honestone: one entry-point group each.

A package names an object in one of these groups of its own `pyproject.toml`, and the name of that
entry becomes a judge, a check, a format and so on. This module only declares the groups;
`system/plugins.py` finds and loads what is installed, and nothing else in the program does.
`docs/reference/extending.md` is written from this list.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class ExtensionPoint(Struct, frozen=True, kw_only=True):
    """One entry-point group and what an entry in it has to be.

    `noun` is what an entry adds, in error messages. `used_as` shows where its name is typed.
    `contract` is the signature of a function, or the dotted name of the class that the object must
    be an instance of. `rules` are what the contract asks beyond its types. `checked_by` is the
    function of `honestone.testing` that tests an implementation.
    """

    group: str
    noun: str
    used_as: str
    contract: str
    rules: str
    example: str
    checked_by: str = ""

    @property
    def is_function(self) -> bool:
        return "->" in self.contract


JUDGES: Final = ExtensionPoint(
    group="honestone.judges",
    noun="judge",
    used_as="--judge NAME, --judge NAME:REST",
    contract="(rest: str, context: honestone.adapters.context.AdapterContext) -> honestone.ports.Judge",
    rules="`rest` is the text after the colon, or empty. The judge's `identity` names everything that affects its "
    "answers, and no secret: it is part of the contract of a run. A call that fails raises "
    "`honestone.ports.CallFailed`.",
    example='house = "my_package.judges:make_judge"',
    checked_by="check_judge",
)
WORKERS: Final = ExtensionPoint(
    group="honestone.workers",
    noun="worker",
    used_as="--worker NAME, --worker NAME:REST",
    contract="(rest: str, context: honestone.adapters.context.AdapterContext) -> honestone.ports.Worker",
    rules="The worker edits the private copy that `propose` gets, and nothing else. What it changed is read from "
    "the bytes, not from its report.",
    example='editor = "my_package.workers:make_worker"',
    checked_by="check_worker",
)
TARGETS: Final = ExtensionPoint(
    group="honestone.targets",
    noun="target",
    used_as="--target NAME, --target NAME:REST, `target:` of a suite",
    contract="(rest: str, context: honestone.adapters.context.AdapterContext) -> honestone.ports.Target",
    rules="`context.cases` are the cases of the suite, `context.suite_folder` is the folder of its file. A task that "
    "fails is an `Output` with an `error`, not an exception.",
    example='service = "my_package.targets:make_target"',
)
CHECKS: Final = ExtensionPoint(
    group="honestone.checks",
    noun="check",
    used_as="`check: {NAME: ARGUMENT}` of a rubric, and `not-NAME`",
    contract="honestone.core.checking.checks.AddedCheck",
    rules="The check is about one text. Its `kind` says what argument it takes, as JSON Schema. Its `look` turns that "
    "argument into a function from a text to the reason why the text fails, or None. A look that cannot decide raises "
    "`honestone.core.checking.gave_up.GaveUp`, which `not-NAME` does not turn into a pass. The name and version of the package "
    "are part of the contract of a run.",
    example='shouts = "my_package.checks:SHOUTS"',
)
FORMATS: Final = ExtensionPoint(
    group="honestone.formats",
    noun="format",
    used_as="any file of its kind; --as NAME",
    contract="honestone.interop.reader.Reader",
    rules="`signs` rates from 0 to 100 how surely a document is of this format, by content and never by file name. "
    "`read` gives a suite or a rubric; what it cannot represent is a loss with a place, never dropped in silence.",
    example='mytool = "my_package.honestone_format:READER"',
)
REPORTS: Final = ExtensionPoint(
    group="honestone.reports",
    noun="report format",
    used_as="show --format NAME",
    contract="(document: dict[str, Any]) -> str",
    rules="The document is what `--json` prints; `honestone show --schema KIND` has its schema. The text is printed "
    "as it is. A report computes no score. A name that honestone has itself stays honestone's.",
    example='wiki = "my_package.wiki:render"',
)
STORES: Final = ExtensionPoint(
    group="honestone.stores",
    noun="store",
    used_as="--store NAME:REST, the variable HONESTONE_STORE",
    contract="(rest: str, folder: pathlib.Path, readonly: bool) -> honestone.ports.Store",
    rules="`folder` is where this project keeps files of its own. The store must outlive a killed process at any "
    "write: `check_store` tries that, locks, and every other promise of the port.",
    example='vault = "my_package.store:open_store"',
    checked_by="check_store",
)

EXTENSION_POINTS: Final = (JUDGES, WORKERS, TARGETS, FORMATS, CHECKS, REPORTS, STORES)
