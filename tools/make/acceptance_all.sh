#!/bin/sh
# Every slow acceptance script, one after the other: acceptance_all.sh SCRIPTS PYTHON NAME...
set -eu
scripts=$1 python=$2
shift 2
for turn in $(seq $#); do "$(dirname "$0")/acceptance_slow.sh" "$scripts" "$python" "$turn" "$@"; done
