#!/bin/sh
# The Containerfile and the Compose file of the docs, where docker is. $1 is a Python, the rest is for pytest.
# Without BUILD=no the image is built first, from bases that are here or can be pulled.
set -eu
python=$1
shift
tools/install/container_images.sh || exit 0
[ "${BUILD:-}" = no ] || docker build -f Containerfile -t honestone .
HONESTONE_TEST_CONTAINERS=1 exec "$python" -m pytest tests/containers "$@"
