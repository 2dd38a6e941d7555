#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Copies a product and the layers below it to an empty folder, and builds and tests the copy there.
# usage: xtask/alone.sh PRODUCT [FOLDER]    (target/alone/PRODUCT)
set -euo pipefail
product=${1:-}
cd "$(dirname "$0")/.."
# The layers are those of ARCHITECTURE.md; spec/ is the contract below all of them.
case $product in
  mbmatch | recorder) below=(spec) ;;
  processor | match_unit | mpi) below=(spec matching) ;;
  moped | netproc) below=(spec matching processor) ;;
  *)
    echo "alone.sh: found product \`$product\`, expected processor, match_unit, moped, netproc, mpi, mbmatch or recorder" >&2
    exit 2
    ;;
esac
folder=$(realpath -m "${2:-target/alone/$product}")
rm -rf "$folder"
mkdir -p "$folder"
git ls-files -z "$product" "${below[@]}" Cargo.lock clippy.toml rustfmt.toml | xargs -0 cp --parents -t "$folder"
# The workspace, with the members that were copied.
while IFS= read -r line; do
  if [[ $line =~ ^\ \ \"([^\"/*]+)[^\"]*\",$ && ! -d $folder/${BASH_REMATCH[1]} ]]; then continue; fi
  printf '%s\n' "$line"
done <Cargo.toml >"$folder/Cargo.toml"
# The copy is no work tree of its own, and a compiled dependency is the same there.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/alone/target}
python=$PWD/.venv/bin/python
cd "$folder"
if [ "$product" = recorder ]; then
  make -C recorder
  exec "$python" -m pytest -q recorder/tests
fi
packages=()
for manifest in $(find "$product" -name Cargo.toml -not -path '*/target/*'); do
  packages+=(--package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -1)")
done
exec cargo test --quiet "${packages[@]}"
