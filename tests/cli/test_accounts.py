"""Two accounts at one provider: judges of the settings that differ in nothing but the variable of
their key.
"""

from __future__ import annotations

import json

import pytest
from tests.adapters.models.standin import KEY, running
from tests.cli.desk import Desk

pytestmark = pytest.mark.slow

STALE = "sk-stale-9876543210-secret"
TABLE = """
[judges.{name}]
provider = "compatible"
model = "m"
base_url = "{url}"
api_key_env = "{name}_KEY"
requests_per_minute = {rate}
"""


@pytest.mark.parametrize("key_of_one", [KEY, STALE])
def test_two_keys_are_two_accounts_of_one_judge(desk: Desk, key_of_one: str) -> None:
    """The same model is one voter, and a request to it is paid once, by either key; the report has
    both. Where one key is refused, the other one's judge answers, and the look that is missing
    leaves the verdict open. Rates are of accounts: that of one which is not asked holds up no one.
    """
    desk.file("rubric.yaml", "rubric: 1\ncriteria:\n  - {id: a, requirement: It says apple}\n")
    desk.file("apple.md", "apple\n")
    command = ("eval", "apple.md", "--rubric", "rubric.yaml", "--json")
    with running() as api:
        rates = {"ONE": 6000, "TWO": 6000 if key_of_one == STALE else 1 / 60, "TRIED": 6000}
        tables = [
            TABLE.format(name=name, url=f"{api.root}/v1", rate=rate) for name, rate in rates.items()
        ]
        desk.file("honestone.toml", "".join(tables))
        desk.extra |= {"ONE_KEY": key_of_one, "TWO_KEY": KEY, "TRIED_KEY": KEY}
        assert desk.run("trust").code == 0
        desk.run(*command, "--judge", "TRIED")
        prompt = api.calls[0].body["messages"][-1]["content"].splitlines()
        number = next(
            line[1] for line in prompt if line.startswith("[") and line.endswith("It says apple")
        )
        form = json.loads(prompt[-1])
        form["answers"] = {name: {"answer": name == number} for name in form["answers"]}
        api.say.text = json.dumps(form)
        api.seen.clear()
        done = desk.run(*command, "--judge", "ONE", "--judge", "TWO", "--fresh", timeout=120)
        keys = [one.headers["authorization"].removeprefix("Bearer ") for one in api.calls]
    report = json.loads(done.out)
    (criterion,), (one, two) = report["criteria"], report["judges"]
    assert (criterion["score"], criterion["voters"]) == (100.0, 1), done.err
    paid = [
        (judge["id"], judge["state"], judge["usage"]["judge_calls"], judge["usage"]["cached_calls"])
        for judge in (one, two)
    ]
    if key_of_one == STALE:
        assert done.code == 3 and keys == [STALE, KEY]
        assert paid == [("ONE", "DEGRADED", 1, 0), ("TWO", "AVAILABLE", 1, 0)]
        assert criterion["by_judge"] == {"TWO": 100.0} and "ONE_KEY was refused" in one["reason"]
    else:
        assert done.code == 0 and keys == [KEY]
        assert paid == [("ONE", "AVAILABLE", 1, 0), ("TWO", "AVAILABLE", 0, 1)]
        assert criterion["by_judge"] == {"ONE": 100.0, "TWO": 100.0}
