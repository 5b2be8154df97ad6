#!/bin/sh
# One of the slow acceptance scripts: acceptance_slow.sh SCRIPTS PYTHON TURN NAME... runs the TURN-th name, in turn.
set -eu
scripts=$1 python=$2 turn=$3
shift 3
shift $((turn % $#))
name=$1
CLIS=$PWD/.clis
case $name in b3_real_clis | g2_agent_install)
	installed=$(ls -d .clis/installed .clis-newest/installed 2>/dev/null | head -1)
	[ -n "$installed" ] || { echo "skipped: the agent CLIs are not installed"; exit 0; }
	CLIS=$PWD/$(dirname "$installed") ;;
esac
export CLIS
exec "$(dirname "$0")/acceptance.sh" "$scripts" "$python" "$name"
