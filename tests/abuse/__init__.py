# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Attacks on the command line: one table of cases, with what is expected and what is found.

`python -m tests.abuse` runs all of them, `make test` a sample. Each module of this package that `KINDS` names
has a function `cases`, which gives its cases. Options are taken from the program, so that none is left out.
"""
