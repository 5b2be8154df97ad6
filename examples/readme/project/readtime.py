"""How long a text takes to read: python3 readtime.py FILE..."""

import argparse

WORDS_PER_MINUTE = 230


def minutes(words, speed=WORDS_PER_MINUTE):
    """Whole minutes, and never less than one."""
    return max(1, -(-words // speed))


def main():
    parser = argparse.ArgumentParser(prog="readtime.py", description="How long does a text take to read?")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a text file")
    parser.add_argument(
        "--speed", type=int, default=WORDS_PER_MINUTE, metavar="WORDS", help="words a minute (default: 230)"
    )
    args = parser.parse_args()
    for name in args.files:
        with open(name, encoding="utf-8") as stream:
            words = len(stream.read().split())
        print(f"{name}: {words} words, {minutes(words, args.speed)} min")


if __name__ == "__main__":
    main()
