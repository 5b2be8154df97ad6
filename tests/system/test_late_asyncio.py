"""asyncio that is loaded when a name of it is used."""

from __future__ import annotations

import asyncio

import pytest

from honestone.system import late_asyncio
from honestone.system.event_loop import is_loop_running


def test_its_names_are_those_of_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same objects, also while another one is in their place."""
    assert late_asyncio.sleep is asyncio.sleep
    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", print)
        assert late_asyncio.sleep is print  # type: ignore[comparison-overlap]
    assert late_asyncio.sleep is asyncio.sleep
    with pytest.raises(AttributeError, match="no_such_name"):
        late_asyncio.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_a_loop_is_found_where_it_runs() -> None:
    async def here() -> bool:
        return is_loop_running()

    assert not is_loop_running()
    assert asyncio.run(here())
