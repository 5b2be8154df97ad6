"""An order as JSON and back: nothing is lost, and what nobody wrote is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.judging.needs import KeyNeed, MachineNeeds
from honestone.core.record.plan import Bundle, BundleFile, Plan

WORDS = st.text(max_size=12)
PARTS = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=8
).filter(lambda one: one not in (".", ".."))
FILES = st.builds(
    BundleFile,
    path=st.lists(PARTS, min_size=1, max_size=3).map("/".join),
    chunks=st.lists(WORDS, max_size=3).map(tuple),
    executable=st.booleans(),
)
NAMES = st.lists(WORDS, max_size=3).map(tuple)
NEEDS = st.builds(
    MachineNeeds,
    keys=st.lists(st.builds(KeyNeed, variables=NAMES, login=st.none() | WORDS), max_size=2).map(
        tuple
    ),
    variables=NAMES,
    programs=NAMES,
)
PLANS = st.builds(
    Plan,
    request=st.dictionaries(
        WORDS, st.none() | st.booleans() | st.integers() | WORDS | st.lists(WORDS), max_size=4
    ),
    contract=WORDS,
    code=WORDS,
    version=WORDS,
    at=WORDS,
    judges=st.dictionaries(WORDS, WORDS, max_size=3),
    head=st.dictionaries(WORDS, WORDS | st.lists(WORDS), max_size=3),
    target=st.none() | WORDS,
    artifact=st.none() | WORDS,
    sandbox=st.none() | WORDS,
    files=st.dictionaries(WORDS, WORDS, max_size=3),
    needs=st.dictionaries(WORDS, NEEDS, max_size=3),
    bundle=st.lists(FILES, max_size=4, unique_by=lambda one: one.path).map(
        lambda files: Bundle(files=tuple(sorted(files, key=lambda one: one.path)))
    ),
    is_trusted=st.booleans(),
)


@given(PLANS)
def test_a_plan_survives_json(plan: Plan) -> None:
    """And it differs in nothing from itself."""
    found = Plan.from_plain(json.loads(json.dumps(plan.to_plain())))
    assert found == plan
    assert plan.differences(found) == []


@given(st.lists(FILES, min_size=2, max_size=5, unique_by=lambda one: one.path))
def test_the_digest_of_a_bundle_is_of_its_files(files: list[BundleFile]) -> None:
    """In whichever order they were found; another file or mode gives another one."""
    bundle = Bundle(files=tuple(files))
    assert bundle.digest == Bundle(files=tuple(reversed(files))).digest
    other = replace(files[0], executable=not files[0].executable)
    assert bundle.digest != Bundle(files=(other, *files[1:])).digest


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\0b"])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    """Whoever can write to the database cannot have a runner write elsewhere."""
    with pytest.raises(ValueError, match="leads out"):
        Bundle.from_plain([[path, ["d"], False]])


@pytest.mark.parametrize(
    "change",
    [
        {"plan": 1},
        {"judges": 1},
        {"bundle": {}},
        {"contract": None},
        {"needs": []},
        {"files": []},
        {"sandbox": 1},
        {"needs": {"a": []}},
        {"needs": {"a": {"keys": [], "variables": [1], "programs": []}}},
        {"needs": {"a": {"keys": [[[], 1]], "variables": [], "programs": []}}},
    ],
)
def test_what_is_not_an_order_is_refused(change: dict[str, object]) -> None:
    """By ValueError, not by a crash later."""
    plain = Plan(request={}, contract="c", code="d", version="1").to_plain()
    with pytest.raises(ValueError):
        Plan.from_plain({**plain, **change})


def test_differences_are_named() -> None:
    """Code, judges and target; the contract alone only where they do not explain it."""
    plan = Plan(
        request={}, contract="c", code="d", version="1", judges={"a": "x", "b": "y"}, target="t"
    )
    other = replace(
        plan, code="e", version="2", judges={"a": "x", "b": "z"}, target="u", contract="k"
    )
    said = "; ".join(plan.differences(other))
    assert (
        "version 2 here, 1 ordered" in said
        and "`b`" in said
        and "`a`" not in said
        and "target" in said
    )
    assert plan.differences(replace(plan, contract="k")) == ["the contract is another one"]
    assert plan.differences(replace(plan, artifact="v")) == ["the artifact is another one"]
    checks = replace(plan, sandbox="bwrap", files={"t.py": "1"})
    assert checks.differences(
        replace(plan, sandbox="landlock", files={"t.py": "2"}, contract="k")
    ) == [
        (
            "the sandbox of its checks is landlock here, and was bwrap where the run was ordered"
            " (ordered with `--sandbox landlock` it can run here)"
        ),
        "the file `t.py` is another one",
    ]
