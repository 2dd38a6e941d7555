# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The commands `asm` and `disasm` as processes."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
start:  wait || a1 = in
        goto start if !p11 || p11 = eq a1, 7
        out.last = a1 || goto start
        nop
        nop
"""


def matchbench(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "matchbench", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_program_survives_image_and_text(tmp_path: Path) -> None:
    source, image = tmp_path / "find.mb", tmp_path / "find.img"
    source.write_text(PROGRAM)
    done = matchbench("asm", source, "-o", image)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{source}: 5 words, the store holds 1024\n"
    text = matchbench("disasm", image)
    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout.startswith("L0: wait || a1 = in\n")
    again, second = tmp_path / "again.mb", tmp_path / "again.img"
    again.write_text(text.stdout)
    assert matchbench("asm", again, "-o", second).returncode == 0
    assert second.read_bytes() == image.read_bytes()


def test_a_listing_shows_slots(tmp_path: Path) -> None:
    source = tmp_path / "find.mb"
    source.write_text(PROGRAM)
    done = matchbench("asm", source, "--listing")
    assert done.returncode == 0
    assert (
        "; words that use a slot: input 1, alu 1, ternary 0, predicate 0, branch 2, copy 1\n" in done.stdout
    )


def test_every_error_is_told_at_its_place(tmp_path: Path) -> None:
    source, image = tmp_path / "bad.mb", tmp_path / "bad.img"
    source.write_text(PROGRAM.replace("a1, 7", "a1, seven").replace("wait || ", ""))
    done = matchbench("asm", source, "-o", image)
    assert (done.returncode, done.stdout) == (2, "")
    assert not image.exists()
    assert done.stderr == (
        f"{source}:1:9: error: this word pops the input FIFO but does not say `wait`\n"
        " 1 | start:  a1 = in\n"
        "   |         ^^^^^^^\n"
        "   = refused (input unsaid): Popping the input FIFO or testing its tag"
        " in a word that is not tagged as needing input.\n\n"
        f"{source}:2:44: error: unknown name `seven`\n"
        " 2 |         goto start if !p11 || p11 = eq a1, seven\n"
        "   |                                            ^^^^^\n"
        "   = refused (names): A name that is unknown, given twice or reserved.\n"
    )


def test_what_is_no_program_is_bad_input(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"\xff\x00")
    done = matchbench("asm", other)
    assert (done.returncode, done.stderr) == (2, f"{other}: not UTF-8 text from byte 0 on\n")
    done = matchbench("disasm", other)
    assert done.returncode == 2
    assert (
        done.stderr == f"matchbench: {other}: not a microcode image: the first 8 bytes are not `mb-ucode`\n"
    )
    done = matchbench("disasm", tmp_path / "none")
    assert (done.returncode, done.stderr) == (
        2,
        f"matchbench: {tmp_path / 'none'}: No such file or directory\n",
    )
