# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pages of the manual, made of the help of the commands: `python -m matchbench.cli.manual DIR`.

The macros are those of man(7). Lines of the help are kept where click keeps them: in marked paragraphs.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path

import click

from matchbench import __version__
from matchbench.cli import cli
from matchbench.cli.tree import contexts
from matchbench.display.output import make_directory, write_file

_KEPT = "\b\n"  # click's mark of a paragraph whose lines are kept


def pages() -> dict[str, str]:
    """Return the page of each command by the name of its file: `matchbench-trace-info.1`."""
    every = dict(contexts(cli))
    return {f"{'-'.join(words)}.1": _page(words, context, list(every)) for words, context in every.items()}


def _page(words: tuple[str, ...], context: click.Context, every: Sequence[tuple[str, ...]]) -> str:
    command = context.command
    name = "-".join(words)
    usage = " ".join(command.collect_usage_pieces(context))
    summary = command.get_short_help_str(1 << 16).rstrip(".")
    parts = [
        f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "matchbench {__version__}" "matchbench"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
        f"\\fB{_text(' '.join(words))}\\fR {_text(usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help),
        *_options(command, context),
        *_examples(command.epilog),
        *_also(words, every),
    ]
    return "\n".join(parts) + "\n"


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    if records:
        yield ".SH OPTIONS"
    for options, meaning in (record for record in records if record[1]):
        yield from (".TP", f"\\fB{_text(options)}\\fR", _text(" ".join(meaning.split())))


def _examples(epilog: str | None) -> Iterator[str]:
    """Yield the text after the options, which begins with examples."""
    if not epilog:
        return
    text = cleandoc(epilog)
    found = re.match(r"Examples?:\s*", text)
    yield ".SH EXAMPLES" if found else ".SH NOTES"
    yield from _paragraphs(text[found.end() :] if found else text)


def _also(words: tuple[str, ...], every: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield the commands above and directly below."""
    near = [each for each in every if each == words[:-1] or each[:-1] == words]
    if near:
        yield ".SH SEE ALSO"
        yield ",\n".join(f".BR {_text('-'.join(each))} (1)" for each in near).replace(",\n", " ,\n")


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", cleandoc(text or "")):
        lines = paragraph.removeprefix(_KEPT).split("\n")
        if paragraph.startswith(_KEPT):
            yield from (".PP", ".nf", *(_text(line.strip()) for line in lines), ".fi")
        else:
            yield from (".PP", _text(" ".join(line.strip() for line in lines)))


def _text(text: str) -> str:
    """Escape what troff reads otherwise; words in backquotes are bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return f"\\&{text}" if text[:1] in {".", "'"} else text


def write(directory: Path) -> None:
    """Write the pages into a directory, which is made if it is missing."""
    make_directory(directory)
    for name, text in pages().items():
        write_file(directory / name, text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
