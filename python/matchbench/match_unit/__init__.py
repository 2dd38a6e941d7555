# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mu`, `asm` and `disasm`: match programs on the match unit."""
