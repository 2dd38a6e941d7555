# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench compare`: traces replayed on engines, and the answer about them."""
