# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of every folder share."""

import signal

import pytest
from tests import idle_ranks


@pytest.fixture
def sleeping_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranks of the system's MPIs sleep while they wait, in every process that the test starts."""
    for name, value in idle_ranks.environment().items():
        monkeypatch.setenv(name, value)


def pytest_configure() -> None:
    """Let tests interrupt the processes that they start."""
    # A shell starts background jobs with SIGINT ignored, which every process of a test would inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
