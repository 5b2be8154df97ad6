#!/bin/sh
# The base images of the Containerfile and of the Compose file of the docs, where docker is here. Fails, with the
# reason, where the tests of containers cannot run.
set -eu
fail() {
  echo "skipped: $1"
  exit 1
}
docker info >/dev/null 2>&1 || fail "docker is not here"
docker-compose version >/dev/null 2>&1 || docker compose version >/dev/null 2>&1 || fail "docker compose is not here"
for image in python:3.13-slim-bookworm postgres:16; do
  docker image inspect "$image" >/dev/null 2>&1 || docker pull --quiet "$image" >/dev/null 2>&1 ||
    fail "the base images are not here and could not be pulled"
done
