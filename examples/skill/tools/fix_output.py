"""A fix: runs every command that SKILL.md shows and writes what it really prints under it."""

from commands import PAGE, run, shown_commands, stage


def with_true_output(page: str) -> str:
    with stage() as folder:
        for one in reversed(shown_commands(page)):  # from the end, so that earlier places stay where they are
            worked, printed = run(one.command, folder)
            if worked:
                page = page[: one.start] + printed + page[one.end :]
    return page


if __name__ == "__main__":
    PAGE.write_text(with_true_output(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
