# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench chip`: MPI programs on a simulated chip with MOPED."""
