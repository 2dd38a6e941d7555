# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The wording of errors in the words of a command line."""

import re

import click

from matchbench._native import unknown_name
from matchbench.cli.values import refuse_empty
from matchbench.display import document


class Choice(click.Choice[str]):
    """One of some words."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's signature
        """Name the nearest word, and all of them."""
        return unknown_name("value", str(value), self.choices)


def _collect(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        document.collect(ctx.command_path)


def _be_quiet(_ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        document.be_quiet()


SHARED = (
    click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_collect,
        help="Print the results as one JSON document (docs/output.md).",
    ),
    click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_be_quiet,
        help="Print no progress and no remarks.",
    ),
)
"""Options of every command."""


class Command(click.Command):
    """A command, which has the options of every command."""

    shared: tuple[click.Option, ...] = SHARED

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return its own parameters, then the shared ones, then `--help`."""
        own = super().get_params(ctx)
        at = len(self.params)
        return [*own[:at], *self.shared, *own[at:]]


class Passing(Command):
    """A command that passes on the output of another program or converses, and so prints no document."""

    shared = SHARED[1:]


class Group(click.Group):
    """A group of commands."""

    kind = "command"
    command_class = Command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of every command too, if the group does something without a command."""
        own = super().get_params(ctx)
        return [*SHARED, *own] if self.invoke_without_command else own

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, whose options take no empty text; if it does not exist, name the nearest."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(unknown_name(self.kind, args[0], self.list_commands(ctx)))
        name, command, rest = super().resolve_command(ctx, args)
        refuse_empty(command)
        return name, command, rest


def usage_message(error: click.UsageError) -> str:
    """Return what is wrong, in the form *place: found, expected*, and the command that prints the help."""
    where = error.ctx.command_path if error.ctx else "matchbench"
    return f"{_message(error)} (see `{where} --help`)"


def _message(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption) and error.ctx:
        parameters = error.ctx.command.get_params(error.ctx)
        options = [name for parameter in parameters for name in parameter.opts if name.startswith("--")]
        return unknown_name("option", error.option_name, options)
    if isinstance(error, click.MissingParameter):
        return f"missing {error.param.param_type_name if error.param else 'argument'} `{_place(error)}`"
    message = error.message if isinstance(error, click.BadParameter) else error.format_message()
    message = re.sub(r"'([^']*)'", r"`\1`", re.sub(r"(?<!\.)\.$", "", message))
    return f"{_place(error)}: {message}" if isinstance(error, click.BadParameter) else message


def _place(error: click.BadParameter) -> str:
    """Name the option or argument that is wrong."""
    if isinstance(error.param_hint, str):
        return error.param_hint
    if isinstance(error.param, click.Option):
        return max(error.param.opts, key=len)
    return error.param.make_metavar(error.ctx) if error.param and error.ctx else "command line"
