# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the HTML pages share: their templates, and numbers that stay beside their units."""

from __future__ import annotations

import re
from typing import Any

import jinja2
from markupsafe import Markup

from matchbench.display.tables import in_page

_GAP = re.compile(r"(?<=\d) (?=(?:%|\d|s\b|ms\b|us\b|ns\b|ps\b|times\b|B\b|mm²))")
_PARTS = re.compile(r"(?<=[:./_])(?=[A-Za-z])")


def unbroken(text: str) -> str:
    """Keep a number and its unit, and groups of digits, on one line.

    Parameters
    ----------
    text
        A sentence.
    """
    return _GAP.sub("\N{NO-BREAK SPACE}", text)


def breakable(text: object) -> Markup:
    """Let a name wrap between its parts, after `:`, `.`, `/` or `_`.

    Parameters
    ----------
    text
        A name, such as `engine:preset`.
    """
    return Markup("<wbr>").join(_PARTS.split(str(in_page(text))))


def render(template: str, **values: Any) -> str:
    """Render a page.

    Parameters
    ----------
    template
        Name of a file in `templates`.
    values
        Its variables; one that is missing is an error.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("matchbench.display"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=in_page,
    )
    environment.filters |= {"unbroken": unbroken, "breakable": breakable}
    return environment.get_template(template).render(**values)
