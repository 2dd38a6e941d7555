# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The kept corpora of the readers in Python; those of the targets in Rust are run by `fuzz/targets/tests`."""

from pathlib import Path

import pytest
from fuzz.fuzz import MOST_BYTES, ROOT, chosen, kept

from tests.fuzz_readers import TARGETS, read


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_fuzzer_found_is_read_or_refused(target: str, tmp_path: Path) -> None:
    refusals = [read(target, tmp_path, each) for each in kept(target)]
    assert None in refusals, "no input is read: what follows the first check is not reached"
    assert any(refusals)


def test_every_corpus_belongs_to_a_target() -> None:
    programs = {path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs")}
    assert {path.stem for path in (ROOT / "fuzz" / "corpus").iterdir()} == programs | set(TARGETS)


def test_a_corpus_has_the_smallest_inputs_that_fit() -> None:
    long = bytes(MOST_BYTES - 3)
    assert chosen([b"bb", long, b"a", b"bb"]) == [b"a", b"bb", long]
    assert chosen([b"bb", long + b"c", b"a"]) == [b"a", b"bb"]
