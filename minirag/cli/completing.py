"""`minirag completion`: what a shell needs to complete commands, options and file names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from minirag.cli.choices import Choice
from minirag.cli.running import COMPLETION, command

SHELLS = ("bash", "zsh", "fish")


@command(
    epilog="\b\nExample:\n  minirag completion bash >> ~/.bashrc\n"
    "  minirag completion fish > ~/.config/fish/completions/minirag.fish"
)
@click.argument("shell", type=Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the script that completes minirag's commands and options in SHELL.

    It takes effect in shells that are started afterwards.
    """
    root = context.find_root()
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(made(root.command, {}, root.info_name or "minirag", COMPLETION).source())
