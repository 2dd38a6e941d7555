# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What users see: text tables, plots, pages, and files written whole or not at all."""
