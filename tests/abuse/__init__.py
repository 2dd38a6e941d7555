# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Attacks on the command line: one table of cases, with what is expected and what is found.

`make abuse` runs those of `TABLE`, `make faults` those of `FAULTS`, in which calls of the system and requests
for memory fail, and `make test` a sample of both. Each module that `KINDS` names has a function `cases`,
which gives its cases. Options are taken from the program, so that none is left out.
"""
