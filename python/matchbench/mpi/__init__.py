# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The user's own MPI: find it, measure its queues, check that it keeps MPI's order.

`launch` finds compiler and launcher, builds a C program and runs it with a time limit. `bench` measures,
`bench_protocol` reads the output of its program, `curves` and `structure` interpret it, `results` and `plots`
present it, and `costs` turns it into engine parameters. `conform` runs random test programs, which the Rust
side generates and judges.
"""
