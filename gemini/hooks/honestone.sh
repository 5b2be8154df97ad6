#!/bin/sh
# Calls honestone for a hook. Where it is not installed, a session is not held and nothing is said at every turn.
PATH="$PATH:$HOME/.local/bin"
command -v honestone >/dev/null 2>&1 || exit 0
exec honestone "$@"
