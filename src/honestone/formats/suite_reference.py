"""The reference page of the suite format, in Markdown. Made from `suite_fields`."""

from __future__ import annotations

from honestone.core.suite.case import SUITE_VERSION
from honestone.formats.reference import section
from honestone.formats.suite_fields import CASE, GIT, IN_FILE, IN_FILES, MESSAGE, SUITE, TAKES, TARGET, WORKSPACE

EXAMPLE = """\
suite: 1
title: Reviewing SQL
target: {use: claude, skill: true, timeout: 120}
threshold: 80
attempts: 2
attempt_rule: pass^k
rubric:
  - Says in one sentence whether the query is safe
cases:
  - id: injection
    input: "Review: query = f'SELECT * FROM users WHERE id = {user_id}'"
    reference: Should name the injection and the fix
    rubric: [Names the injection, Suggests parameters]
    checks: [{icontains: parameter}]
    split: test
  - id: harmless
    input:
      - {role: system, content: You review database code.}
      - {role: user, content: "Review: SELECT count(*) FROM users"}
    rubric:
      threshold: 100
      floor: 0
      criteria:
        - id: raises-no-alarm
          requirement: Says that nothing is wrong
    tags: [false-alarm]
  - id: fixes-the-file
    input: Make app.py safe.
    workspace: {files: {app.py: "db.execute(f'DELETE FROM t WHERE id = {x}')"}}
    checks:
      - {icontains: safe}
      - {command: python -m py_compile app.py}
"""

_RULES = """\
- For each case the target makes an output from the input; judges and checks score it against the case's rubric.
- The suite's rubric, the case's own and its checks together are the top-level criteria of one rubric.
- Threshold and floor are the case's own rubric's where it is a whole one that names them; else the shared rubric's; else
  the suite's `threshold` and `floor`; else 70 and 60.
- `attempts`, `attempt_rule`, `timeout` and `workspace` of a case replace the suite's. `setup` and `teardown` of
  both run: the suite's set-up first, its teardown last.
- A case is `passed`, `failed`, `inconclusive` (judges did not settle it), `target-error` (no output, so no score) or
  `skipped`. The suite passes when every case that was not skipped has passed.
"""

_FILE_RULES = """\
- Files are YAML 1.2 or JSON, as rubric files are: unknown and doubled keys are errors, ids are text as written (`off`,
  `no` and `1.0` are ids), all errors of a file are shown at once, each with its place and its case.
- Paths are relative to the suite file. Files that are named by `{file: PATH}` are read with the suite, and are not part of
  the artifact.
- A case without a `split` gets one by a stable hash of its id: 60 of 100 train, 20 val, 20 test.
"""


def suite_reference() -> str:
    """The whole page."""
    lines = [
        "# Suite reference",
        "",
        "A suite is a named set of cases: inputs for a target, and what its outputs are judged by.",
        f"This page describes format version {SUITE_VERSION}.",
        "It is generated from the program: it cannot say anything that the program does not do.",
        "",
        "```yaml",
        *EXAMPLE.splitlines(),
        "```",
        "",
        "## How it is scored",
        "",
        *_RULES.splitlines(),
        "",
        "## How files are read",
        "",
        *_FILE_RULES.splitlines(),
        "",
    ]
    for title, shape in (
        ("The suite", SUITE),
        ("A case", CASE),
        ("The target", TARGET),
        ("The workspace", WORKSPACE),
        ("A repository", GIT),
        ("A message", MESSAGE),
        ("A file", IN_FILE),
        ("Several files", IN_FILES),
    ):
        lines += section(title, shape, TAKES)
    lines += ["Criteria, rubrics and checks: see the [rubric reference](rubric.md) and the [checks](checks.md)."]
    return "\n".join(lines) + "\n"
