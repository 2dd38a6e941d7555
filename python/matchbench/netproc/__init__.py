# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench netproc`: packet handlers on network processors."""
