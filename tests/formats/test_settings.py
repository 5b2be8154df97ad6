"""Settings: found upwards, read strictly, every mistake with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from honestone.core.errors import SettingsError
from honestone.formats.settings import find_settings, read_settings

GOOD = """\
# who judges here
[judges.local]
provider = "openai"
base_url = "http://127.0.0.1:11434/v1"
model = "small"
api_key_env = "LOCAL_KEY"

[judges.mine]
provider = "claude"
auth = "login"
command = ["/opt/mine", "--quiet"]
timeout = 12.5

[workers.editor]
provider = "codex"

[prices.small]
input = 1.5

[limits]
max_calls = 40
max_usd = 2
"""


def read(folder: Path, text: str | bytes, name: str = "honestone.toml") -> object:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_settings(path)


def error_of(folder: Path, text: str | bytes, name: str = "honestone.toml") -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read(folder, text, name)
    return caught.value


def test_everything_that_is_written_is_read(tmp_path: Path) -> None:
    """Judges, workers, prices and limits come as they were written; the folder is the file's."""
    (tmp_path / "honestone.toml").write_text(GOOD)
    settings = find_settings(tmp_path)
    assert settings.folder == tmp_path
    assert settings.judges["local"]["api_key_env"] == "LOCAL_KEY"
    assert settings.judges["mine"]["command"] == ["/opt/mine", "--quiet"]
    assert settings.judges["mine"]["timeout"] == 12.5
    assert list(settings.workers) == ["editor"]
    assert settings.targets == {}
    assert settings.prices["small"]["input"] == 1.5
    assert settings.limits == {"max_calls": 40, "max_usd": 2}


def test_the_nearest_file_upwards_holds(tmp_path: Path) -> None:
    """A folder below uses the project's settings, unless a nearer file says otherwise."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "honestone.toml").write_text("[limits]\nrounds = 1\n")
    assert find_settings(deep).folder == tmp_path
    (tmp_path / "a" / "honestone.toml").write_text("")
    assert find_settings(deep).folder == tmp_path / "a"
    assert find_settings(deep).limits == {}


def test_a_pyproject_counts_where_it_speaks_of_us(tmp_path: Path) -> None:
    """`[tool.honestone]` holds; a pyproject.toml without it is passed by; honestone.toml beside it
    wins.
    """
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.honestone.limits]\nrounds = 7\n")
    (inner / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert find_settings(inner).limits == {"rounds": 7}
    assert find_settings(inner).folder == tmp_path
    (tmp_path / "honestone.toml").write_text("[limits]\nrounds = 2\n")
    assert find_settings(inner).limits == {"rounds": 2}


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    """Nothing found is no error."""
    found = find_settings(tmp_path)
    assert (found.folder, dict(found.judges), dict(found.limits)) == (None, {}, {})


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("[judgse.x]\nprovider = 'codex'\n", 1, "`judgse`", "did you mean `judges`?"),
        ("\n[judges.x]\nprovider = 'codex'\nmodle = 'm'\n", 4, "`modle`", "did you mean `model`?"),
        ("[limits]\nmax_call = 3\n", 2, "`max_call`", "did you mean `max_calls`?"),
        ("[limits]\nmax_calls = 'many'\n", 2, "must be a number", None),
        ("[limits]\nrounds = true\n", 2, "must be a number", None),
        ("[judges.x]\nprovider = 3\n", 2, "must be text", None),
        ("[judges.x]\nmodel = 'm'\n", 1, "needs a `provider`", "provider ="),
        ("[judges]\nx = 'codex'\n", 2, "must be a table", None),
        ("judges = 3\n", 1, "must be a table", None),
        ("[judges.x]\nprovider = 'codex'\npass_env = 'HOME'\n", 3, "must be a list", None),
        ("[limits]\nrounds = -1\n", 2, "at least 0", None),
        ("[limits]\nconcurrency = 0\n", 2, "at least 1", None),
        ("[limits]\nmax_usd = nan\n", 2, "nan", None),
        ("[limits]\nmax_minutes = inf\n", 2, "inf", None),
        ("[limits]\nmax_size = 0\n", 2, "above 0", None),
        ("[limits\n", 1, "TOML", None),
        ("[limits]\nrounds = 1\nrounds = 2\n", 3, "TOML", None),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, text: str, line: int, message: str, hint: str | None
) -> None:
    """Typos, wrong types and broken TOML name file, line and the near match."""
    error = error_of(tmp_path, text)
    assert error.place is not None
    assert error.place.startswith(f"{tmp_path / 'honestone.toml'}:{line}"), error.place
    assert message in error.message
    if hint:
        assert hint in (error.hint or "")


def test_the_line_is_that_of_the_right_table(tmp_path: Path) -> None:
    """A key that is fine in one table and wrong in another is found in the other."""
    text = "[judges.a]\nprovider = 'codex'\ntimeout = 3\n\n[judges.b]\nprovider = 'claude'\ntimeout = 'long'\n"
    assert str(error_of(tmp_path, text).place).endswith("honestone.toml:7:1")


def test_a_mistake_in_a_pyproject_is_told_with_its_line(tmp_path: Path) -> None:
    """Other tools' keys of the same name do not mislead."""
    text = "[project]\nname = 'x'\n\n[tool.other.limits]\nround = 1\n\n[tool.honestone.limits]\nround = 1\n"
    error = error_of(tmp_path, text, "pyproject.toml")
    assert str(error.place).endswith("pyproject.toml:8:1")
    assert "did you mean `rounds`?" in str(error.hint)


def test_a_pyproject_that_only_mentions_us_is_passed_by(tmp_path: Path) -> None:
    """A comment or a tool of a similar name are no settings of ours, and broken TOML of others is
    not our affair.
    """
    path = tmp_path / "pyproject.toml"
    for text in (
        "# see tool.honestone\n",
        "[tool.honestone-docs]\nx = 1\n",
        "[tool.honestones]\n",
        "broken [",
    ):
        path.write_text(text)
        assert find_settings(tmp_path).folder is None


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """A settings file in Latin-1 is named with the byte."""
    error = error_of(tmp_path, b"# caf\xe9\n")
    assert "not UTF-8" in error.message
    assert "honestone.toml" in str(error.place)


def test_a_folder_of_that_name_is_no_settings_file(tmp_path: Path) -> None:
    """Only files are read."""
    (tmp_path / "honestone.toml").mkdir()
    assert find_settings(tmp_path).folder is None


@pytest.mark.parametrize("name", ["honestone.toml", "pyproject.toml"])
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No right to read the settings is an error of the settings, not a crash."""
    path = tmp_path / name
    path.write_text("[tool.honestone]\n")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SettingsError) as caught:
        find_settings(tmp_path)
    assert "Permission denied" in caught.value.message
    assert name in str(caught.value.place)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("-1", "from 0 to 5"),
        ("6", "from 0 to 5"),
        ("1.5", "must be a number"),
        ("true", "must be a number"),
    ],
)
def test_how_often_a_judge_is_asked_again_has_bounds(
    tmp_path: Path, value: str, wrong: str
) -> None:
    """`reasks` is a number from 0 to 5, and the place of another one is named."""
    error = error_of(tmp_path, f'[judges.a]\nprovider = "claude"\nreasks = {value}\n')
    assert error.place == f"{tmp_path / 'honestone.toml'}:3:1" and wrong in error.message, error
    assert (
        read(tmp_path, '[judges.a]\nprovider = "claude"\nreasks = 5\n').judges["a"]["reasks"] == 5
    )  # type: ignore[attr-defined]
