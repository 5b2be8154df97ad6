"""A store with runs whose names, texts and numbers are hard to lay out: long words without a space,
Chinese, Japanese and Korean, many rows, many judges, a judge that fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

HONESTONE = Path(sys.executable).parent / "honestone"
LONG = "an_identifier_that_nobody_would_type_twice_but_that_tools_write_" * 2
CJK = "返品の手続きを三つの段階で説明し、期限と連絡先を必ず書いてください。고객에게정중하게답합니다"
WORDS = (LONG[:90], CJK, "short", "a criterion with a name of several words that wraps")
IDS = (LONG[:60], "item", "規則", "c")
CASES = 30
RUNS = 9

# The judge reads the number of the look and its own name, so that judges differ and a third fails.
JUDGE = """
import hashlib, json, sys
name, wrong = sys.argv[1], float(sys.argv[2])
asked = json.load(sys.stdin)
if name == "fails":
    sys.exit("HTTP 503 from https://models.example/v1/chat/" + "x" * 120)
text = (asked.get("artifact") or {}).get("text") or asked.get("output") or ""
def met(id):
    draw = hashlib.sha256(f"{name} {id} {text}".encode()).digest()[0] / 256
    return ("yes" in text) is not (draw < wrong)
def answer(one):
    if one.get("items"):
        return {"items": {i["id"]: item(i["id"]) for i in one["items"]}}
    if "anchors" in one:
        return {"score": 80 if met(one["id"]) else 40, "evidence": text[:200], "suggestion": LONG}
    return item(one["id"])
def item(id):
    return {"met": met(id), "evidence": text[:160], "suggestion": f"LONG_SUGGESTION {text[:300]}"}
LONG = "x" * 400
print(json.dumps({"criteria": {one["id"]: answer(one) for one in asked["criteria"]}}))
"""
TARGET = """
import sys
asked = sys.stdin.read()
number = int(asked.rsplit(" ", 1)[1])
wrong = int(sys.argv[1])
print(("no" if number % 10 < wrong else "yes") + " " + asked * 3)
"""


class Awkward:
    """The runs by name, and `addresses` of a page of every kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.runs: dict[str, str] = {}
        self._write()
        judges = [part for one in ("甲先生", "reader", "fails") for part in self._judge(one)]
        three = [*self._judge("one"), *self._judge("two"), *self._judge("three")]
        text = ("report.md", "--rubric", "rubric.json")
        suite = ("suite.json", "--min-pass-rate", "0.8")
        self._keep("run", "eval", *text, *judges)
        self._keep("sure", "eval", *text, *three, "--sure", "95")
        for wrong in range(RUNS):
            self._keep(f"trend{wrong}", "eval", *suite, *self._target(wrong))
        self._keep("suite", "eval", "judged.json", *self._target(3), *three, "--sure", "90")
        baseline = ("--baseline", self.runs["trend2"])
        self._keep("against", "eval", "suite.json", *self._target(5), *baseline)
        targets = [part for wrong in (1, 4, 6) for part in self._target(wrong)]
        self._keep("columns", "eval", "suite.json", *targets)
        loop = ("--worker", self._worker, "--policy", "keep-best", "--rounds", "5")
        self._keep("loop", "improve", "draft.md", "--rubric", "rubric.json", *three, *loop)
        self._keep("texts", "eval", "texts.csv", "--text", CJK[:10], "--rubric", "words.json")
        skill = ("--task-suite", "suite.json", "--worker", self._worker, "--retries", "1")
        self._keep("stages", "skill", "run", "skill", *skill, *self._target(2))

    @property
    def addresses(self) -> dict[str, str]:
        run = {name: f"/run/{id}" for name, id in self.runs.items()}
        trend = [self.runs[f"trend{wrong}"] for wrong in range(RUNS)]
        versions = f"{run['loop']}/versions?a=original&b=1"
        case = urlencode({"id": f"{WORDS[1][:70]}-1"})
        return {
            "list": "/",
            "trend": f"/trend?run={','.join(trend)}",
            "compare": f"/compare/{trend[1]}/{trend[5]}",
            "judges": f"{run['run']}/judges",
            "judges asked on": f"{run['sure']}/judges",
            "case": f"{run['suite']}/case?{case}",
            "loop side by side": f"{run['loop']}?diff=side",
            "versions": versions,
            "versions side by side": f"{versions}&diff=side",
            **{name: path for name, path in run.items() if not name.startswith("trend")},
        }

    def start_live(self) -> subprocess.Popen[bytes]:
        """A run that is under way until its process is ended: its first cases are done."""
        code = TARGET + "if number > 5:\n    sys.stdout.flush()\n    time.sleep(3600)\n"
        (self.folder / "slow.py").write_text("import time\n" + code, "utf-8")
        target = ("--target", f"cmd:{sys.executable} slow.py 3")
        judges = [part for one in ("甲先生", "reader", "fails") for part in self._judge(one)]
        return subprocess.Popen(
            [HONESTONE, "eval", "judged.json", *target, *judges, "--concurrency", "1"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _write(self) -> None:
        lines = [f"yes {number} {CJK * 2} {LONG}" for number in range(30)]
        for name in ("report.md", "draft.md"):
            (self.folder / name).write_text("\n\n".join(lines), "utf-8")
        criteria: list[dict[str, Any]] = [
            {"id": f"{IDS[n % 4]}{n}", "requirement": f"{words} ({n})", "weight": n + 1}
            for n, words in enumerate(WORDS * 3)
        ]
        criteria[1]["items"] = [
            {"id": f"i{n}", "requirement": f"{WORDS[n]} of an item"} for n in range(4)
        ]
        criteria[2]["anchors"] = {"0": CJK, "50": LONG, "100": "clear"}
        rubric = {"rubric": 1, "title": f"{CJK} {LONG}", "threshold": 80, "criteria": criteria}
        (self.folder / "rubric.json").write_text(json.dumps(rubric), "utf-8")
        cases = [
            {"id": f"{WORDS[n % 4][:70]}-{n}", "input": f"{CJK} {n}", "tags": [LONG[:40], "標識"]}
            for n in range(CASES)
        ]
        plain = {"suite": 1, "title": f"{CJK} {LONG}"}
        checked = [{"id": "yes", "requirement": CJK, "check": {"contains": "yes"}}]
        suite = plain | {"rubric": checked, "cases": cases}
        (self.folder / "suite.json").write_text(json.dumps(suite), "utf-8")
        judged = plain | {"rubric": criteria[:4], "cases": cases[:12]}
        (self.folder / "judged.json").write_text(json.dumps(judged), "utf-8")
        (self.folder / "judge.py").write_text(JUDGE, "utf-8")
        (self.folder / "target.py").write_text(TARGET, "utf-8")
        worker = f"import os\npath = os.environ['HONESTONE_ARTIFACT']\npath = os.path.join(path, 'SKILL.md') if os.path.isdir(path) else path\nwith open(path, 'a') as file:\n    file.write({f'{LONG} {CJK}'!r} * 3 + '\\n')\n"
        (self.folder / "worker.py").write_text(worker, "utf-8")
        head = f"name,{CJK[:10]},{LONG[:50]}\n"
        rows = [f"{WORDS[n % 4]} {n},yes {CJK} {n},{n}\n" for n in range(CASES)]
        (self.folder / "texts.csv").write_text(head + "".join(rows), "utf-8")
        words = [
            {"id": f"{IDS[n]}{n}", "requirement": WORDS[n], "check": {"contains": str(n)}}
            for n in range(4)
        ]
        plain_rubric = {"rubric": 1, "title": CJK, "criteria": words}
        (self.folder / "words.json").write_text(json.dumps(plain_rubric), "utf-8")
        (self.folder / "skill").mkdir(exist_ok=True)
        skill = f"---\nname: skill\ndescription: {CJK}\n---\n# {LONG}\n\n- {CJK}\n"
        (self.folder / "skill" / "SKILL.md").write_text(skill, "utf-8")

    def _judge(self, name: str) -> tuple[str, str]:
        return "--judge", f"script:{sys.executable} {self.folder / 'judge.py'} {name} 0.15"

    def _target(self, wrong: int) -> tuple[str, str]:
        return "--target", f"cmd:{sys.executable} target.py {wrong}"

    @property
    def _worker(self) -> str:
        return f"cmd:{sys.executable} {self.folder / 'worker.py'}"

    def _keep(self, name: str, *args: str) -> str:
        done = subprocess.run(
            [HONESTONE, *args, "--json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, (args, done.stderr)
        self.runs[name] = str(json.loads(done.stdout)["run"])
        return self.runs[name]
