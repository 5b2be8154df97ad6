"""What the pipeline learns: counted once, by category, and never lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.skill.brief import Learned, Lesson, learn, read_lesson


def outcome(
    receipt: str, category: str = "docs", *, succeeded: bool = False, **more: object
) -> Learned:
    values = {"candidate_id": receipt, "timestamp": "2026-01-01T00:00:00Z", **more}
    return Learned(receipt=receipt, category=category, succeeded=succeeded, **values)  # type: ignore[arg-type]


def test_lessons_count_by_category_outcome_and_layer() -> None:
    """Two reverts at one layer are one lesson with two hits; a revert elsewhere and a success are
    others.
    """
    lessons = learn(
        [
            outcome("a", layer="regression", failed_tasks=("x",), timestamp="2026-01-02"),
            outcome(
                "b",
                layer="regression",
                failed_tasks=("x", "y"),
                timestamp="2026-01-03",
                reason="last",
            ),
            outcome("c", layer="compile"),
            outcome("d", succeeded=True),
        ]
    )
    first = lessons[0]
    assert (first.type, first.succeeded, first.hit_count) == ("docs", False, 2)
    assert first.context["failed_tasks"] == {"x": 2, "y": 1} and first.context["reason"] == "last"
    assert first.timestamp == "2026-01-03" and len(lessons) == 3


outcomes = st.lists(
    st.builds(
        outcome,
        st.sampled_from("abcdefgh"),
        st.sampled_from(["docs", "prompt"]),
        succeeded=st.booleans(),
        layer=st.sampled_from([None, "regression", "person"]),
        timestamp=st.sampled_from(["2026-01-01", "2026-01-02"]),
    )
)


@given(outcomes, st.integers(0, 20))
def test_nothing_is_counted_twice_however_often_it_is_learned(
    found: list[Learned], at: int
) -> None:
    """Learning in two goes, and learning again, gives every receipt one hit."""
    once = learn(found[at:], learn(found[:at]))
    again = learn(found, once)
    assert again == once
    assert sum(lesson.hit_count for lesson in once) == len({one.receipt for one in found})


@given(outcomes)
def test_a_memory_survives_its_own_file(found: list[Learned]) -> None:
    """What is written is read back as the same lessons."""
    lessons = learn(found)
    assert [read_lesson(lesson.to_plain()) for lesson in lessons] == lessons


def test_lessons_of_another_program_stay_and_are_not_mixed_with_ours() -> None:
    """A dimension that the original's learner noted is kept as it is."""
    plain = {
        "type": "accuracy",
        "succeeded": False,
        "context": {"dimension": "accuracy", "reason": "no_improvement"},
        "timestamp": "2026-04-05T15:51:05Z",
        "hit_count": 7,
    }
    theirs = read_lesson(plain)
    assert isinstance(theirs, Lesson)
    lessons = learn([outcome("a", "accuracy")], [theirs])
    assert lessons[0].to_plain() == plain and len(lessons) == 2


@given(
    st.one_of(
        st.none(),
        st.text(),
        st.lists(st.integers()),
        st.dictionaries(st.text(), st.integers()),
        st.fixed_dictionaries(
            {
                "type": st.text(),
                "succeeded": st.one_of(st.booleans(), st.text()),
                "context": st.text(),
            }
        ),
    )
)
def test_an_entry_that_is_no_lesson_is_told_apart(entry: object) -> None:
    """Hostile memory is left out or read as a lesson, never a crash."""
    lesson = read_lesson(entry)
    assert lesson is None or (
        lesson.type and isinstance(lesson.succeeded, bool) and lesson.hit_count >= 1
    )
