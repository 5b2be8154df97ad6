"""Takes the pictures of docs/view.md: a small store is made, served, and looked at in a headless
Chromium.

`make pictures` writes them to docs/pictures. With `--every FOLDER` every page is taken in both
colour schemes and four widths, to be looked at.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
HONESTONE = Path(sys.executable).parent / "honestone"

RUBRIC = """\
rubric: 1
title: Release note
threshold: 80
floor: 40
criteria:
  - id: facts
    requirement: The reader can act on it
    weight: 60
    required: true
    items:
      - {id: version, requirement: Names the exact version}
      - {id: impact, requirement: Says who is affected}
      - {id: steps, requirement: Gives numbered steps, check: {regex: '(?m)^1[.)] '}}
  - {id: tone, requirement: Neutral tone, weight: 40, anchors: {0: advertising, 50: mixed, 100: factual}}
"""
NOTE = """\
# Acme Sync 2.4.1

This is the **best release ever**, and everybody will love it!

Uploads of more than 2 GB failed with error 413 for users of the web form.

1. Update to 2.4.1 with `acme update`.
2. Restart the agent.

Questions: write to the support.
"""
JUDGE = '''\
"""Answers by rules: a stand-in for a model in pictures."""
import json, sys
asked = json.load(sys.stdin)
name, text = sys.argv[1], (asked.get("artifact") or {}).get("text") or asked.get("output") or ""
def quote(*words):
    return next((word for word in words if word in text), "")
def one(criterion):
    match criterion["id"].rpartition("/")[2].rpartition(".")[2]:
        case "version":
            return {"met": "2.4" in text, "evidence": quote("Acme Sync 2.4.1", "2.4.1")}
        case "impact":
            met = "users of" in text and (name == "strict.py" or "web form" in text)
            return {"met": met and name != "strict.py", "evidence": quote("failed with error 413 for users of the web form", "users"),
                    "suggestion": "Say since which version." if name == "strict.py" else ""}
        case "tone":
            fine = "best" not in text
            return {"score": 100 if fine else 0 if name == "strict.py" else 50, "evidence": quote("best release ever", "everybody will love it"),
                    "suggestion": "" if fine else "Say what changed, without praise."}
        case "order":
            return {"met": "order" in text, "evidence": quote("your order", "order"), "suggestion": "" if "order" in text else "Name the order."}
        case "next":
            met = "will" in text or (name == "kind.py" and "soon" in text)
            return {"met": met, "evidence": quote("will be refunded", "will", "soon") if met else "we get back to you", "suggestion": "" if met else "Say what happens next, and when."}
        case _:
            return {"met": True}
def answered(criterion):
    if criterion.get("items"):
        return {"items": {item["id"]: one(item) for item in criterion["items"]}}
    return one(criterion)
print(json.dumps({"criteria": {criterion["id"]: answered(criterion) for criterion in asked["criteria"]}}))
'''
WORKER = """\
import os, pathlib
path = pathlib.Path(os.environ["HONESTONE_ARTIFACT"])
text, tries = path.read_text(), pathlib.Path(__file__).parent / "tries"
number = len(tries.read_text()) if tries.exists() else 0
tries.write_text("x" * (number + 1))
match number:
    case 0: text = text.replace("This is the **best release ever**, and everybody will love it!\\n\\n", "Uploads are reliable again.\\n\\n")
    case 1: text = text.replace("Acme Sync 2.4.1", "Acme Sync, best version")
    case _: text = text.replace("for users of the web form", "for all users of the web form since 2.3")
path.write_text(text)
print("I removed the praise." if number == 0 else "I made the title shorter." if number == 1 else "I said since when.")
"""
ANSWER = '''\
"""A support bot of a few rules; the second one is worse at refunds."""
import hashlib, json, os, sys
text = sys.stdin.read()
version, seed = sys.argv[1], os.environ.get("HONESTONE_ATTEMPT", "1")
kind = text.split()[0].lower()
if kind == "crash":
    sys.exit("ConnectionError: the order service did not answer")
if kind == "refund":
    print("Your order will be refunded within 5 days." if version == "one" else "Please contact the shop, we get back to you.")
elif kind == "moody":
    print("We look at your order and will write on Monday." if seed == "1" else "No idea, try again soon.")
elif kind == "lost":
    print("Sorry about that, we get back to you." if version == "one" else "Your order will be sent again on Monday.")
elif kind == "long":
    print("\\n".join(f"{n}. A line about nothing in particular." for n in range(1, 9000)) + "\\nYour order will arrive on Monday.")
else:
    print(f"Thank you for your question about {kind}. Your order will arrive on Monday.")
'''
SUITE = {
    "suite": 1,
    "title": "Support answers",
    "attempts": 2,
    "rubric": [
        {"id": "order", "requirement": "Names the order", "weight": 50},
        {"id": "next", "requirement": "Says what happens next", "weight": 30},
        {
            "id": "short",
            "requirement": "Has at most 100 words",
            "weight": 20,
            "check": {"max-words": 100},
        },
    ],
    "cases": [
        {
            "id": f"{kind}-{number}",
            "input": f"{kind.title()} {words}",
            "reference": reference,
            "tags": [kind, tag],
        }
        for kind, words, reference, count, tag in (
            ("refund", "of a broken lamp, please", "A refund within 5 days", 4, "money"),
            ("lost", "parcel: where is it?", "It is sent again", 2, "delivery"),
            ("moody", "question", "An answer", 2, "delivery"),
            ("crash", "when I press Save", "An answer", 2, "shop"),
            ("delivery", "date of my order?", "Monday", 6, "delivery"),
            ("long", "story", "Monday", 1, "shop"),
        )
        for number in range(1, count + 1)
    ],
}


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Store:
    """A folder with a run of every kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.put("judge.py", JUDGE)
        for name in ("strict.py", "kind.py", "plain.py"):
            self.put(
                name,
                f"import runpy, sys\nsys.argv[1:] = [{name!r}]\nrunpy.run_path('judge.py', run_name='__main__')\n",
            )
        self.put("worker.py", WORKER)
        self.put("bot.py", ANSWER)
        self.put("rubric.yaml", RUBRIC)
        self.put("note.md", NOTE)
        self.put(
            "other.md",
            NOTE.replace("This is the **best release ever**, and everybody will love it!\n\n", ""),
        )
        self.put("draft.md", NOTE)
        self.put("suite.json", json.dumps(SUITE))
        self.judges = [
            part
            for name in ("strict.py", "kind.py", "plain.py")
            for part in ("--judge", f"script:python3 {name}")
        ]
        self.runs: dict[str, str] = {}

    def put(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    def run(self, name: str, *args: str) -> None:
        done = subprocess.run(
            [HONESTONE, *args, "--json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        said = json.loads(done.stdout or "null")
        if not isinstance(said, dict | list) or done.returncode > 3:
            raise SystemExit(f"{args}: {done.stderr}")
        self.runs[name] = said["run"] if isinstance(said, dict) else said[0]["run"]

    def fill(self) -> None:
        rubric = ["--rubric", "rubric.yaml", *self.judges]
        self.run("eval", "eval", "note.md", *rubric)
        self.run("several", "eval", "note.md", "other.md", "draft.md", *rubric)
        worker = f"cmd:python3 {self.folder / 'worker.py'}"
        held_out = ("--holdout", "script:python3 plain.py", "--worker", worker, "--rounds", "3")
        self.run(
            "belief", "improve", "draft.md", "--rubric", "rubric.yaml", *self.judges[:4], *held_out
        )
        for name in ("one", "two"):
            self.run(
                name,
                "eval",
                "suite.json",
                "--target",
                f"cmd:python3 bot.py {name}",
                *self.judges[:4],
            )
        targets = ("--target", "cmd:python3 bot.py one", "--target", "cmd:python3 bot.py two")
        self.run("table", "eval", "suite.json", *targets, *self.judges[:4])

    @property
    def pages(self) -> dict[str, str]:
        one, two = self.runs["one"], self.runs["two"]
        return {
            "runs": "/",
            "eval": f"/run/{self.runs['eval']}",
            "several": f"/run/{self.runs['several']}",
            "belief": f"/run/{self.runs['belief']}",
            "side": f"/run/{self.runs['belief']}?diff=side",
            "versions": f"/run/{self.runs['belief']}/versions?a=1&b=2&diff=side",
            "judges": f"/run/{one}/judges",
            "ejudges": f"/run/{self.runs['eval']}/judges",
            "suite": f"/run/{one}",
            "failed": f"/run/{one}?status=failed&criterion=next",
            "case": f"/run/{one}/case?id=lost-1",
            "moody": f"/run/{one}/case?id=moody-1",
            "crash": f"/run/{one}/case?id=crash-1",
            "long": f"/run/{one}/case?id=long-1",
            "compare": f"/compare/{one}/{two}",
            "refused": f"/compare/{one}/{self.runs['eval']}",
            "trend": f"/trend?run={one},{two}",
            "table": f"/run/{self.runs['table']}",
            "nothing": "/run/zzzz",
        }


PICTURES = ("eval", "belief", "failed", "compare")
"""Those of docs/view.md."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--every", type=Path, metavar="FOLDER")
    options = asked.parse_args()
    chromium = load("chromium", ROOT / "tests/pages/chromium.py")
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as profile:
        store = Store(Path(made))
        store.fill()
        command = [HONESTONE, "view", "--json", "--no-open", "--port", "0"]
        server = subprocess.Popen(command, cwd=made, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        said = json.loads(server.stdout.readline())
        browser = chromium.Chromium(Path(profile))
        for name, path in store.pages.items():
            url = f"{said['url'].split('/?')[0]}{path}{'&' if '?' in path else '?'}token={said['token']}"
            if options.every is not None:
                take_every(browser, url, options.every, name)
            elif name in PICTURES:
                take(browser, url, ROOT / f"docs/pictures/{name}.webp", wide=1000, high=680)
        browser.close()
        server.terminate()
        server.wait()


def take(browser: Any, url: str, to: Path, *, wide: int, high: int, dark: bool = False) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    browser.open(url, wide=wide, high=high, dark=dark)
    form = {"format": "png"} if to.suffix == ".png" else {"format": "webp", "quality": 80}
    to.write_bytes(base64.b64decode(browser.ask("Page.captureScreenshot", form)["data"]))


def take_every(browser: Any, url: str, folder: Path, name: str) -> None:
    """The whole page, and a line where it is wider than the window."""
    for wide in (400, 800, 1280, 1600):
        for dark in (False, True):
            browser.open(url, wide=wide)
            high = min(browser.run("document.documentElement.scrollHeight"), 4000)
            take(
                browser,
                url,
                folder / f"{name}-{wide}-{'dark' if dark else 'light'}.png",
                wide=wide,
                high=high,
                dark=dark,
            )
            if browser.run("document.documentElement.scrollWidth") > wide:
                print(f"{name} at {wide} scrolls sideways")


if __name__ == "__main__":
    main()
