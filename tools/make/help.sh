#!/bin/sh
# The targets of the Makefile with what they do: first those named in the arguments, in that order, then the others.
set -eu
line() { sed -n "s/^\($1\):.*## /  \1\t/p" Makefile | expand -t 18; }
for name in "$@"; do line "$name"; done
printf '\nand also:\n'
line '[a-z-]*' | grep -Ev "^  ($(echo "$@" | tr ' ' '|')) "
