# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The publications of `docs/papers.bib`: title, authors, where they appeared, and a link."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote_plus

from matchbench import shipped
from matchbench.input import read_text

_ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A publication.

    Parameters
    ----------
    title, authors, place
        Its title, its authors, and where and when it appeared.
    link
        Its DOI as an address; a search for its title if it has none.
    has_doi
        Whether the link is that of a DOI.
    """

    title: str
    authors: str
    place: str
    link: str
    has_doi: bool


def publication(key: str) -> Publication:
    """Give the publication with this citation key, one of `reproduce.run.papers`."""
    entries = dict(_ENTRY.findall(read_text(shipped.ROOT / "docs/papers.bib", "a bibliography")))
    fields = {name: text.replace("{", "").replace("}", "") for name, text in _FIELD.findall(entries[key])}
    names = [" ".join(reversed(name.split(", "))) for name in fields["author"].split(" and ")]
    places = ("journal", "booktitle", "institution")
    place = next(fields[name] for name in places if name in fields)
    doi = fields.get("doi")
    search = f"https://scholar.google.com/scholar?q={quote_plus(fields['title'])}"
    return Publication(
        title=fields["title"],
        authors=", ".join(names),
        place=f"{place}, {fields['year']}",
        link=f"https://doi.org/{doi}" if doi else search,
        has_doi=doi is not None,
    )
