# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench reproduce`: the claims of papers and what was measured."""
