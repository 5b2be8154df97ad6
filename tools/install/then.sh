#!/bin/sh
# Installs what a command needs, then runs the command: then.sh INSTALLER WHAT COMMAND...
# Where the installer cannot do its work, the command is skipped: WHAT says what is missing.
set -eu
installer=$1 what=$2
shift 2
if ! timeout 600 $installer; then
	echo "skipped: $what"
	exit 0
fi
exec "$@"
