"""`--prompts`, and `minirag prompts`, which prints the standard ones to begin with."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import click

from minirag.cli.choices import Choice
from minirag.cli.options import FILE
from minirag.cli.running import command
from minirag.reasoner.standard import STANDARD
from minirag.records import THINKING, Prompts, Thinking


def read_prompts(path: Path) -> Prompts:
    """The prompts in a TOML or JSON file.

    Raises:
        click.BadParameter: If it cannot be read, or says what prompts cannot be.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        value = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        return Prompts.from_dict(value)
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise click.BadParameter(f"{path}: {error}") from error


prompts_option = click.option(
    "--prompts",
    type=FILE,
    metavar="FILE",
    callback=lambda _, __, given: None if given is None else read_prompts(given),
    help="Own instructions, languages, examples or templates by task: TOML or JSON, see `minirag prompts`.",
)


@command(epilog="\b\nExample:\n  minirag prompts read > prompts.toml\n  minirag ask ... --prompts prompts.toml")
@click.argument("tasks", nargs=-1, type=Choice(THINKING), metavar="[TASKS...]")
def prompts(tasks: tuple[Thinking, ...]) -> None:
    """Print the standard prompts as TOML, of all tasks or of TASKS, to change and give to --prompts.

    Tasks are extract and bridge (while indexing), read (answers), extend (kirag) and think (ircot).
    """
    click.echo("\n".join(_as_toml(task) for task in tasks or THINKING), nl=False)


def _as_toml(task: Thinking) -> str:
    """What is commented out is empty in the standard prompt; the template has no three quotes in a row."""
    lines = [
        f"[{task}]",
        '# instructions = "Of the domain, the tone, the length; they go behind the standard ones."',
        '# language = "French"',
        f"template = '''\n{STANDARD[task].template}'''",
    ]
    for example in STANDARD[task].examples:
        given, reply = (json.dumps(value, ensure_ascii=False) for value in (example.given, example.reply))
        lines.append(f"# an example: data {given}\n#   reply {reply}")
    return "\n".join(lines) + "\n"
