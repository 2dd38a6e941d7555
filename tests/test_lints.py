# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`xtask/linted.sh` builds a crate, and refuses one with a warning of the compiler or of Clippy."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LINTED = Path(__file__).resolve().parent.parent / "xtask" / "linted.sh"
MANIFEST = """
[package]
name = "linted"
edition = "2024"

[lib]
path = "lib.rs"

[workspace]
"""
# Levels of optimization: at 0 and 1 Clippy compiles, at 2 it only lints.
LEVELS = pytest.mark.parametrize("level", [1, 2])
SOUND = "pub fn is_even(number: u32) -> bool {\n    number.is_multiple_of(2)\n}\n"


@pytest.mark.skipif(shutil.which("clippy-driver") is None, reason="clippy-driver is not installed")
@pytest.mark.parametrize(
    ("source", "lint"),
    [
        (SOUND, None),
        (f"{SOUND}fn unused() {{}}\n", "dead-code"),
        (SOUND.replace("number.", "return number.").replace("(2)", "(2);"), "clippy::needless-return"),
    ],
    ids=["sound", "compiler", "clippy"],
)
@LEVELS
def test_a_warning_fails_the_build_in_every_call(
    tmp_path: Path, level: int, source: str, lint: str | None
) -> None:
    (tmp_path / "Cargo.toml").write_text(MANIFEST + f"[profile.dev]\nopt-level = {level}\n")
    (tmp_path / "lib.rs").write_text(source)
    # The second call finds what the first one left.
    for _ in range(2):
        done = subprocess.run(
            [LINTED, "build", "--quiet", "--offline"],
            cwd=tmp_path,
            env={**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")},
            capture_output=True,
            text=True,
            check=False,
        )
        built = any((tmp_path / "target" / "debug").glob("*.rlib"))
        if lint is None:
            assert (done.returncode, done.stderr, built) == (0, "", True)
        else:
            assert (done.returncode, built) == (101, False), done.stderr
            assert f"`-D {lint}` implied by `-D warnings`" in done.stderr


@pytest.mark.skipif(shutil.which("clippy-driver") is None, reason="clippy-driver is not installed")
@pytest.mark.parametrize(
    ("body", "lint"),
    [
        ("assert!(linted::is_even(2));", None),
        ("let unused = 1;", "unused-variables"),
        ('let name = format!("{}", "two"); assert_eq!(name, "two");', "clippy::useless-format"),
    ],
    ids=["sound", "compiler", "clippy"],
)
def test_a_test_program_is_linted_and_built(tmp_path: Path, body: str, lint: str | None) -> None:
    (tmp_path / "Cargo.toml").write_text(f"{MANIFEST}\n[profile.dev]\nopt-level = 1\n")
    (tmp_path / "lib.rs").write_text(SOUND)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "even.rs").write_text(f"#[test]\nfn even() {{\n    {body}\n}}\n")
    done = subprocess.run(
        [LINTED, "test", "--quiet", "--offline", "--test", "even"],
        cwd=tmp_path,
        env={**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")},
        capture_output=True,
        text=True,
        check=False,
    )
    if lint is None:
        assert done.returncode == 0, done.stderr
        assert "test result: ok. 1 passed" in done.stdout
        # Cargo is told of the sources only: a change of the manifest compiles no program again by itself.
        (listed,) = (tmp_path / "target" / "debug" / "deps").glob("even-*.d")
        assert "Cargo.toml" not in listed.read_text()
    else:
        assert done.returncode == 101
        assert f"`-D {lint}` implied by `-D warnings`" in done.stderr


@pytest.mark.skipif(shutil.which("clippy-driver") is None, reason="clippy-driver is not installed")
@LEVELS
def test_a_second_build_goes_on_from_what_the_first_one_kept(tmp_path: Path, level: int) -> None:
    (tmp_path / "Cargo.toml").write_text(MANIFEST + f"[profile.dev]\nopt-level = {level}\n")
    source = tmp_path / "lib.rs"
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(tmp_path / "target"),
        "CARGO_INCREMENTAL": "1",
        # The compiler and Clippy say what they use of the build before.
        "RUSTC_BOOTSTRAP": "1",
        "RUSTFLAGS": "-Zincremental-info",
    }
    said = []
    for text in (SOUND, f"// A comment.\n{SOUND}"):
        source.write_text(text)
        done = subprocess.run(
            [LINTED, "build", "--offline"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stderr)
    assert "[incremental]" in said[1], said[1]
    assert "completely ignoring cache" not in said[1], said[1]


@pytest.mark.skipif(shutil.which("clippy-driver") is None, reason="clippy-driver is not installed")
def test_a_benchmark_is_linted_and_not_built(tmp_path: Path) -> None:
    bench = '[[bench]]\nname = "speed"\nharness = false\n'
    (tmp_path / "Cargo.toml").write_text(f"{MANIFEST}{bench}")
    (tmp_path / "lib.rs").write_text(SOUND)
    (tmp_path / "benches").mkdir()
    source = tmp_path / "benches" / "speed.rs"
    source.write_text("fn main() {\n    return;\n}\n")
    words: list[str | Path] = [LINTED, "build", "--offline", "--lib", "--benches"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")}

    def build() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    failed = build()
    assert (failed.returncode, "needless_return" in failed.stderr) == (101, True)
    source.write_text("fn main() {}\n")
    assert build().returncode == 0
    built = (tmp_path / "target" / "debug" / "deps").glob("speed-????????????????")
    assert [path.stat().st_size for path in built] == [0]
    # Nothing is left to do.
    assert "Compiling" not in build().stderr
    # Nor after a change of the manifest that no argument of the compiler shows.
    (tmp_path / "Cargo.toml").write_text(f"{MANIFEST}{bench}# A comment.\n")
    assert "Compiling" not in build().stderr
