"""Formats by name: each document has its own, and other packages add theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import jsonschema
import msgspec
import pytest
import samples
import suite_samples

from honestone.core.errors import UsageError
from honestone.core.plugins import REPORTS
from honestone.report import formats
from honestone.report.documents import KINDS, document_class, field_meanings, json_schema
from honestone.system import plugins
from honestone.system.drawing import Style


def shout(document: dict[str, object]) -> str:
    """A format of another package."""
    return f"{document['verdict']}!\n".upper()


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [
        EntryPoint("shout", f"{__name__}:shout", REPORTS.group),
        EntryPoint("gone", "nowhere:x", REPORTS.group),
    ]
    monkeypatch.setattr(
        plugins, "entry_points", lambda *, group: points if group == REPORTS.group else []
    )
    plugins.plugins.cache_clear()
    yield
    plugins.plugins.cache_clear()


@pytest.mark.parametrize(
    "make", [samples.failed, suite_samples.every_status, suite_samples.comparison]
)
def test_a_document_is_drawn_by_the_name_of_the_format(make) -> None:  # type: ignore[no-untyped-def]
    """The document says what it is."""
    for form in ("text", "markdown"):
        assert "DID NOT PASS" in formats.draw(make(), form, Style())


def test_another_package_adds_a_format(added: None) -> None:
    """It is called with the document as JSON has it; its name is not ours."""
    assert formats.draw(samples.failed(), "shout", Style()) == "FAIL!\n"
    assert set(formats.other_formats()) == {"shout", "gone"}


def test_a_format_that_is_not_there_is_named(added: None) -> None:
    """Unknown, for another document, or not to be loaded: each is an error in the use."""
    for form, word in (
        ("loud", "not known"),
        ("html", "does not show this"),
        ("gone", "cannot be loaded"),
    ):
        with pytest.raises(UsageError, match=word):
            formats.draw(samples.failed(), form, Style())


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_explains_its_fields(kind: str) -> None:
    """The schema is valid, and a docstring explains only fields that are there."""
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    struct = document_class(kind)
    explained = {name for name, _ in field_meanings(struct.__doc__ or "")}
    known = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert explained and explained <= known


@pytest.mark.parametrize(
    "make", [samples.failed, samples.unconfirmed, suite_samples.with_baseline, suite_samples.trend]
)
def test_documents_fit_their_schemas(make) -> None:  # type: ignore[no-untyped-def]
    """What the tests draw is what the schema describes."""
    document = json.loads(json.dumps(make()))
    jsonschema.validate(document, json_schema(formats.kind_of(document)))


@pytest.mark.parametrize(("kind", "form"), sorted(formats.RENDERERS))
def test_a_renderer_takes_the_document_of_its_kind(kind: str, form: str) -> None:
    renderer = formats.RENDERERS[kind, form]
    assert renderer.__annotations__["doc"] == document_class(kind).__name__
