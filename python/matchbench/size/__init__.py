# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench size`: how many entries a matching structure needs for a trace."""
