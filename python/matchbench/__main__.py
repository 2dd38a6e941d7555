# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`python -m matchbench` is the command `matchbench`."""

import sys

from matchbench.cli import main

sys.exit(main())
