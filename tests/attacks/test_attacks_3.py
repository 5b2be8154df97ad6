"""Delivery never leaves the artifact: no write follows a link, and a name that is a link stays one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from honestone.core.artifact import Entry, Version
from honestone.core.errors import FileError
from honestone.system.files import deliver

from .corpus import Attack, Desk, Ended

RUBRIC = "rubric: 1\nthreshold: 50\ncriteria: [{id: more, requirement: It has more, check: {contains: more-words, path: README.md}}]\n"
SAY = "(a / 'README.md').write_text('x more-words\\n')\n"


def looped(
    name: str, link: str, leads_to: str, body: str, outcome: str = "out-of-scope", *extra: str
) -> Attack:
    """A loop on a folder with the link `art/LINK`; nothing in `outside/` may change, and the link
    stays.
    """

    def build(desk: Desk) -> Iterable[str]:
        for path in ("art/README.md", "art/sub/inner.md", "outside/x.txt", "outside/deep/y.txt"):
            desk.put(path, "safe\n")
        desk.put("r.yaml", RUBRIC)
        (desk.folder / "art" / link).parent.mkdir(parents=True, exist_ok=True)
        (desk.folder / "art" / link).symlink_to(leads_to.format(desk=desk.folder))
        return ["--worker", desk.worker(SAY + body)]

    def after(desk: Desk, ended: Ended) -> bool:
        outside = [path.read_text() for path in sorted((desk.folder / "outside").rglob("*.txt"))]
        stays = (desk.folder / "art" / link).is_symlink() and outside == ["safe\n", "safe\n"]
        return stays and ("more-words" in desk.read("art/README.md")) == (outcome == "changed")

    return Attack(
        name=name,
        hole=3,
        build=build,
        command=("improve", "art", "--rubric", "r.yaml", "--rounds", "1", "--json", *extra),
        exit=0 if outcome == "changed" else 1,
        expect={"rounds.0.outcome": outcome},
        after=after,
    )


FOLDER = "(a / 'lnk').mkdir(exist_ok=True); (a / 'lnk/x.txt').write_text('owned')\n"
ATTACKS = [
    looped("honest link inside", "alias.md", "README.md", "", "changed"),
    looped("honest link to a folder inside", "lnk", "sub", "", "changed"),
    looped("honest link that leads nowhere", "lnk", "nowhere", "", "changed"),
    looped(
        "honest change beside a link out",
        "lnk",
        "../outside",
        "(a / 'new.md').write_text('new')\n",
        "changed",
    ),
    looped("a folder in place of a link out", "lnk", "../outside", FOLDER),
    looped("a folder in place of an absolute link", "lnk", "{desk}/outside", FOLDER),
    looped(
        "a deeper file below a link out",
        "lnk",
        "../outside",
        "(a / 'lnk/deep').mkdir(parents=True); (a / 'lnk/deep/y.txt').write_text('owned')\n",
    ),
    looped(
        "a new folder below a link out",
        "lnk",
        "../outside",
        "(a / 'lnk/new').mkdir(parents=True); (a / 'lnk/new/z.txt').write_text('owned')\n",
    ),
    looped(
        "a file in place of a link to a file",
        "x.txt",
        "../outside/x.txt",
        "(a / 'x.txt').write_text('owned')\n",
    ),
    looped(
        "a file in place of a link to nothing",
        "x.txt",
        "../outside/none.txt",
        "(a / 'x.txt').write_text('owned')\n",
    ),
    looped(
        "a link further down",
        "sub/lnk",
        "../../outside",
        "(a / 'sub/lnk').mkdir(); (a / 'sub/lnk/x.txt').write_text('owned')\n",
    ),
    looped(
        "a file in place of a link inside",
        "alias.md",
        "README.md",
        "(a / 'alias.md').write_text('mine')\n",
    ),
    looped(
        "a folder in place of a link to a folder inside",
        "lnk",
        "sub",
        "(a / 'lnk').mkdir(); (a / 'lnk/inner.md').write_text('mine')\n",
    ),
    looped("a link that goes round", "lnk", "lnk", FOLDER),
    looped(
        "a link above the artifact",
        "lnk",
        "..",
        "(a / 'lnk').mkdir(); (a / 'lnk/r.yaml').write_text('rubric: 1')\n",
    ),
    looped(
        "a link out that the worker makes",
        "was",
        "sub",
        "(a / 'lnk').symlink_to(desk / 'outside')\n",
    ),
    looped(
        "a link made and filled by the worker",
        "was",
        "sub",
        "(a / 'sub/inner.md').unlink(); (a / 'sub/inner.md').symlink_to(desk / 'outside/x.txt')\n",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


@pytest.mark.parametrize("name", ["lnk/x.txt", "lnk/deep/y.txt", "lnk/new/z.txt", "x.txt"])
@pytest.mark.parametrize("removes", [False, True])
def test_a_link_at_the_moment_of_writing(tmp_path: Path, name: str, removes: bool) -> None:
    """Whoever puts a link there after the proposal was looked at gets nothing written or removed
    through it.
    """
    root, outside = tmp_path / "art", tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    root.mkdir()
    for path in (outside / "x.txt", outside / "deep/y.txt"):
        path.write_text("safe\n")
    (root / "lnk").symlink_to(outside)
    (root / "x.txt").symlink_to(outside / "x.txt")
    with_it = Version({"a.md": Entry(b"a"), name: Entry(b"owned")}, is_folder=True)
    without = Version({"a.md": Entry(b"a")}, is_folder=True)
    if removes and name == "x.txt":  # the link is removed, not the file
        deliver(root, with_it, without)
    else:
        with pytest.raises(FileError):
            deliver(root, *((with_it, without) if removes else (without, with_it)))
    assert sorted(p.relative_to(outside).as_posix() for p in outside.rglob("*")) == [
        "deep",
        "deep/y.txt",
        "x.txt",
    ]
    assert (outside / "x.txt").read_text() == (outside / "deep/y.txt").read_text() == "safe\n"
