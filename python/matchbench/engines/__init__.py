# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench engines` and `matchbench engine`: receive engines by name, and those of users."""
