"""CheckEval question banks become checklists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from reading import never_crashes, put, rubric_of, wild, wrong

from honestone.core.rubric import slug
from honestone.formats.document import Document
from honestone.interop.checkeval.read import READERS
from honestone.interop.recognise import recognise
from property_examples import examples


def test_one_dimension_is_one_checklist(tmp_path: Path) -> None:
    """Questions stand one after another in a folded text; a dimension weighs as many as it has."""
    text = (
        "definition: {mail: Whether the mail helps}\nsub_aspect:\n  Clear Words:\n    Is it short?\n    Is it plain? Does it\n"
        "    avoid jargon?\n  Kind:\n    - Is it kind?\n"
    )
    rubric = rubric_of(READERS[0], put(tmp_path, text)).rubric
    assert rubric.title == "Whether the mail helps"
    assert [(c.id, c.requirement, c.weight) for c in rubric.criteria] == [
        ("clear-words", "Clear Words", 3),
        ("kind", "Kind", 1),
    ]
    assert [i.requirement for i in rubric.criteria[0].items] == [
        "Is it short?",
        "Is it plain?",
        "Does it avoid jargon?",
    ]
    assert rubric.floor == 0 and rubric.threshold * 100 == 70


def test_the_same_question_twice_stays_two_items(tmp_path: Path) -> None:
    """Nothing is dropped because it looks alike."""
    rubric = rubric_of(READERS[0], put(tmp_path, "sub_aspect:\n  A: Is it so? Is it so?\n")).rubric
    assert [item.id for item in rubric.criteria[0].items] == ["is-it-so", "is-it-so-2"]


def test_mistakes_have_places(tmp_path: Path) -> None:
    """An unknown key, an empty dimension and a wrong kind of value are all told."""
    found = wrong(READERS[0], put(tmp_path, "definitions: x\nsub_aspect:\n  A: 3\n  B: ''\n"))
    assert "1:1 unknown key `definitions` in a question bank" in found
    assert any(m.startswith("3:6 `A` must hold") for m in found) and any(
        m.startswith("4:6 `B`") for m in found
    )


def test_the_banks_of_others_load(tmp_path: Path) -> None:
    """Every bank beside this checkout: as many items as it has question marks, all yes/no."""
    for path in wild("checkeval"):
        document = Document.of(path)
        assert recognise(document) is READERS[0]
        source = rubric_of(READERS[0], document)
        questions = [item for _, item in source.rubric.questions()]
        assert len(questions) == sum(
            str(text).count("?") for text in document.value["sub_aspect"].values()
        )
        assert not source.losses and all(
            item.anchors is None and item.check is None for item in questions
        )


def test_the_example_of_the_docs_is_read(tmp_path: Path) -> None:
    """The example in the reference pages has two dimensions."""
    assert len(rubric_of(READERS[0], put(tmp_path, READERS[0].example)).rubric.criteria) == 2


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.fixed_dictionaries(
        {"sub_aspect": st.dictionaries(st.text(max_size=8), plain, max_size=4)},
        optional={"definition": plain},
    )
)
def test_no_bank_crashes_the_reader(bank: dict[str, Any]) -> None:
    """Whatever stands in a bank, it is read or refused in words."""
    never_crashes(READERS[0], Document(path=Path("b.yaml"), text=json.dumps(bank)))


@given(
    st.lists(st.from_regex(r"[A-Z][a-z]{1,8} [a-z]{1,8}\?", fullmatch=True), min_size=1, max_size=6)
)
def test_every_question_becomes_one_item(questions: list[str]) -> None:
    """However many there are, in their order."""
    document = Document(
        path=Path("b.yaml"), text=json.dumps({"sub_aspect": {"A": "\n  ".join(questions)}})
    )
    items = rubric_of(READERS[0], document).rubric.criteria[0].items
    assert [item.requirement for item in items] == questions
    assert items[0].id == slug(questions[0])
