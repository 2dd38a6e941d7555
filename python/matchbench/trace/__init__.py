# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench trace` and `matchbench generate`: reading, checking, exporting and generating traces."""
