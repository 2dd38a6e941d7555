# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How tests are spread over processes: those that share fixtures stay together."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Their tests share nothing, and some take long: each may run in any process.
INDEPENDENT = ("tests/test_rust.py", "tests/test_pages.py")
# Tests below these folders build into one folder.
BUILT_TOGETHER = ("recorder/tests", "examples/mpi/tests")


def group(name: str) -> str:
    """Return the group of a test: all tests of a group run in one process.

    Parameters
    ----------
    name
        The node id of the test: path, two colons, function.
    """
    path = name.partition("::")[0]
    if path in INDEPENDENT:
        return name
    return next((folder for folder in BUILT_TOGETHER if path.startswith(f"{folder}/")), path)


class GroupScheduling(LoadScopeScheduling):
    """Schedule whole groups; the larger ones first."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Use `group` in place of xdist's `--dist`: its own groups have no effect with pytest 9.2."""
    return GroupScheduling(config, log)
