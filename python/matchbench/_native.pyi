# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Rust side: conversions only. `crates/py/src` holds what is described here."""

class MatchbenchError(Exception):
    """Bad input, or work that cannot be done; the message says what and where."""

def version() -> str:
    """Version of the workbench."""

def revision() -> str:
    """Git revision that the binding was built from, or "unknown"."""
