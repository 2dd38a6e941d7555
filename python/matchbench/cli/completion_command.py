# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench completion`: scripts that complete words of a command line in a shell."""

import click

from matchbench.cli.usage import Choice, Passing
from matchbench.display import tables


@click.command(
    cls=Passing,
    name="completion",
    epilog="""
    Examples:

    \b
      eval "$(matchbench completion bash)"
      matchbench completion bash > ~/.local/share/bash-completion/completions/matchbench
      matchbench completion zsh > ~/.zfunc/_matchbench
      matchbench completion fish > ~/.config/fish/completions/matchbench.fish
    """,
)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script by which SHELL completes commands, options, engines, presets and parameters."""
    from click.shell_completion import get_completion_class

    from matchbench.cli import COMPLETE, cli

    if completion := get_completion_class(shell):
        tables.write(completion(cli, {}, "matchbench", COMPLETE).source() + "\n")
