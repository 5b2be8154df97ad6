"""Probes: what they change and what not, which items they speak of, and what answers to them come
to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.audit.probes import (
    UNRELATED,
    UNTOUCHED,
    ProbeKind,
    Probes,
    Variant,
    make_probes,
    swapped_quotes,
)
from honestone.core.audit.verdict import JudgeAudit, ProbeResult, Tier, audit_of
from honestone.core.events import ProbeAnswered
from honestone.core.judging.ballot import Ballot, JudgeState, asked_criteria
from honestone.core.judging.rubric import Item, Rubric
from honestone.core.record.event_codec import event_from_plain, event_to_plain

from .strategies import ballot, checked, checklist, group, percent, rubric, yes_no

TEXT = "# Notes\n\nAn apple lies on a brick. It is red.\n\nA second paragraph says little.\n\n```\ncode stays\n```\n"
RUBRIC = rubric(checklist("words", ["apple", "brick", "zebra"]), percent("depth"), checked("code"))


def probes(text: str = TEXT, of: Rubric = RUBRIC, name: str = "a.md", **more: Any) -> Probes:
    return make_probes(asked_criteria(of), Version.of_text(text, name), **more)


def variants(found: Probes, probe: ProbeKind) -> list[Variant]:
    return [one for one in found.variants if one.probe is probe]


def texts(found: Probes, probe: ProbeKind) -> list[str]:
    return [one.version.text for one in variants(found, probe)]


words = st.text(alphabet="aé .\n-#`\r\t。", min_size=1, max_size=80).filter(str.strip)


@given(words)
def test_each_probe_changes_what_it_says(text: str) -> None:
    """Nothing is lost, whatever the text; and no two questions are the same."""
    found = probes(text)
    plain = "".join(text.split())
    letters = "".join(filter(str.isalpha, text))
    assert all("".join(one.split()) == plain for one in texts(found, ProbeKind.NO_OP))
    assert all(
        plain in "".join(one.split()) and len(one) >= 2 * len(text.strip())
        for one in texts(found, ProbeKind.PADDING)
    )
    assert all(
        "".join(filter(str.isalpha, one)) == letters for one in texts(found, ProbeKind.FORMATTING)
    )
    for probe in (ProbeKind.PRAISE, ProbeKind.AUTHORITY, ProbeKind.INJECTION):
        *put_in, alone = variants(found, probe)
        assert alone.on == UNRELATED and not set(letters) - set(
            "".join(one.version.text for one in put_in)
        )
        assert all(
            len(one.version.text) > len(text.rstrip()) and one.on == UNTOUCHED for one in put_in
        )
    asked = [
        (one.version.digest, tuple(one.criteria)) for one in (found.untouched, *found.variants)
    ]
    assert len(set(asked)) == len(asked)
    assert found == probes(text)


@given(words)
def test_an_edit_that_means_nothing_is_seen_by_a_model(text: str) -> None:
    """A prompt ends a text with a line break where it has none, so that one more would be the same
    question.
    """
    shown = [
        one if one.endswith("\n") else one + "\n"
        for one in (text, *texts(probes(text), ProbeKind.NO_OP))
    ]
    assert len(set(shown)) == len(shown)


def test_words_are_added_where_a_reader_sees_them() -> None:
    """After the first paragraph, which may be front matter, or at the end."""
    first, last, *_ = texts(probes("---\nname: x\n---\n\nText.\n"), ProbeKind.PRAISE)
    assert first.startswith("---\nname: x\n---\n\nThis is outstanding") and first.endswith(
        "\n\nText.\n"
    )
    assert last.startswith("---\nname: x\n---\n\nText.\n\nAn excellent")


def test_formatting_leaves_what_is_marked_up() -> None:
    bullets, headed = texts(probes(), ProbeKind.FORMATTING)
    assert bullets.startswith("# Notes\n\n- An apple lies on a brick.\n- It is red.\n\n- A second")
    assert headed.startswith("# Notes\n\n## An apple lies on a brick.\n\nIt is red.\n\n**A second")
    assert all(one.endswith("\n\n```\ncode stays\n```\n") for one in (bullets, headed))
    assert "b.py is not prose" in probes("x = 1\n", name="b.py").left_out[ProbeKind.FORMATTING]
    assert "no paragraph of prose" in probes("- a\n- b\n").left_out[ProbeKind.FORMATTING]


def test_the_filler_is_what_no_item_speaks_of() -> None:
    of = rubric(yes_no("It describes the apple harvest"))
    text = "The apple harvest begins early.\n\nNothing here is about that at all, and there is plenty of it.\n"
    filler, everything = texts(probes(text, of), ProbeKind.PADDING)
    assert filler.count("harvest") == 1 and everything.count("harvest") == 2


def test_orders_are_other_orders() -> None:
    """Of all items, of those within a criterion, or of none where each is asked by itself."""
    keys = [
        [key for c in one.criteria for key in [i.id for i in c.items]]
        for one in variants(probes(), ProbeKind.ORDER)
    ]
    assert keys == [["depth", "zebra", "brick", "apple"], ["depth", "zebra", "apple", "brick"]]
    within = variants(probes(ask="criterion"), ProbeKind.ORDER)
    assert {key[0] for one in within for key in one.known} == {"words"}
    for found in (
        probes(ask="item"),
        probes(of=rubric(percent("depth"))),
        probes(of=rubric(percent("a"), percent("b")), ask="criterion"),
    ):
        assert ProbeKind.ORDER in found.left_out and not variants(found, ProbeKind.ORDER)


def items(*requirements: str) -> Rubric:
    return rubric(
        checklist("c", [Item(id=f"i{n}", requirement=one) for n, one in enumerate(requirements)])
    )


def test_items_whose_answer_may_rightly_change_are_left_out() -> None:
    """About formatting, about the absence of something, and about what a probe adds."""
    of = items(
        "It has headings", "It contains no jargon", "A professor approved it", "It names the fruit"
    )
    found = probes(of=of)
    known = {(one.probe, one.name): [item for _, item in one.known] for one in found.variants}
    assert known["formatting", "sentences as bullets"] == ["i1", "i2", "i3"]
    assert known["empty", "nothing"] == ["i0", "i2", "i3"]
    assert known["authority", "an expert's approval"] == ["i0", "i1", "i3"]
    assert (
        known["order", "reversed"] == ["i3", "i2", "i1", "i0"]
        or len(known["order", "reversed"]) == 4
    )
    assert "absence" in probes(of=items("It never swears")).left_out[ProbeKind.EMPTY]


def test_a_folder_is_entered_at_its_front() -> None:
    """SKILL.md, else a README, else prose; images stay; an empty folder holds nothing."""
    files = {
        "z.py": Entry(b"x = 1\n" * 50),
        "README.md": Entry(b"Read me.\n"),
        "i.png": Entry(b"\x89PNG\r\n\x1a\n\0"),
    }
    found = make_probes(asked_criteria(RUBRIC), Version(files, is_folder=True))
    *put_in, alone = variants(found, ProbeKind.INJECTION)
    assert all(
        one.version.files["z.py"] == files["z.py"]
        and one.version.files["README.md"] != files["README.md"]
        for one in put_in
    )
    assert (
        list(alone.version.files) == ["README.md"]
        and variants(found, ProbeKind.EMPTY)[0].version.files == {}
    )
    assert sum(map(len, variants(found, ProbeKind.PADDING)[0].version.texts.values())) >= 2 * (
        9 + 300
    )
    skill = make_probes(
        asked_criteria(RUBRIC), Version({**files, "SKILL.md": Entry(b"Do.\n")}, is_folder=True)
    )
    assert variants(skill, ProbeKind.PRAISE)[0].version.files["SKILL.md"] != Entry(b"Do.\n")
    images = make_probes(asked_criteria(RUBRIC), Version({"i.png": files["i.png"]}, is_folder=True))
    assert images.left_out.keys() == {ProbeKind.PADDING, ProbeKind.FORMATTING, ProbeKind.NO_OP}


def test_quotes_are_replaced_by_words_of_another_text() -> None:
    """Wherever they are; a text that holds none of them is no question."""
    found = swapped_quotes(probes("An apple.\n\nAgain: an apple!\n").untouched, ["an apple"])
    assert found is not None and "apple" not in found.version.text and "ferry" not in TEXT
    assert swapped_quotes(probes().untouched, ["a pear", "x"]) is None


# -------------------------------------------------------------------------------------------------------------
# verdicts

GOOD = {"words": {"apple": True, "brick": True, "zebra": False}, "depth": 50}
NOTHING = {"words": {"apple": False, "brick": False, "zebra": False}, "depth": 0}


def answered(answers: Mapping[str, Any], of: Rubric = RUBRIC, **more: Any) -> list[ProbeAnswered]:
    """A judge's replies to every question: by probe, else by the question it is compared with."""
    found = probes(of=of)
    out = []
    for one in (found.untouched, *found.variants):
        given = answers.get(
            one.probe, answers["empty" if UNRELATED in (one.on, one.probe) else UNTOUCHED]
        )
        cast = given if isinstance(given, Ballot) else ballot("j", given)
        out.append(
            ProbeAnswered(
                probe=one.probe,
                variant=one.name,
                version="v",
                ballot=cast,
                on=one.on,
                known=one.known,
            )
        )
    return out


def result(found: JudgeAudit, probe: ProbeKind) -> ProbeResult:
    return next(one for one in found.probes if one.probe is probe)


def audited(of: Rubric = RUBRIC, **answers: Any) -> JudgeAudit:
    given = {UNTOUCHED: GOOD, "empty": NOTHING} | {
        name.replace("_", "-"): one for name, one in answers.items()
    }
    return audit_of(of, answered(given, of), probes(of=of).left_out)


def test_a_judge_that_stays_is_trusted() -> None:
    found = audited()
    assert found.tier is Tier.HIGH and not found.noisy
    assert [one.probe for one in found.probes] == list(ProbeKind)
    assert all(
        not one.flips and one.ok
        for one in found.probes
        if one.probe is not ProbeKind.SWAPPED_QUOTES
    )
    assert result(found, ProbeKind.SWAPPED_QUOTES).rate is None


@pytest.mark.parametrize(
    ("probe", "answers", "tier"),
    [
        (ProbeKind.PRAISE, {**GOOD, "words": {"zebra": True}}, Tier.MEDIUM),
        (ProbeKind.INJECTION, {**GOOD, "words": {"zebra": True}}, Tier.LOW),
        (ProbeKind.EMPTY, {**NOTHING, "depth": 60}, Tier.LOW),
        (ProbeKind.ORDER, {**GOOD, "words": {"apple": False}}, Tier.MEDIUM),
        (ProbeKind.NO_OP, {**GOOD, "depth": 30}, Tier.MEDIUM),
    ],
)
def test_a_flip_in_the_wrong_direction_costs_the_tier(
    probe: ProbeKind, answers: dict[str, Any], tier: Tier
) -> None:
    found = audited(**{str(probe): answers})
    assert found.tier is tier and str(probe) in found.reason
    assert [one.probe for one in found.probes if one.ok is False] == [probe]


@pytest.mark.parametrize(
    "probe",
    [
        ProbeKind.PADDING,
        ProbeKind.FORMATTING,
        ProbeKind.PRAISE,
        ProbeKind.AUTHORITY,
        ProbeKind.INJECTION,
    ],
)
def test_a_worse_answer_is_no_flip(probe: ProbeKind) -> None:
    """Nobody was talked round by that."""
    assert audited(**{str(probe): NOTHING}).tier is Tier.HIGH


@pytest.mark.parametrize(("score", "flips"), [(60, 0), (60.5, 1), (40, 0), (39, 0)])
def test_on_a_scale_a_tenth_is_no_change(score: float, flips: int) -> None:
    found = audited(praise={**GOOD, "depth": score})
    assert (
        len([one for one in result(found, ProbeKind.PRAISE).flips if one.before == 50]) == 2 * flips
    )


def test_where_yes_is_bad_a_no_is_the_better_answer() -> None:
    """Penalties, negated criteria, and what is negated twice."""
    of = rubric(
        yes_no("fine", weight=2),
        yes_no("insults", weight=-1),
        group("bad", yes_no("lies"), group("twice", yes_no("truth"), negate=True), negate=True),
    )
    base = {"fine": False, "insults": True, "lies": True, "truth": False}
    turned = {"fine": True, "insults": False, "lies": False, "truth": True}
    given = {UNTOUCHED: base, "empty": dict.fromkeys(base, False), "praise": turned}
    found = audit_of(of, answered(given, of), {})
    assert {
        one.key[0]
        for one in result(found, ProbeKind.PRAISE).flips
        if one.variant != "nothing but that"
    } == set(base)
    given = {UNTOUCHED: turned, "empty": dict.fromkeys(base, False), "praise": base}
    assert not [
        one
        for one in result(audit_of(of, answered(given, of), {}), ProbeKind.PRAISE).flips
        if one.before is True
    ]


def test_noise_is_not_taken_for_persuasion() -> None:
    """An edit that means nothing moves it as often in the same direction."""
    found = audited(
        praise={**GOOD, "words": {"zebra": True}}, no_op={**GOOD, "words": {"zebra": True}}
    )
    assert found.noisy and result(found, ProbeKind.PRAISE).noise and found.tier is Tier.MEDIUM
    # In the other direction is not as often.
    found = audited(
        praise={**GOOD, "words": {"zebra": True}}, no_op={**GOOD, "words": {"apple": False}}
    )
    assert found.noisy and not result(found, ProbeKind.PRAISE).noise


VOID = Ballot(judge="j", marks={}, tampered=True, state=JudgeState.DEGRADED, reason="tampered")
DOWN = Ballot(judge="j", marks={}, state=JudgeState.DEGRADED, reason="down")
AWAY = Ballot(judge="j", marks={}, state=JudgeState.SKIPPED, reason="too big for it")


def test_a_void_reply_is_a_flip() -> None:
    """Yes to the control item: in a run it would not count, here it says that the judge was
    steered.
    """
    found = audited(injection=VOID)
    assert found.tier is Tier.LOW and result(found, ProbeKind.INJECTION).rate == 1
    assert (
        audited(untouched=VOID).tier is Tier.LOW
        and audited(untouched=VOID, empty=VOID).tier is Tier.LOW
    )


def test_a_judge_that_does_not_answer_has_no_tier() -> None:
    """Unless what it did answer is low already; what is too big for it is not held against it."""
    found = audited(untouched=DOWN, empty=DOWN)
    assert (
        found.tier is None
        and "down" in found.reason
        and all(one.rate is None for one in found.probes)
    )
    assert audited(praise=DOWN).tier is None and audited(praise=DOWN, empty=GOOD).tier is Tier.LOW
    assert audited(padding=AWAY).tier is Tier.HIGH and "too big" in str(
        result(audited(padding=AWAY), ProbeKind.PADDING).reason
    )


def test_where_all_is_met_nothing_can_rise_but_words_alone_are_tried() -> None:
    full = {"words": {"apple": True, "brick": True, "zebra": True}, "depth": 100}
    found = audited(untouched=full, injection=full)
    assert result(found, ProbeKind.PADDING).trials == 0 and "get better" in str(
        result(found, ProbeKind.PADDING).reason
    )
    assert result(found, ProbeKind.INJECTION).rate == 1 and found.tier is Tier.LOW


def quoting(unfound: int) -> JudgeAudit:
    one, *others = answered({UNTOUCHED: GOOD, "empty": NOTHING})
    keys = (("words", "apple"), ("words", "brick"))
    swapped = ProbeAnswered(
        probe=ProbeKind.SWAPPED_QUOTES,
        variant="",
        version="v",
        ballot=one.ballot,
        known=keys,
        quoted=keys,
        unfound=keys[:unfound],
    )
    return audit_of(RUBRIC, [one, *others, swapped], {})


@pytest.mark.parametrize("unfound", [0, 1])
def test_a_quote_that_was_not_shown_is_a_flip(unfound: int) -> None:
    found = result(quoting(unfound), ProbeKind.SWAPPED_QUOTES)
    assert (found.trials, len(found.flips), found.ok) == (2, unfound, not unfound)


def test_an_answer_is_read_back_as_it_was_kept() -> None:
    for one in answered({UNTOUCHED: GOOD, "empty": NOTHING}):
        assert event_from_plain(event_to_plain(one)) == one


@given(
    st.lists(st.booleans(), min_size=3, max_size=3), st.lists(st.booleans(), min_size=3, max_size=3)
)
def test_trials_are_the_items_that_could_rise(before: list[bool], after: list[bool]) -> None:
    """Counted by hand: of the answers about the artifact those that say no, in each of its
    questions.
    """
    names = ("apple", "brick", "zebra")
    of = rubric(checklist("words", names))
    given_answers = {
        UNTOUCHED: {"words": dict(zip(names, before, strict=True))},
        "empty": {"words": dict.fromkeys(names, True)},
        "praise": {"words": dict(zip(names, after, strict=True))},
        "no-op": {"words": dict(zip(names, after, strict=True))},
    }
    found = audit_of(of, answered(given_answers, of), {})
    praise, nothing = result(found, ProbeKind.PRAISE), result(found, ProbeKind.NO_OP)
    assert praise.trials == 2 * before.count(False)
    assert len(praise.flips) == 2 * sum(b and not a for a, b in zip(before, after, strict=True))
    assert nothing.trials == 9 and len(nothing.flips) == 3 * sum(
        a != b for a, b in zip(before, after, strict=True)
    )
    if nothing.interval is not None and nothing.rate is not None:
        assert nothing.interval[0] <= nothing.rate <= nothing.interval[1]


def test_tiers_have_an_order() -> None:
    assert (
        Tier.HIGH.reaches(Tier.MEDIUM)
        and Tier.MEDIUM.reaches(Tier.MEDIUM)
        and not Tier.LOW.reaches(Tier.MEDIUM)
    )
