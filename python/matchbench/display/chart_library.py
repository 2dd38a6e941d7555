# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The script that draws the charts of HTML reports: Vega, Vega-Lite and Vega-Embed.

Source: Vega-Lite, a grammar of interactive graphics; https://vega.github.io/vega-lite/docs.
"""

import contextlib
import os
import re
from importlib import metadata
from pathlib import Path

from matchbench.display.partial import write_cached


def script() -> str:
    """Return one script of 0.9 MB.

    Bundling takes seconds, so the script is kept in the user's cache folder; `make setup` fills it.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matchbench"
    kept = folder / f"vega-{metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    bundled = vl_convert.javascript_bundle()  # type: ignore[call-arg] # stub: no default
    # Inside a page, a script ends at the first of these. In JavaScript both forms mean the same.
    bundled = re.sub(r"</(script)", r"<\\/\1", bundled, flags=re.IGNORECASE)
    # Without a cache each report takes longer, and is the same.
    with contextlib.suppress(OSError):
        write_cached(kept, bundled)
    return bundled
