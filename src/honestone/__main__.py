"""The command, also as `python -m honestone`. From here on Ctrl-C prints no traceback, while modules are imported too."""

import sys


def main() -> None:
    try:
        from honestone.cli.main import main as run

        run()
    except (KeyboardInterrupt, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
