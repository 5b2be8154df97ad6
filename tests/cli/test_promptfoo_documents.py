"""PDFs that a promptfoo config names: their text is put in, read as hostile files are."""

from __future__ import annotations

import pytest

from .desk import Desk
from .documents import pdf

pytest.importorskip("pypdf", reason="the extra `documents` is not installed")

CONFIG = """
prompts: ["Who signed this? {{doc}}"]
providers: [echo]
tests:
  - {vars: {doc: "file://papers/one.pdf"}, assert: [{type: contains, value: Ada}]}
  - {vars: {doc: "file://papers/two.pdf"}, assert: [{type: contains, value: Ada}]}
"""


@pytest.mark.slow
def test_a_variable_that_names_a_pdf_is_its_text(desk: Desk) -> None:
    """As in promptfoo. Converted, the text is in the suite, which needs the file no more."""
    desk.file("papers/one.pdf", pdf("Signed: Ada Lovelace"))
    desk.file("papers/two.pdf", pdf("Signed: Grace Hopper"))
    desk.file("c.yaml", CONFIG)
    cases = desk.run("eval", "c.yaml", "--json").json["cases"]
    assert [case["verdict"] for case in cases] == ["pass", "fail"]
    assert cases[0]["input"] == "Who signed this? Signed: Ada Lovelace"
    assert desk.run("suite", "convert", "c.yaml", "--output", "out/suite.yaml").code == 0
    (desk.folder / "papers/one.pdf").unlink()
    again = desk.run("eval", "out/suite.yaml", "--json").json["cases"]
    assert [case["verdict"] for case in again] == ["pass", "fail"]


def test_a_pattern_of_pdfs_is_a_case_each(desk: Desk) -> None:
    """As of other files; one whose name is nothing but the ending is a text like any other."""
    desk.file("papers/one.pdf", pdf("Signed: Ada Lovelace"))
    desk.file("papers/two.pdf", pdf("Signed: Grace Hopper"))
    desk.file("ada.txt", "Ada")
    (desk.folder / ".pdf").symlink_to(desk.folder / "ada.txt")
    test = "tests: [{vars: {doc: 'file://WHERE'}, assert: [{type: contains, value: Ada}]}]"
    for where, verdicts in (("papers/*.pdf", ["pass", "fail"]), (".pdf", ["pass"])):
        desk.file(
            "c.yaml",
            f"prompts: ['{{{{doc}}}}']\nproviders: [echo]\n{test.replace('WHERE', where)}\n",
        )
        found = desk.run("eval", "c.yaml", "--json")
        assert [case["verdict"] for case in found.json["cases"]] == verdicts, found.err


@pytest.mark.slow
def test_a_pdf_that_cannot_be_read_is_a_loss(desk: Desk) -> None:
    """Damaged, missing, or outside of the project: named with its place; the other case runs with
    --accept-loss.
    """
    desk.file("papers/one.pdf", pdf("Signed: Ada Lovelace"))
    desk.file("papers/two.pdf", b"%PDF-1.4 nothing")
    desk.file("c.yaml", CONFIG)
    refused = desk.run("eval", "c.yaml", "--json")
    assert (
        refused.is_refusal and "two.pdf` is damaged" in refused.err and "c.yaml:6:" in refused.err
    )
    done = desk.run("eval", "c.yaml", "--accept-loss", "--json").json["cases"]
    assert [case["verdict"] for case in done] == ["pass", "skipped"]
    desk.file("c.yaml", CONFIG.replace("papers/two.pdf", "../../../../etc/two.pdf"))
    assert "leads out" in desk.run("eval", "c.yaml").err
