"""Configs run by the real promptfoo and by ours: the same verdict for each case and assertion, the
same scores.

What differs on purpose is in docs/from-promptfoo.md, and DIFFERENT says here how.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from honestone.core.json_value import Json

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.119.0"
"""The last one that runs with Node 20."""
FOLDER = ROOT / os.environ.get("CLIS_DIR", ".clis") / f"promptfoo-{VERSION}"

_RUN = """
const fs = require('fs');
const path = require('path');
const promptfoo = require(process.argv[2]);
(async () => {
  const folder = process.argv[3];
  const found = {};
  process.chdir(folder);
  for (const name of fs.readdirSync(folder).filter((one) => /^c\\d+\\.json$/.test(one)).sort()) {
    const config = JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8'));

    const done = await promptfoo.evaluate({ ...config, writeLatestResults: false }, { maxConcurrency: 1, cache: false });
    const results = done.results || (await done.toEvaluateSummary()).results;
    found[name] = results.map((one) => ({
      prompt: one.promptIdx, test: one.testIdx, output: one.response && one.response.output,
      pass: one.success, score: one.score,
      parts: ((one.gradingResult && one.gradingResult.componentResults) || [])
        .map((part) => ({ type: part.assertion && part.assertion.type, pass: part.pass, score: part.score })),
    }));
  }
  fs.writeFileSync(path.join(folder, 'theirs.json'), JSON.stringify(found));
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
"""

A, B = "The quick brown fox jumps over the lazy dog", "I am sorry, I cannot help with that."


def is_(type: str, value: Json = None, **more: Json) -> dict[str, Json]:
    return {"type": type, **({} if value is None else {"value": value}), **more}


def config(*tests: Json, prompt: str = "{{q}}", **more: Json) -> dict[str, Json]:
    return {"prompts": [prompt], "providers": ["echo"], "tests": list(tests), **more}


def said(output: str, *asserts: Json, **more: Json) -> dict[str, Json]:
    """A test whose output is this text."""
    return {"vars": {"q": output}, "assert": list(asserts), **more}


CONFIGS: list[dict[str, Json]] = [
    config(
        said(A, is_("contains", "fox")),
        said(A, is_("contains", "cat")),
        said(A, is_("contains", "FOX")),
    ),
    config(said(A, is_("icontains", "FOX"), is_("starts-with", "The"), is_("starts-with", "the"))),
    config(said(A, is_("equals", A)), said(A, is_("equals", "fox")), said("42", is_("equals", 42))),
    config(
        said(
            A,
            is_("not-contains", "cat"),
            is_("not-icontains", "DOG"),
            is_("not-equals", "x"),
            is_("not-starts-with", "A"),
        )
    ),
    config(
        said(A, is_("contains-any", ["cat", "fox"])),
        said(A, is_("contains-all", ["cat", "fox"])),
        said(A, is_("contains-all", "quick, dog")),
    ),
    config(
        said(A, is_("icontains-any", ["CAT", "FOX"])),
        said(A, is_("icontains-all", ["QUICK", "DOG"])),
        said(A, is_("not-contains-any", ["cat", "cow"])),
    ),
    config(
        said(A, is_("regex", "qu[a-z]+k")),
        said(A, is_("regex", "^fox")),
        said(A, is_("not-regex", "\\d")),
    ),
    config(
        said('{"a": 1}', is_("is-json")),
        said("{a: 1}", is_("is-json")),
        said("nothing", is_("not-is-json")),
    ),
    config(
        said('{"a": 1}', is_("is-json", {"type": "object", "required": ["a"]})),
        said('{"a": 1}', is_("is-json", {"type": "object", "required": ["b"]})),
    ),
    config(
        said('{"a": "x"}', is_("is-json", {"properties": {"a": {"type": "number"}}})),
        said('{"a": 1}', is_("is-json", "required: [a]\ntype: object")),
    ),
    config(
        said('so: {"a": 1} end', is_("contains-json")),
        said("so: none", is_("contains-json")),
        said("so: none", is_("not-contains-json")),
    ),
    config(
        said('so: {"a": 1} end', is_("contains-json", {"type": "object", "required": ["a"]})),
        said('so: {"a": 1} end', is_("contains-json", {"type": "object", "required": ["b"]})),
    ),
    config(said(A, is_("contains", "fox", weight=3), is_("contains", "cat", weight=1))),
    config(
        said(A, is_("contains", "fox", weight=3), is_("contains", "cat", weight=1), threshold=0.75),
        said(A, is_("contains", "fox"), is_("contains", "cat"), threshold=0.51),
    ),
    config(
        said(A, {"type": "assert-set", "assert": [is_("contains", "fox"), is_("contains", "dog")]}),
        said(A, {"type": "assert-set", "assert": [is_("contains", "fox"), is_("contains", "cat")]}),
    ),
    config(
        said(
            A,
            {
                "type": "assert-set",
                "threshold": 0.5,
                "weight": 2,
                "assert": [is_("contains", "fox"), is_("contains", "cat")],
            },
            is_("contains", "dog"),
        )
    ),
    config(
        said(A, is_("contains", "fox")),
        said(A, is_("contains", "cat"), options={"disableDefaultAsserts": False}),
        defaultTest={"assert": [is_("contains", "dog")]},
    ),
    config(
        {"assert": [is_("contains", "fox")]},
        {"vars": {"q": "other"}, "assert": [is_("contains", "fox")]},
        defaultTest={"vars": {"q": A}},
    ),
    config(
        {
            "vars": {"q": ["a fox", "a cat"], "w": ["fox", "cow"]},
            "assert": [is_("contains", "{{w}}")],
        }
    ),
    config(
        {
            "vars": {"q": "x", "xs": ["a", "b"]},
            "options": {"disableVarExpansion": True},
            "assert": [is_("equals", "x A B 2 done")],
        },
        prompt="{{q}}{% for x in xs %} {{x|upper}}{% endfor %} {{ xs | length }}{% if q == 'x' %} done{% else %} not{% endif %}",
    ),
    config(
        {
            "vars": {"q": " Mixed Case ", "o": {"k": [1, 2]}},
            "assert": [is_("equals", "mixed case|1,2|none")],
        },
        prompt="{{ q | trim | lower }}|{{ o.k | join(',') }}|{{ gone or 'none' }}",
    ),
    config(
        said(
            A,
            is_("starts-with", "Say: The"),
            is_("contains", "dog!"),
            options={"prefix": "Say: ", "suffix": "!"},
        )
    ),
    config(
        said("kitten", is_("levenshtein", "sitting", threshold=3)),
        said("kitten", is_("levenshtein", "sitting", threshold=2)),
        said("kitten", is_("levenshtein", "kitchen")),
    ),
    config(
        said("the cat sat", is_("rouge-n", "the cat sat", threshold=0.9)),
        said("the cat", is_("rouge-n", "the cat sat on", threshold=0.5)),
        said("a dog", is_("rouge-n", "the cat sat on")),
    ),
    config(
        said("the cat sat", is_("not-rouge-n", "the cat stood on a mat")),
        said("one two", is_("not-rouge-n", "one two")),
    ),
    config(
        said(A, is_("bleu", A)),
        said(A, is_("bleu", "The quick brown fox runs over the lazy dog", threshold=0.3)),
        said(A, is_("bleu", ["x y z", A], threshold=0.9)),
    ),
    config(
        said(A, is_("gleu", A)),
        said(A, is_("gleu", "The quick brown cat jumps", threshold=0.9)),
        said(A, is_("not-gleu", "something else")),
    ),
    config(
        said(B, is_("is-refusal")),
        said(A, is_("is-refusal")),
        said(A, is_("not-is-refusal")),
        said("I can't assist with that request.", is_("is-refusal")),
    ),
    config(
        said(
            A,
            is_("contains", "cat", weight=0),
            is_("contains", "fox"),
            is_("contains", "dog", metric="dogs"),
        )
    ),
    config(said(A, is_("latency", threshold=100_000), is_("contains", "fox"))),
    config(
        said(
            "one\ntwo",
            is_("contains", "one\ntwo"),
            is_("regex", "^one.two$"),
            is_("not-regex", "^two"),
        )
    ),
    {
        "prompts": ["{{q}} one", "{{q}} two"],
        "providers": ["echo"],
        "tests": [said("x", is_("contains", "one")), said("x", is_("contains", "x"))],
    },
    {
        "prompts": ["{{q}} {{w}}"],
        "providers": ["echo"],
        "scenarios": [
            {
                "config": [{"vars": {"q": "a"}}, {"vars": {"q": "b"}}],
                "tests": [{"vars": {"w": "c"}, "assert": [is_("equals", "a c")]}],
            }
        ],
    },
    config(
        said("Grüße, Zoë ✓", is_("contains", "Zoë"), is_("icontains", "GRÜSSE"), is_("regex", "✓$"))
    ),
    config({"vars": {"q": "file://words.txt"}, "assert": [is_("contains", "from a file")]}),
    config(
        {"vars": {"q": [1, 2]}, "assert": [is_("equals", "1,2,")]},
        {"vars": {"q": ["1", "2"]}, "assert": [is_("equals", "1,")]},
        prompt="{% for one in q %}{{one}},{% endfor %}",
    ),
    config(
        {
            "vars": {"q": [{"user": "a"}, {"assistant": "b"}]},
            "assert": [is_("equals", "user=a assistant=b ")],
        },
        prompt="{% for one in q %}{% for role, said in one %}{{role}}={{said}} {% endfor %}{% endfor %}",
    ),
    config(
        {"vars": {"q": {"k": "v"}}, "assert": [is_("equals", "kv|")]},
        prompt="{% for k, v in q %}{{k}}{{v}}{% endfor %}|{% for one in q %}{{one}}{% endfor %}",
    ),
    config(said(A, is_("contains", "fox")), derivedMetrics=[{"name": "twice", "value": "Fox * 2"}]),
    config(
        said(A, is_("contains", "fox", reason="said so"), is_("contains", "cat", reason="wrong"))
    ),
    {
        "prompts": ["file://ask.cjs", "file://ask.cjs:short", "file://ask.py:ask"],
        "providers": ["echo"],
        "tests": [
            said("a fox", is_("contains", "a fox asked")),
            said("x", is_("contains", "x {{r}}"), is_("contains", "!")),
        ],
    },
    config(prompt="{{q}}", tests="file://made.cjs"),
    config(
        "file://made.cjs:more",
        {"path": "file://made.py:more", "config": {"word": "dog"}},
        "file://made.py",
    ),
    config(
        said('{"a": 1}', is_("is-json", False), tags=["a"], priority="high"),
        said("no", is_("is-json", False)),
        envPath=".env",
        passRateThreshold=0.5,
        vars={"q": "other"},
        maxConcurrency=2,
    ),
    config(
        said("x", is_("equals", "x--no")),
        prompt="{{q}}-{{a.b.c}}-{% if a.b.c %}yes{% else %}no{% endif %}",
    ),
    {
        "prompts": [{"raw": "{{q}} one", "label": "a"}, {"raw": "{{q}} two", "label": "b:c"}],
        "providers": [{"id": "echo", "prompts": ["b"]}],
        "tests": [said("x", is_("contains", "one")), said("x", is_("contains", "two"))],
    },
    {
        "prompts": ["{{q}}"],
        "providers": ["exec: false"],
        "defaultTest": {"provider": {"id": "echo"}},
        "tests": [
            said("x", is_("contains", "x")),
            said("x", is_("contains", "y"), name="second", expected="x"),
        ],
    },
    {
        "prompts": ["{{q}} {{r}}", "two: {{q}}"],
        "providers": ["echo"],
        "extensions": ["file://hooks.cjs"],
        "defaultTest": {
            "options": {"transformVars": "({ ...vars, r: String(vars.q).toUpperCase() })"}
        },
        "tests": [
            said(["a", "b"], is_("contains", "!")),
            said("c", is_("equals", "c! C")),
            {
                "vars": {"q": "d"},
                "options": {"transformVars": "const r = vars.q;\nreturn { r };"},
                "assert": [is_("equals", "d! d")],
            },
        ],
    },
    config(said("x", is_("equals", "x before each")), extensions=["file://hooks.py:before"]),
    config(
        said(
            "x",
            is_("javascript", "context.vars.r === 2"),
            options={"transformVars": "file://only.cjs:more"},
        )
    ),
    config(
        said("<p>hi</p>", is_("is-html"), is_("contains-html"), is_("not-is-xml", "p.b")),
        said("hello", is_("not-is-html"), is_("contains-html")),
        said(
            "see <div>x</div> here", is_("is-html"), is_("contains-html"), is_("not-contains-html")
        ),
        said(
            "<a><b>1</b></a>",
            is_("is-xml"),
            is_("is-xml", "a.b, a"),
            is_("is-xml", {"requiredElements": ["a.c"]}),
        ),
        said(
            "so <a><b>1</b></a> it is",
            is_("is-xml"),
            is_("contains-xml"),
            is_("contains-xml", ["a.b"]),
        ),
        said("<a><b></a>", is_("is-xml")),
        said("Here: <html><body>x</body></html>", is_("is-html")),
    ),
    config(
        said("٣", is_("regex", r"^\d$")),
        said("né", is_("regex", r"^\w+$"), is_("not-regex", r"\bé")),
        said("café au", is_("regex", r"caf\b")),
        said("a\u2028b", is_("regex", "^a.b$")),
        said("😀", is_("regex", "^..$"), is_("regex", "^.$")),
    ),
    config(
        said("abc", is_("regex", r"\Aabc\Z"), is_("regex", "^a{,2}$")),
        said("p{L}", is_("regex", r"^\p{L}$")),
        said("fox\n", is_("regex", "fox$")),
    ),
    config(
        said("xyz", is_("not-regex", "(?i)abc"), is_("regex", "(?P<x>a)")),
        said("aa", is_("regex", r"(a)\1"), is_("regex", "(?:a*)*$")),
    ),
    config(
        said("Straße", is_("icontains", "STRASSE"), is_("icontains-any", "x, STRASSE")),
        said("e\u0301", is_("contains", "é")),
        said("a\r\nb", is_("starts-with", "a\nb"), is_("contains", "a\r\nb")),
    ),
    config(
        said("a\n", is_("equals", "a"), is_("not-equals", "a")),
        said("true", is_("equals", True)),
        said('{"a": 1.0}', is_("equals", {"a": 1}), is_("equals", {"a": True})),
    ),
    config(
        said("[1, 2]", is_("contains-json"), is_("not-contains-json")),
        said("see {a: 1} there", is_("contains-json", {"required": ["a"]})),
        said('end {"a": {"b": 1', is_("contains-json", {"required": ["a"]})),
    ),
    config(
        said('{"e": "nope"}', is_("is-json", {"properties": {"e": {"format": "email"}}})),
        said('{"e": "a@b.c"}', is_("is-json", {"properties": {"e": {"format": "email"}}})),
        said('"2023-02-29"', is_("is-json", {"type": "string", "format": "date"})),
    ),
    config(
        said('[1, "a"]', is_("is-json", {"items": [{"type": "number"}, {"type": "string"}]})),
        said("[1, 2]", is_("is-json", {"items": [{"type": "number"}, {"type": "string"}]})),
        said('"٣"', is_("is-json", {"type": "string", "pattern": r"^\d$"})),
    ),
    config(
        said('{"ab": 1}', is_("is-json", {"patternProperties": {"^a": {"type": "string"}}})),
        said('{"ab": 1}', is_("is-json", {"propertyNames": {"maxLength": 1}})),
        said('{"ab": 1}', is_("contains-json", {"additionalProperties": False})),
    ),
    config(
        said("a, b", is_("contains-all", "a, b"), is_("not-contains-all", ["a", "c"])),
        said("A", is_("icontains-all", ["a"]), is_("not-icontains-any", ["b"])),
    ),
]

FILES: Final[Mapping[str, str]] = {
    "words.txt": "words from a file",
    "ask.cjs": """
module.exports = async ({ vars, provider }) => `${vars.q} asked of ${provider.id} {% raw %}{{r}}{% endraw %}!`;
module.exports.short = ({ vars }) => [{ role: 'system', content: 'Be brief' }, { role: 'user', content: '{{q}} asked' }];
""",
    "hooks.cjs": """
module.exports = (hook, context) => {
  if (hook === 'beforeAll') {
    context.suite.tests.push({ vars: { q: 'added' }, assert: [{ type: 'contains', value: 'added!' }] });
    return context;
  }
  if (hook === 'beforeEach') {
    context.test.vars.q = `${context.test.vars.q}!`;
    return context;
  }
};
""",
    "hooks.py": """
def before(hook, context):
    if hook == "beforeEach":
        context["test"]["vars"]["q"] += " before each"
        return context
""",
    "only.cjs": """
module.exports = {
  more: (vars) => ({ r: 2 }),
};
""",
    "ask.py": """
def ask(context):
    return {"prompt": context["vars"]["q"] + " asked " + context["provider"]["id"] + "!"}
""",
    "made.cjs": """
const one = (q) => ({ description: q, vars: { q }, assert: [{ type: 'contains', value: 'fox' }] });
module.exports = () => [one('a fox'), one('a cat')];
module.exports.more = async () => [one('more foxes')];
""",
    "made.py": """
def more(config):
    return [{"vars": {"q": config["word"]}, "assert": [{"type": "equals", "value": "{{q}}"}]}]

def generate_tests(config=None):
    return [{"vars": {"q": "cow"}, "assert": [{"type": "contains", "value": str(config)}]}]
""",
}
"""What the configs name."""

MARKUP: Final = next(
    number for number, one in enumerate(CONFIGS) if "contains-html" in json.dumps(one)
)

DIFFERENT: Mapping[tuple[int, int], str] = {
    (MARKUP, 5): "`is-xml` takes tags that are not closed",
    (MARKUP, 6): "`is-html` takes words around a page",
}
"""(config, case): why they differ, which docs/from-promptfoo.md says too."""


def _install() -> Path:
    """promptfoo in a folder of its own below .clis/, once."""
    main = FOLDER / "node_modules/promptfoo"
    if not main.is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER.parent / ".gitignore").write_text("*\n")
        # Without what only other providers need, and without its own database, which `evaluate`
        # does not use.
        options = ["--no-fund", "--no-audit", "--silent", "--ignore-scripts", "--omit=optional"]
        command = [
            "npm",
            "install",
            *options,
            "--prefix",
            str(FOLDER),
            f"promptfoo@{VERSION}",
            "axios@1",
        ]
        subprocess.run(command, check=True, timeout=900, stdin=subprocess.DEVNULL)
    return main


def promptfoo_folder() -> Path:
    """Where promptfoo is installed; the test is skipped where it cannot be."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are needed for the real promptfoo")
    return _install()


@pytest.fixture(scope="module")
def theirs(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """The folder of the configs, and what promptfoo makes of each."""
    main = promptfoo_folder()
    folder = tmp_path_factory.mktemp("promptfoo")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "run.cjs").write_text(_RUN)
    for number, one in enumerate(CONFIGS):
        (folder / f"c{number:02}.json").write_text(json.dumps(one))
    environment = {
        **os.environ,
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_CONFIG_DIR": str(folder / "home"),
        "PROMPTFOO_PYTHON": sys.executable,
    }
    done = subprocess.run(
        ["node", "run.cjs", str(main), str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder, json.loads((folder / "theirs.json").read_text())


def _ours(folder: Path, number: int) -> list[dict[str, Any]]:
    command = [
        str(Path(sys.executable).with_name("honestone")),
        "eval",
        f"c{number:02}.json",
        "--allow-code",
        "--json",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    if "columns" not in document:
        return list(document["cases"])
    # A column a prompt; promptfoo has no result for a test that is not for it.
    by_column = zip(*(case["cells"] for case in document["cases"]), strict=True)
    return [cell for cells in by_column for cell in cells if cell["attempts"]]


@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_promptfoo_and_honestone_agree(
    theirs: tuple[Path, dict[str, list[dict[str, Any]]]], number: int
) -> None:
    """Case by case and assertion by assertion."""
    folder, found = theirs
    results = sorted(found[f"c{number:02}.json"], key=lambda one: (one["prompt"], one["test"]))
    cases = _ours(folder, number)
    assert len(cases) == len(results)
    for at, (case, real) in enumerate(zip(cases, results, strict=True)):
        is_same = (case["verdict"] == "pass") == real["pass"]
        scores = [mark["score"] / 100 for mark in case["criteria"]]
        is_same = is_same and scores == pytest.approx(
            [part["score"] for part in real["parts"]], abs=1e-9
        )
        assert is_same != ((number, at) in DIFFERENT), (at, case["verdict"], scores, real)
