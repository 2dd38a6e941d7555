# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench cpu`: static RISC-V programs on core models."""
