"""A stand-in for a model that judges: it says yes where half of a question's longer words stand in what it is shown.

One JSON object comes on stdin, one goes to stdout. It is no good judge; it shows what a judge is told and what it says.
"""

import json
import re
import sys


def words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]{4,}", text.lower())}


request = json.load(sys.stdin)
shown = request["artifact"].get("text", "") if request["output"] is None else request["output"]
found = words(shown + ((request["workspace"] or {}).get("diff") or ""))


def mark(asked: dict) -> dict:
    wanted = words(asked["requirement"].rpartition(": ")[2])
    share = len(wanted & found) / len(wanted) if wanted else 0
    if "anchors" in asked:
        ends = sorted(float(number) for number in asked["anchors"])
        return {"score": ends[0] + share * (ends[-1] - ends[0])}
    return {"met": share >= 0.5}


reply = {}
for criterion in request["criteria"]:
    if "items" in criterion:
        reply[criterion["id"]] = {"items": {item["id"]: mark(item) for item in criterion["items"]}}
    else:
        reply[criterion["id"]] = mark(criterion)
print(json.dumps({"criteria": reply}))
