# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench record`: recording of an MPI program."""
