# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Links and paths in prose lead somewhere: in pages, and in the comments of sources.

A link is relative to its page. A path in back-ticks is one of the repository if it begins with a folder at
its root; it is looked up from the root, from the folder of its page, and from the folders above.
"""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
LISTED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - the git of the PATH
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split("\n")
# Without files that were deleted or moved since the last commit.
FILES = [name for name in LISTED if name and (ROOT / name).is_file()]
FOLDERS = {name.partition("/")[0] for name in FILES if "/" in name}
PLACEHOLDER = re.compile(r"<[^>]*>|NAME|KEY|ENGINE|\*")
# Not paths: commands, formulas, and what builds make.
OTHER = re.compile(r"[ (,{$:|\"\\]|/build\b")
COMMENT = re.compile(r"^\s*(?://|/?\*|#).*$", re.MULTILINE)


def inline(text: str) -> Iterator[Token]:
    """Yield the tokens inside of the blocks of a page: links, inline code and others."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token in tokens:
        yield from token.children or ()


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, target: str) -> bool:
    """Return whether a link of a page is to a file or a heading that exists; addresses are not looked up."""
    if "://" in target or target.startswith("mailto:"):
        return True
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    return file.exists() and (not anchor or file.suffix != ".md" or anchor in anchors(file))


def exists(page: Path, path: str) -> bool:
    """Return whether a path in back-ticks exists; placeholders and `*` stand for anything."""
    pattern = PLACEHOLDER.sub("*", path.partition("#")[0].strip("/"))
    above = [folder for folder in page.parents if folder.is_relative_to(ROOT)]
    return any(next(folder.glob(pattern), None) for folder in above)


def wrong(page: Path) -> list[str]:
    """List the links and paths of a page or of the comments of a source that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        found = list(inline(text))
        links = [str(token.attrs["href"]) for token in found if token.type == "link_open"]
        quoted = [token.content for token in found if token.type == "code_inline"]
    else:
        links = []
        quoted = [each for line in COMMENT.findall(text) for each in re.findall(r"`([^`]+)`", line)]
    paths = [each for each in quoted if each.partition("/")[0] in FOLDERS and "/" in each]
    return [
        *(link for link in links if not leads_somewhere(page, link)),
        *(path for path in paths if not OTHER.search(path) and not exists(page, path)),
    ]


@pytest.mark.parametrize("suffix", [".md", ".rs", ".c", ".h", ".py", ".toml"])
def test_links_and_paths_lead_somewhere(suffix: str) -> None:
    pages = [ROOT / name for name in FILES if name.endswith(suffix)]
    assert pages
    assert {str(page.relative_to(ROOT)): found for page in pages if (found := wrong(page))} == {}


def test_what_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One of *two*\n[a](page.md), [b](gone.md), [c](#one-of-two), [d](page.md#three), [e](https://f.org)\n"
        "`tests/gone.py` and `tests/<name>`\n```\n`tests/never.py`\n```\n"
    )
    assert [each for each in wrong(page) if not each.startswith("tests/")] == ["gone.md", "page.md#three"]
    source = ROOT / "tests" / "test_links.py"
    assert exists(source, "tests/test_links.py")
    assert exists(source, "spec/<name>.md")
    assert not exists(source, "tests/gone.py")
