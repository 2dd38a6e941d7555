# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Whole-pipeline tests: the command line, the Python API, the files they write."""
