#!/bin/sh
# Acceptance scripts of the folder $1, by name, with the Python $2: the rest are the names. Skipped where the folder is absent.
set -eu
scripts=$1 python=$2
shift 2
[ -d "$scripts" ] || { echo "skipped: $scripts is not here"; exit 0; }
# `agentv validate` of m1_foreign looks for a git repository above its folder, so the temporary files are in one.
case " $* " in *" m1_foreign "*)
	TMPDIR=$(mktemp -d)
	export TMPDIR
	git init --quiet "$TMPDIR"
	trap 'rm -rf "$TMPDIR"' EXIT ;;
esac
BWRAP=$(ls "$PWD/.bwrap/usr/bin/bwrap" 2>/dev/null || true)
HONESTONE_BIN=$PWD/$(dirname "$python")
export BWRAP HONESTONE_BIN
# The stand-in agent of e1 reads a log that other agents write to. With several processors, about one run in a thousand
# reads half a line and ends with an error, so e1 runs on one.
"$python" tools/acceptance.py "$scripts" "$@" --one-cpu=e1_skill_evaluation
