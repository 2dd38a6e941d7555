# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit`, `asm` and `disasm`: match programs on the match unit."""
