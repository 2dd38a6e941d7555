# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The thresholds of an answer."""

MATTERS = 0.01
"""Share of the run time from which matching matters, and difference from which engines differ; assumed."""

MATTERS_MUCH = 0.05
"""Share of the run time from which matching matters much; assumed."""
