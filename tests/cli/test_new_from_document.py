"""`rubric new --from` a PDF or a Word document: its text is taken like a text file's, and a hostile
file ends in one message.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from .desk import Desk
from .documents import paragraph, pdf, word, word_table

pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
pytest.importorskip("docx", reason="the extra `documents` is not installed")

SHEET = [
    ["Criterion", "Weight", "Excellent (4)", "Poor (1)"],
    ["Thesis", "40", "Bold", "Absent"],
    ["Sources", "60", "Five", "None"],
]


def made(desk: Desk, name: str) -> str:
    result = desk.run("rubric", "new", "--from", name, "--yes", "--json")
    assert result.code == 0, result.err
    assert desk.run("rubric", "check", "rubric.yaml").code == 0
    return str(result.json["rubric"])


def refused(desk: Desk, name: str) -> str:
    result = desk.run("rubric", "new", "--from", name, "--yes", timeout=300)
    assert result.is_refusal, result
    assert not (desk.folder / "rubric.yaml").exists()
    return result.err


def test_a_table_of_a_word_document(desk: Desk) -> None:
    """Weights and the words of levels are those of the table; the place names the document."""
    desk.file(
        "essay.docx",
        word(paragraph("Essay rubric", "Title"), word_table(SHEET), paragraph("See me.")),
    )
    text = made(desk, "essay.docx")
    assert text.startswith("# A draft from essay.docx")
    for part in ("Thesis", "weight: 40", "weight: 60", "Bold", "Absent"):
        assert part in text


def test_headings_and_boxes_of_a_word_document(desk: Desk) -> None:
    """A heading with boxes below it is a criterion with items."""
    blocks = [
        paragraph("Tests", "heading 1"),
        paragraph("☐ Every branch is run"),
        paragraph("☐ Failures are named"),
        paragraph("Docs", "heading 1"),
        paragraph("☐ The start page is current"),
        paragraph("☐ Options have examples"),
    ]
    desk.file("list.docx", word(*blocks))
    text = made(desk, "list.docx")
    assert "Every branch is run" in text and "The start page is current" in text and "Docs" in text


def test_bullets_with_weights_of_a_pdf(desk: Desk) -> None:
    """The lines of a page are read as lines of a text."""
    lines = ["Grading criteria", "• Thesis (40%): a bold claim", "• Sources (60%): five or more"]
    desk.file("grades.pdf", pdf(*lines))
    text = made(desk, "grades.pdf")
    for part in ("Thesis", "weight: 40", "a bold claim", "Sources", "weight: 60"):
        assert part in text


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.pdf", b"", "damaged"),
        ("short.pdf", pdf("Thesis (40%): x")[:200], "essential"),
        ("picture.pdf", pdf(), "no text"),
        ("text.docx", b"Criterion,Weight\n", "damaged"),
        ("other.docx", b"PK\x05\x06" + bytes(18), "not a Word document"),
        (
            "bomb.docx",
            word(paragraph("x"), extra=("word/media/a.xml", bytes(150_000_000))),
            "unpacks to more",
        ),
        ("story.docx", word(paragraph("Once there was a fern.")), "story.docx"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_is_not_read_says_why(desk: Desk, name: str, data: bytes, words: str) -> None:
    """Empty, cut off, a picture, another kind of file, one that unpacks to more than fits: exit 2,
    and nothing is written.
    """
    desk.file(name, data)
    err = refused(desk, name)
    assert name in err and (words in err or words == "essential"), err


def test_an_entity_of_a_word_document_reads_no_file(desk: Desk) -> None:
    """An external entity is not looked up, and one that grows does not fill the memory."""
    secret = desk.file("secret.txt", "TOP SECRET WORDS")
    head = f'<!DOCTYPE d [<!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    rows = word_table(SHEET).replace("Bold", "&s;")
    desk.file("entity.docx", word(rows, head=head))
    result = desk.run("rubric", "new", "--from", "entity.docx")
    assert (
        result.code in (0, 2)
        and "SECRET" not in result.out + result.err
        and "Traceback" not in result.err
    )
    steps = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    laughs = word(
        word_table(SHEET).replace("Bold", "&e9;"), head=f'<!DOCTYPE d [<!ENTITY e0 "ha">{steps}]>'
    )
    desk.file("laughs.docx", laughs)
    result = desk.run("rubric", "new", "--from", "laughs.docx", timeout=300)
    assert result.code in (0, 2) and len(result.out) < 1_000_000 and "Traceback" not in result.err


@pytest.mark.slow
def test_a_page_that_unpacks_to_far_more_is_given_up(desk: Desk) -> None:
    """A content stream of 400 MB of blanks in 400 KB ends in a message: memory and time are
    bounded.
    """
    packer = zlib.compressobj(9)
    piece = bytes([32]) * 10_000_000
    stream = b"".join(packer.compress(piece) for _ in range(40)) + packer.flush()
    desk.file("bomb.pdf", pdf(stream=stream))
    assert "bomb.pdf" in refused(desk, "bomb.pdf")


def test_without_the_extra_its_name_is_said(desk: Desk, tmp_path: Path) -> None:
    """Where the library is missing: exit 2 with what to install. The file is named, not read."""
    from honestone.system.processes import _document, documents

    broken = tmp_path / "child.py"
    broken.write_text(f"import sys\nsys.exit({_document.MISSING})\n")
    desk.file("a.pdf", pdf("Thesis (40%): x"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_document, "__file__", str(broken))
        with pytest.raises(Exception, match="not installed") as caught:
            documents.document_text(desk.folder / "a.pdf")
    assert "honestone[documents]" in str(getattr(caught.value, "hint", ""))
