#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: lock.sh [OPTION...]
# Writes the versions and hashes of the Python packages that `make` installs: of what the package and its tests need, and
# of what the other extras need besides. Versions stay as they are, unless an option of `uv pip compile` says otherwise,
# such as --upgrade.
set -eu
cd "$(dirname "$0")/.."

compile() {
  UV_SYSTEM_CERTS=1 .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
    "$@" pyproject.toml >/dev/null
}

compile --extra dev --output-file python/requirements.txt "$@"
mapfile -t common < <(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package=\1/p' python/requirements.txt)
besides() {
  compile --constraint python/requirements.txt "${common[@]}" "$@"
}
besides --extra cluster --extra optimizer --output-file python/cluster.txt "$@"
besides --extra dist --output-file python/dist.txt "$@"
besides --extra fuzz --output-file python/fuzz.txt "$@"
