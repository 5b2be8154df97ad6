"""What a small model on llama.cpp's server is worth as a judge.

    python bench/small_models.py --server PATH --model MODEL.gguf [--pairs items.jsonl] [--plain]

Six texts are judged against four requirements, with `--plain` without a schema too: how many answers
can be read, of all that were asked, and how many count (the control question voids a reply).
`--pairs` has pairs of outputs of which people found one better, in the form of LLMBar's items: the
first 14 short pairs of its subset Natural are judged one output at a time, and the wrong ones that
pass are counted. `make test-model` installs the server and SmolLM2-135M; both runs stay below a
folder of their own, and the server ends with the script.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from tests.model.server import Relay, Server  # noqa: E402

from honestone.core.judging.controls import is_control_item  # noqa: E402
from honestone.core.judging.rubric import Anchors, Item  # noqa: E402
from honestone.core.reading.reply import ReplySchema, read_reply  # noqa: E402

HONESTONE = Path(sys.executable).with_name("honestone")
ON_A_SCALE = "The text is easy to follow"
SCALE = Anchors(levels=tuple((Fraction(n), str(n)) for n in (1, 2, 3)))
SEVERAL = """\
rubric: 1
threshold: 60
criteria:
  - {id: steps, requirement: The text says what the reader has to do}
  - {id: polite, requirement: The text is polite}
  - {id: reason, requirement: The text gives a reason}
  - {id: clear, requirement: The text is easy to follow, anchors: {1: hardly, 2: with effort, 3: easily}}
"""
TEXTS = (
    "Please increase the timeout to 30 seconds in config.toml, because large uploads are cut off. Thank you.",
    "No idea. Go away.",
    "The service was restarted at noon. We are sorry for the delay, which a full disk caused.",
    "Open the menu, choose Export, and save the file. Kindly send it to us by Friday.",
    "It broke. Fix it.",
    "Back up the disk before you update: the new version changes the format of the database.",
)
ONE = """\
rubric: 1
criteria:
  - {id: asked, requirement: "The output does what the instruction asks, no more and no less"}
"""
WITHOUT = ', extra = {response_format = {type = "text"}}'
ENDS = ("pass", "fail", "inconclusive")
PAIRS, SHORTEST, LONGEST = 14, 100, 400


@dataclass
class Counted:
    """`asked`: answers that were asked for, without those to control questions. `counting`: those
    that a report has.
    """

    replies: int = 0
    cut: int = 0
    usable: int = 0
    agreed: int = 0
    asked: int = 0
    read: int = 0
    counting: int = 0

    def take(self, request: dict[str, Any], answer: dict[str, Any]) -> None:
        prompt, (choice,) = request["messages"][-1]["content"], answer["choices"]
        items, token = _requirements(prompt), re.findall(r'"token": "(\w+)"', prompt)[-1]
        is_cut = choice["finish_reason"] == "length"
        found = read_reply(
            choice["message"]["content"] or "", ReplySchema(token=token, items=items), cut=is_cut
        )
        controls = {n for n, item in items.items() if is_control_item(item.requirement)}
        self.replies += 1
        self.cut += is_cut
        self.usable += bool(found.answers)
        self.agreed += any(found.answers[n].answer is True for n in controls & found.answers.keys())
        self.asked += len(items) - len(controls)
        self.read += len(found.answers.keys() - controls)


def _requirements(prompt: str) -> dict[int, Item]:
    """What the prompt asks, by number; a control question is one of them."""
    asked = prompt.rpartition("\nRequirements:\n")[2].rpartition("\nReply with")[0]
    return {
        int(number): Item(
            id=number, requirement=text, anchors=SCALE if text == ON_A_SCALE else None
        )
        for number, text in re.findall(r"(?m)^\[(\d+)\] (.*)$", asked)
    }


def _judge(relay: Relay, folder: Path, rubric: str, texts: dict[str, str], more: str) -> Any:
    """The scorecards of the texts, judged by the model behind the relay."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    (folder / "rubric.yaml").write_text(rubric, encoding="utf-8")
    (folder / "honestone.toml").write_text(
        f'[judges.small]\nprovider = "compatible"\nbase_url = "{relay.url}"\nmodel = "small"\n'
        f"timeout = 600\nparameters = {{temperature = 0, max_output_tokens = 700{more}}}\n"
    )
    done = subprocess.run(
        [HONESTONE, "eval", *texts, "-r", "rubric.yaml", "-j", "small", "--json"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr.decode()[-2000:])
    return json.loads(done.stdout)


def several(server: Server, folder: Path, name: str, more: str) -> None:
    """Six texts, four requirements in one question."""
    relay, counted = server.relay(), Counted()
    texts = {f"{number}.md": text for number, text in enumerate(TEXTS, 1)}
    cards = _judge(relay, folder / name.replace(" ", "-"), SEVERAL, texts, more)
    for request, answer in zip(relay.requests, relay.answers, strict=True):
        counted.take(request, answer)
    counted.counting = sum(
        bool(item["votes"]) for card in cards for one in card["criteria"] for item in one["items"]
    )
    print(
        f"{name}: {counted.read} of {counted.asked} answers read in {counted.replies} replies "
        f"({counted.cut} cut off, {counted.usable} of the {counted.replies - counted.cut} others "
        f"usable); control question answered yes in {counted.agreed}; "
        f"{counted.counting} of {4 * len(TEXTS)} items have an answer that counts",
        flush=True,
    )


def pairs(server: Server, folder: Path, file: Path) -> None:
    """Outputs of which people know the better one, each judged alone."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    short = [
        row
        for row in rows
        if row["subset"] == "Natural"
        and SHORTEST
        <= len(row["input"]) + max(len(row["output_1"]), len(row["output_2"]))
        <= LONGEST
    ][:PAIRS]
    texts = {
        f"{row['item']}-{'right' if row['label'] == at else 'wrong'}.md": "# Instruction\n\n"
        f"{row['input'].strip()}\n\n# Output\n\n{row[f'output_{at}'].strip()}"
        for row in short
        for at in (1, 2)
    }
    found: Counter[tuple[str, str]] = Counter()
    # A few at a time, so that what is known so far is shown.
    for at, some in enumerate(_batches(texts, 4)):
        cards = _judge(server.relay(), folder / f"pairs-{at}", ONE, some, "")
        found.update(
            (card["artifact"]["path"].rpartition("-")[2].removesuffix(".md"), card["verdict"])
            for card in cards
        )
        told = [
            f"{sum(found[kind, end] for end in ENDS)} {kind} outputs: "
            + ", ".join(f"{found[kind, end]} {end}" for end in ENDS)
            for kind in ("right", "wrong")
        ]
        print("; ".join(told), flush=True)


def _batches(texts: dict[str, str], size: int) -> Iterator[dict[str, str]]:
    rows = list(texts.items())
    for at in range(0, len(rows), size):
        yield dict(rows[at : at + size])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", type=Path, required=True, help="llama.cpp's llama-server")
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--pairs", type=Path, help="LLMBar's items, one JSON object a line")
    parser.add_argument("--plain", action="store_true", help="ask without a schema as well")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    count = str(given.threads)
    # The server ends with the script, also where that is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    server = Server(given.server, given.model, "--threads", count, "--threads-batch", count)
    try:
        server.start()
        with tempfile.TemporaryDirectory() as folder:
            several(server, Path(folder), "with the schema", "")
            if given.pairs:
                pairs(server, Path(folder), given.pairs)
            if given.plain:
                several(server, Path(folder), "without a schema", WITHOUT)
    finally:
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
