#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: packaging/twice.sh
# Builds wheel and source distribution again, from a clone in another folder, and compares them with those in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
second=$(mktemp -d)
trap 'rm -rf "$second"' EXIT
git clone --quiet --no-hardlinks . "$second/again"
ln -s "$PWD/.venv" "$second/again/.venv"
"${MAKE:-make}" --no-print-directory -C "$second/again" -o .venv/packages.stamp -o .venv/dist.stamp dist
for file in dist/matchbench-*; do
  cmp "$file" "$second/again/$file"
done
