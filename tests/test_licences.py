# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`make check` finds licences, sources and exceptions that `deny.toml` does not allow."""

import datetime as dt

import pytest
from xtask.licences import expired, is_allowed, main, objections

_ALLOWED = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT/GPL-3.0-only", True),
        ("GPL-3.0-only OR Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Other-exception", False),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT", False),
        ("MIT MIT", False),
        ("", False),
    ],
)
def test_an_expression_needs_an_allowed_licence_for_each_part(expression: str, holds: bool) -> None:
    assert is_allowed(expression, _ALLOWED) is holds


def test_a_licence_and_a_source_that_are_not_allowed_are_named() -> None:
    packages: list[dict[str, str | None]] = [
        {"name": "ours", "version": "1.0.0", "license": None, "source": None},
        {"name": "good", "version": "1.0.0", "license": "MIT", "source": "registry+there"},
        {"name": "bad", "version": "2.0.0", "license": None, "source": "git+elsewhere"},
    ]
    assert list(objections(packages, {"licenses": {"allow": _ALLOWED}})) == [
        "bad 2.0.0: found the licence `none`, expected what `licenses.allow` in deny.toml has",
        "bad 2.0.0: found the source `git+elsewhere`, expected a registry",
    ]


def test_an_exception_of_an_advisory_ends() -> None:
    ignore = [{"id": "A", "reason": "until 2026-01-02: not reached"}, {"id": "B", "reason": "later"}]
    deny = {"advisories": {"ignore": ignore}}
    assert [text.split(":")[1] for text in expired(deny, dt.date(2026, 1, 2))] == [" found {'id'"]
    past = "deny.toml: A: found an exception until 2026-01-02, which is past; look again"
    assert past in expired(deny, dt.date(2026, 1, 3))


def test_the_crates_of_this_repository_are_allowed() -> None:
    assert main() == 0
