"""`python -m honestone`: the command."""

from honestone.cli.main import main

if __name__ == "__main__":
    main()
