"""The reference page of the Python functions, made from their signatures and docstrings; `docs.py`
writes it to a file.

Its examples are run by `tests/docs/test_python_page.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import honestone
import honestone.api
from honestone.app.keywords import JudgingKeywords

OPENING = """\
Every command that judges or improves is a function, with its options as keywords. What is wrong with a call raises
`honestone.UsageError`, with what to do as a note; what a judge, target or worker cannot do is in the result. The examples of this
page run as they are, in a folder with the file `README.md`.

## Texts and files

A `Path` is a file or folder, a `str` is a text. Where a text is the name of a file that is there, the call is refused: write
`Path("README.md")` for the file, or `Text("README.md")` for these nine characters.

```python
>>> from pathlib import Path
>>> import honestone
>>> from honestone import Text
>>> polite = {"criteria": [{"id": "thanks", "check": {"icontains": "thank you"}}]}
>>> honestone.evaluate("Thank you, we are open.", polite)
<Evaluated pass, 100.0 of 100: text>
>>> honestone.evaluate(Path("README.md"), polite).passed
False
>>> honestone.evaluate("README.md", polite)
Traceback (most recent call last):
    ...
honestone.core.errors.UsageError: `artifact` is the text 'README.md', and a file or folder has this name
Path('README.md') for what is there, Text('README.md') for the text itself

```

Many are one call and one run: the rubric is read once, judges are asked about several at a time, and the results are in order.

```python
>>> [one.score for one in honestone.evaluate_many(["Thank you!", "No.", Path("README.md")], polite)]
[100.0, 0.0, 0.0]

```

In a loop of your own, read the rubric once (`honestone.read_rubric("rubric.yaml")`) and hand in what you got; connections and the
store stay open from one call to the next.

A rubric is a `Rubric`, the `Path` of a file, a dict or list as the file holds it, or a `str`: the name of a file, else YAML. A suite
is a `Path` or a name, a `Suite`, a dict, a list of cases, or a DataFrame: a case in each row, columns that are no key of a case are
its `vars`. `artifact` of `run_suite` and `improve` is always a file, unless it is a `Text`.

## Functions as judges, targets and workers

All may be `async`. One that raises or takes too long is data: the judge abstains, the case is a `target-error`, the round has no
change; its words are in the result.

A **judge** is called with the request that `script:` judges read as JSON ([all of it](../judges.md)), and returns what they print:
an object, its JSON text, or `True` or `False` where one yes/no question is asked.

```python
>>> def brief(request):
...     words = request["artifact"]["text"].split()
...     met = len(words) < 10
...     return {"criteria": {"short": {"met": met, "evidence": f"{len(words)} words"}}}
>>> rubric = {"criteria": [{"id": "short", "requirement": "It is short"}]}
>>> honestone.evaluate("We close at six.", rubric, judges=[brief]).verdict
'pass'

```

A **target** is called with the input of a case (several messages: a list of `{"role": ..., "content": ...}`) and returns the output
as a text, or `{"output": TEXT, ...}` with a trace. If it takes a second argument, or one that is called `artifact`, it gets the path
of a private copy of the artifact.

```python
>>> suite = [
...     {"id": "greets", "input": "Hello", "checks": [{"contains": "Hello"}]},
...     {"id": "thanks", "input": "Bye", "checks": [{"contains": "Thank you"}]},
... ]
>>> def echo(input):
...     return f"You said: {input}"
>>> result = honestone.run_suite(suite, target=echo)
>>> [(case.id, case.status, case.output) for case in result.cases]
[('greets', 'passed', 'You said: Hello'), ('thanks', 'failed', 'You said: Bye')]
>>> def prompted(input, artifact):
...     return artifact.read_text() + input
>>> honestone.run_suite(suite, target=prompted, artifact=Text("Thank you, Hello. ")).passed
True

```

A **worker** is called with the path of a private copy and the brief (a text). It edits the copy and returns `None`, or returns the
whole new text of a file.

```python
>>> def sign(path, brief):
...     path.write_text(path.read_text() + "Thank you for reading.\\n")
>>> done = honestone.improve(Path("README.md"), polite, worker=sign)
>>> done.result, done.passed, Path("README.md").read_text().splitlines()[-1]
(<Result.PASSED: 'PASSED'>, True, 'Thank you for reading.')

```

Functions that block run in threads of their own, so many at a time as `concurrency` says (`run_suite`: 8), so they must be safe for that.
One that takes too long is given up, not ended: Python cannot end a thread. Nothing that a function said is taken from the record,
and the contract holds its name alone: whether two runs used the same code, only you know. Functions run in your process; a target
as a process of its own is `python:MODULE:FUNCTION`.

### `python:MODULE:FUNCTION`

This target is called like a function of yours, in processes of its own: one for each case at a time, each of which imports the module
once and stays. It has few variables ([`--pass-env`](cli.md) adds some); its working directory is the workspace of the case,
else yours; what it prints is not output, and `$HONESTONE_CASE`, `$HONESTONE_ATTEMPT` and `$HONESTONE_ARTIFACT` are set for each call. A
process that hangs or dies is ended with all that it started; its case is a `target-error` and another process takes its place.

**There is no isolation between the cases of one process:** what the module keeps in its variables is there in the next case, and a
program that a case leaves running ends with the process. Where that matters, write `cmd:python my_target.py`, which is a new process for
each case. With a skill as the artifact each case has a process, a home and a folder of its own.

## Results

They are frozen, print in a line, show a table in a notebook, and read like the document that the command prints with `--json`.

```python
>>> result
<SuiteResult fail, 1 of 2 cases passed: suite, run 01...>
>>> result.passed, result.verdict, result["pass_rate"]
(False, 'fail', 0.5)
>>> result.to_dict()["schema"]
'honestone.report/1'
>>> better = honestone.run_suite(suite, target=lambda input: f"Thank you. {input}")
>>> honestone.compare(better, result).regressions
['thanks']

```

What a case misses is in the last column of the table, `reason`. `case.reasons` says which criterion is below which bar, and
`case.error` why a target gave no output:

```python
>>> result.rows[1]
('thanks', 'failed', 0.0, 'You said: Bye', "contains 'Thank you': not found")
>>> unable = honestone.run_suite(suite, target=len)
>>> unable.cases[0].status, unable.rows[0][-1]
('target-error', 'it returned int, not a text')

```

`result.to_frame()` is the same table as a DataFrame, where pandas is installed. Several targets are a table with a column for each:

```python
>>> table = honestone.run_suite(suite, target=[echo, str.upper], pick=True)
>>> [(column.name, column.verdict) for column in table.columns], table.pick
([('echo()', 'fail'), ('upper()', 'fail')], None)

```

"""

LOOPS = """\
## In an event loop

`aevaluate`, `aevaluate_many`, `arun_suite`, `aimprove` and `acompare` take what the others take, and are awaited: the loop goes on
meanwhile, and several at once run side by side. Coroutines of yours run in that loop, with the clients that were made in it. A cancel
ends the work as Ctrl-C does. The plain functions also work where a loop runs, as in a notebook, and block it.

```python
>>> import asyncio
>>> async def judge(request):
...     await asyncio.sleep(0)
...     return True
>>> async def both():
...     return await asyncio.gather(*(honestone.aevaluate(text, rubric, judges=[judge]) for text in ("One.", "Two.")))
>>> [one.passed for one in asyncio.run(both())]
[True, True]

```

## In tests

`assert_passes` raises AssertionError with what an output misses; the [pytest plugin](../suites.md#as-tests) has it as a fixture.

```python
>>> honestone.assert_passes("No.", polite)
Traceback (most recent call last):
    ...
AssertionError: ✗ contains 'thank you' in any case  not found
output  No.

```
"""

FUNCTIONS = ("evaluate", "evaluate_many", "run_suite", "improve", "compare", "assert_passes")
RESULTS = ("Evaluated", "SuiteResult", "TableResult", "ImprovementResult", "ComparisonResult")


def python_page() -> str:
    """The body of the page."""
    parts = [OPENING, *_attributes(), LOOPS, "## Reference\n"]
    judging = ", ".join(f"`{name}`" for name in JudgingKeywords.__annotations__)
    parts.append(
        "Keywords are the options of the command of the same name, with `_` for `-`: [the command](cli.md) says what each\n"
        "means. `folder` is where relative paths start, `store` the folder of the store in it. `**options` are\n"
        f"{judging}.\n"
    )
    for name in FUNCTIONS:
        parts += [f"### `{name}`\n", _signature(name), _doc(_function(name))]
    return "\n".join(parts).rstrip() + "\n"


def _attributes() -> Iterator[str]:
    yield "| result | of | has |\n| --- | --- | --- |"
    of = dict(
        zip(
            RESULTS,
            ("evaluate", "run_suite", "run_suite of several", "improve", "compare"),
            strict=True,
        )
    )
    for name in RESULTS:
        found = getattr(honestone, name)
        names = [
            n
            for n, one in inspect.getmembers(found)
            if not n.startswith("_") and _is_attribute(one)
        ]
        names += [n for n in found.__dataclass_fields__ if not n.startswith("_") and n not in names]
        yield f"| `{name}` | {of[name]} | {', '.join(f'`{n}`' for n in sorted(names) if n not in _INNER)} |"
    yield ""


_INNER = (
    "headline",
    "rows",
    "heads",
    "record",
    "improvement",
    "report",
    "gate",
    "scorecard",
    "ballots",
    "outcome",
)


def _is_attribute(one: object) -> bool:
    return isinstance(one, property) or type(one).__name__ == "cached_property"


def _signature(name: str) -> str:
    shown = []
    is_keyword = False
    for parameter in inspect.signature(_function(name)).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(
            ("**" if parameter.kind is parameter.VAR_KEYWORD else "") + parameter.name + default
        )
    lines, row = [], f"{name}("
    for number, part in enumerate(shown):
        part += ", " if number < len(shown) - 1 else ")"
        if len(row) + len(part.rstrip()) > 100:
            lines.append(row.rstrip())
            row = "    "
        row += part
    return "```python\n" + "\n".join([*lines, row]) + "\n```\n"


def _function(name: str) -> Callable[..., object]:
    """The function itself, also where the module `honestone.evaluate` was imported and takes its
    place.
    """
    module = vars(honestone.api) if name in vars(honestone.api) else vars(honestone)
    found: Callable[..., object] = module.get(name) or getattr(honestone, name)
    return found


def _doc(function: Callable[..., object]) -> str:
    return inspect.cleandoc(function.__doc__ or "") + "\n"
