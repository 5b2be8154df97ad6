"""`extensions` of an AgentV file: functions of JavaScript files that are called around each case,
and the rules for agents.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.formats.syntax.reader import FileEntry, shown
from honestone.interop.agentv.text import Texts

_BEFORE: Final = ("beforeAll", "beforeEach")
_AFTER: Final = ("afterEach", "afterAll")
_RULES: Final = late_pattern(rf"agentv:agent-rules(?::(?:{'|'.join((*_BEFORE, *_AFTER))}))?")
_FUNCTION: Final = late_pattern(rf"file://(.+):({'|'.join((*_BEFORE, *_AFTER))})")
# What Node.js runs: the function is called with what AgentV tells it, and is waited for.
_CALL: Final = (
    'const [file, name] = process.argv.slice(1), eval_dir = process.env.HONESTONE_SUITE, url = require("node:url");'
    ' import(url.pathToFileURL(require("node:path").resolve(eval_dir, file)))'
    ".then(all => (all[name] ?? all.default[name])({hook_name: name, workspace_path: process.cwd(), eval_dir,"
    " test_id: process.env.HONESTONE_CASE}, {hookName: name}))"
    ".catch(error => { console.error(String(error)); process.exit(1) })"
)


class Extensions(Struct, frozen=True, kw_only=True):
    """Command lines before and after each case, in the order in which they run."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def are_there(self) -> bool:
        """Whether there are any: they run in a workspace, which may be empty."""
        return bool(self.before or self.after)


def read_extensions(take: FileEntry, texts: Texts) -> Extensions:
    """`extensions` of a file as commands of every case. They are code of the file, so running them
    needs permission.
    """
    listed = take.raw("extensions")
    if listed is None:
        return Extensions()
    if not isinstance(listed, list):
        take.problem(f"`extensions` must be a list, not {shown(listed)}", "extensions")
        return Extensions()
    here = [
        FileEntry(take.reading, (*take.path, "extensions", index)) for index in range(len(listed))
    ]
    calls = [(hook, line) for one in here for hook, line in _call(one, texts)]
    return Extensions(
        before=tuple(line for name in _BEFORE for hook, line in calls if hook == name),
        after=tuple(line for name in _AFTER for hook, line in calls if hook == name),
    )


def _call(take: FileEntry, texts: Texts) -> Iterator[tuple[str, str]]:
    """The hook of one extension and its command line; none where nothing is to be run."""
    value = take.value
    if isinstance(value, str) and _RULES.fullmatch(value):
        take.note(
            "`agentv:agent-rules` changes no file: an agent finds its skills and rules in the workspace by itself"
        )
        return
    found = _FUNCTION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        take.reading.loss(
            f"the extension {shown(value)} is not run",
            take.path,
            "name a function: file://hooks.mjs:beforeAll",
        )
        return
    name, hook = found[1], found[2]
    path = texts.folder / name
    if not path.is_file():
        take.reading.problem(f"the extension `{name}` is not there", take.path)
        return
    texts.files.append(path)
    take.reading.runs(f"the extension `{name}`", take.path, path)
    take.note(
        "extensions run for every case, each in a workspace of its own; they are given `hook_name`, `workspace_path`, `eval_dir`"
        " and `test_id`, and what they return is not used"
    )
    yield hook, shlex.join(["node", "-e", _CALL, name, hook])
