# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The user's own MPI: how it is found, what its queues cost, whether it keeps MPI's order.

`launch` finds compiler and launcher, builds a C program and runs it under a watch; `bench` measures.
"""
