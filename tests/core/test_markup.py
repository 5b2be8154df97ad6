"""The checks `is-html`, `contains-html`, `is-xml` and `contains-xml`."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.check_problems import check_problem, read_check
from honestone.core.checking.checks import compile_text_check
from honestone.core.json_value import JsonObject
from honestone.core.judging.rubric import Check

NAMES = ["order", "id", "item", "note"]
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), max_size=20)


def said(written: JsonObject, text: str) -> tuple[bool, str | None]:
    return compile_text_check(read_check(written))(text)


@pytest.mark.parametrize(
    ("text", "is_html", "has_html"),
    [
        ("<p>Hi <b>there</b></p>", True, True),
        ("<!DOCTYPE html>\n<html><body><p>one<p>two</body></html>\n", True, True),
        ("<my-card>x</my-card>", True, True),
        ("<img src='a>b.png'/><br>", True, True),
        ("<!-- note --><UL><LI>x</UL>", True, True),
        ("\ufeff<p>x</p>", True, True),
        (
            '<html><head><script>if (a<b && c>d) e = "</p></div>";</script></head><body>x</body></html>',
            True,
            True,
        ),
        ("<ul><li>a<li>b</ul> As you asked.", False, True),
        ("<html><body><p>one<p>two</body></html>\nHope this helps!", False, True),
        ("<script>if (a<b && c>d) {}</script> Here you go", False, True),
        ("</div><p>x</p></div>", True, True),
        ("Here is the page: <div>x</div>", False, True),
        ("<div>x</div> As you asked.", False, True),
        ("<answer>42</answer>", False, True),
        ("Put <output> and <data> there", False, False),
        ("1 < 2 and 3 > 2", False, False),
        ("<?xml version='1.0'?><order><id>1</id></order>", False, True),
        ("", False, False),
    ],
)
def test_what_is_html_and_what_holds_some(text: str, is_html: bool, has_html: bool) -> None:
    """A text with words outside its elements is not HTML; names that are often placeholders do not
    make it hold any.
    """
    assert said({"is-html": True}, text)[0] is is_html
    assert said({"not-is-html": True}, text)[0] is not is_html
    assert said({"contains-html": True}, text)[0] is has_html
    assert said({"not-contains-html": True}, text)[0] is not has_html


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<order><id>1</id></order>", None),
        ("\n<?xml version='1.0' encoding='utf-16'?><order><id>\u00e9</id></order>\n", None),
        ("<order><id>1</id>", "not XML: no element found at line 1, column 18"),
        ("<order>\n<id></order>", "not XML: mismatched tag at line 2, column 7"),
        ("<order/><order/>", "not XML: junk after document element"),
        ("Here: <order><id>1</id></order>", "not XML: syntax error at line 1, column 1"),
        ("<order><note>1</note></order>", "it has no element `order.id`"),
        ("<all><order><id>1</id></order></all>", "it has no element `order.id`"),
        ("<!DOCTYPE order SYSTEM 'file:///etc/passwd'><order><id>1</id></order>", None),
        ("\ud800<order/>", "not XML"),
    ],
)
def test_what_is_xml(text: str, problem: str | None) -> None:
    """One well-formed document, with the elements that are asked for, by their paths from the root."""
    met, note = said({"is-xml": "order.id"}, text)
    assert met is (problem is None) and (problem or "") in (note or "")


def test_xml_inside_a_text() -> None:
    """One well-formed element with an end tag, anywhere; with paths, one of that name that has
    them.
    """
    text = "So: <all><order><id>1</id></order> <br> <note>"
    assert said({"contains-xml": True}, text)[0]
    assert said({"contains-xml": ["order.id", "order"]}, text)[0]
    assert said({"contains-xml": "order.item"}, text) == (False, "it has no element `order.item`")
    assert said({"not-contains-xml": True}, text) == (False, "it contains XML")
    assert not said({"contains-xml": True}, "a <br/> and a <note>")[0]
    for odd in (
        "<_a>1</_a>",
        "So: <\u0437\u0430\u043a\u0430\u0437>1</\u0437\u0430\u043a\u0430\u0437>",
        "So: <a><!-- </a> --><b/></a>",
        "So: <a><![CDATA[</a>]]></a>",
    ):
        assert said({"contains-xml": True}, odd)[0], odd


def test_elements_next_to_each_other() -> None:
    """Paths with several roots: an element for each, anywhere in the text, as models write their
    thoughts and their answer.
    """
    text = "<thinking>a <b></thinking> So: <thinking>hm</thinking> <answer><id>1</id></answer>"
    assert said({"contains-xml": ["thinking", "answer.id"]}, text)[0]
    assert said({"not-contains-xml": ["thinking", "answer.id"]}, text)[0] is False
    assert said({"contains-xml": ["thinking", "answer.no"]}, text) == (
        False,
        "it has no element `answer.no`",
    )
    assert said({"contains-xml": ["thinking", "end"]}, text) == (False, "it has no element `end`")


@given(
    st.recursive(
        WORDS,
        lambda inner: st.lists(st.tuples(st.sampled_from(NAMES), inner), max_size=4),
        max_leaves=12,
    )
)
def test_every_document_that_a_library_writes_is_xml(content: object) -> None:
    """Alone and inside words; cut short it is not."""

    def filled(node: ElementTree.Element, inner: object) -> ElementTree.Element:
        if isinstance(inner, str):
            node.text = inner
        for name, below in inner if isinstance(inner, list) else ():
            filled(ElementTree.SubElement(node, name), below)
        return node

    text = ElementTree.tostring(
        filled(ElementTree.Element("root"), content), "unicode", short_empty_elements=False
    )
    paths = {f"root.{name}" for name, _ in content} if isinstance(content, list) else set()
    asked: JsonObject = {"is-xml": sorted(paths)} if paths else {"is-xml": True}
    assert said(asked, text) == (True, None)
    assert said({"contains-xml": asked["is-xml"]}, f"Here: {text} and more")[0]
    assert not said({"is-xml": True}, text[:-1])[0]


@given(st.text(st.sampled_from("<>/ab -!?&;\n"), max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    """Every check says yes or no, and its opposite the opposite."""
    for kind in ("is-html", "contains-html", "is-xml", "contains-xml"):
        assert said({kind: True}, text)[0] is not said({f"not-{kind}": True}, text)[0]


def test_a_text_made_to_take_long_is_not_met_either_way() -> None:
    """Elements in elements that all lack what is asked for: what was not looked at is neither there
    nor not there.
    """
    text = "<a>" * 10_000 + "</a>" * 10_000
    for kind in ("contains-xml", "not-contains-xml"):
        assert said({kind: "a.b"}, text) == (
            None,
            "it has too many elements to look at all of them",
        )


def test_arguments_that_make_no_sense_are_refused() -> None:
    """HTML takes no paths, and a path is a text."""
    for kind, value in (
        ("is-html", ["p"]),
        ("is-xml", [1]),
        ("contains-xml", ""),
        ("contains-html", False),
    ):
        assert check_problem(Check(kind=kind, value=value)) is not None
