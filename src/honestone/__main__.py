"""The command, also as `python -m honestone`. From here on Ctrl-C prints no traceback, while
modules are imported too.
"""

import sys

# How many more objects have to be made than freed before Python looks for cycles. At its own 700
# that takes a twentieth of the time of a run, and little of what a run frees is in a cycle: the
# peak stays the same.
COLLECT_EVERY = 10_000


def main() -> None:
    try:
        from honestone.cli.ctrl_c import end_at_once

        end_at_once()
        import gc

        gc.set_threshold(COLLECT_EVERY, *gc.get_threshold()[1:])
        from honestone.cli.main import main as run

        try:
            run()
        finally:
            end_at_once()
            # Python ends with a search for cycles in all that is left: a tenth of a short command,
            # for memory that the end of the process frees as well.
            gc.freeze()
    except (KeyboardInterrupt, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
