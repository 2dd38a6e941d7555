#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: packaging/twice.sh
# Builds wheel and source distribution in dist/ again, from a clone of their commit in another folder, and compares.
set -euo pipefail
cd "$(dirname "$0")/.."
second=$(mktemp -d)
trap 'rm -rf "$second"' EXIT
commit=$(tar --extract --to-stdout --wildcards --file dist/matchbench-*.tar.gz '*/packaging/revision')
git clone --quiet --no-hardlinks . "$second/again"
git -C "$second/again" checkout --quiet "$commit"
ln -s "$PWD/.venv" "$second/again/.venv"
"${MAKE:-make}" --no-print-directory -C "$second/again" -o .venv/packages.stamp -o .venv/dist.stamp dist
for file in dist/matchbench-*; do
  cmp "$file" "$second/again/$file"
done
