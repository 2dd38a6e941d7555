# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The user's own MPI: how it is found, what its queues cost, whether it keeps MPI's order.

`launch` finds compiler and launcher, builds a C program and runs it under a watch. `bench` measures, `lines`
reads what its program prints, `curves` and `structure` say what that means, `results` and `plots` show it,
and `costs` makes settings of it. `conform` runs random programs, which Rust makes and judges.
"""
