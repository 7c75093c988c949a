"""The command line: what can be said, and what each outcome's exit code is."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from workbench import __version__
from workbench.commands.dialects import dialects
from workbench.commands.prompt import Show, prompt
from workbench.commands.transform import Out, transform
from workbench.inputs import Kind
from workbench.output import say, write

app = typer.Typer(
    name="workbench",
    help="Turn the tool calls that a model writes as text into OpenAI tool calls, and see how it happens.",
    add_completion=False,
    no_args_is_help=True,
    # Errors are plain lines: they end up in logs and in other programs as often as on a screen.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        write(f"workbench {__version__}\n".encode())
        raise typer.Exit


@app.callback()
def workbench(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn the tool calls that a model writes as text into OpenAI tool calls, and see how it happens."""


@app.command("transform")
def transform_command(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE|-", show_default=False, help="A stream, a text or a tape.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", "-d", help="How the model writes calls; a tape knows it.")
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option("--tools", metavar="FILE", help="JSON: a list of tools, or a request with one."),
    ] = None,
    switches: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A switch of the policy; repeatable."),
    ] = None,
    kind: Annotated[Kind | None, typer.Option("--as", help="What FILE is, where the guess is wrong.")] = None,
    out: Annotated[
        Out, typer.Option("--out", help="The client's bytes, the whole message, every record.")
    ] = "sse",
    chunk: Annotated[
        str | None,
        typer.Option(
            "--chunk",
            metavar="N|bytes|lines|random:SEED",
            help="Cut the input like this (a text: its characters); default: a tape's own reads, else whole.",
        ),
    ] = None,
) -> None:
    """Convert one answer of a model.

    Findings go to standard error. The exit code is 0 when it was converted, 1 when there was a finding of
    level error, 2 for bad usage or a file that cannot be read.
    """
    raise typer.Exit(transform(file, dialect, tools, switches or [], kind, out, chunk))


@app.command("prompt")
def prompt_command(
    request: Annotated[
        str | None,
        typer.Argument(metavar="REQUEST|-", show_default=False, help="A request body (JSON), or a tape."),
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", "-d", help="How the model writes calls; a tape knows it.")
    ] = None,
    template: Annotated[
        str | None, typer.Option("--prompt", metavar="FILE", help="Use this template, an edited copy.")
    ] = None,
    switches: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A switch of the policy, such as tools=inject."),
    ] = None,
    out: Annotated[
        Show, typer.Option("--out", help="The whole body, its system message, what was changed.")
    ] = "body",
    builtin: Annotated[
        str | None, typer.Option("--template", metavar="DIALECT", help="Print the built-in template instead.")
    ] = None,
) -> None:
    """Show what a request becomes on its way to the model.

    Sizes, what each tool costs and findings go to standard error. The exit code is 0 when all is well, 1 when
    there was a finding of level error (a template that fails is one), 2 for bad usage or an unreadable file.
    """
    raise typer.Exit(prompt(request, dialect, template, switches or [], out, builtin))


@app.command("dialects")
def dialects_command(
    name: Annotated[
        str | None, typer.Argument(help="Show the table of this dialect.", show_default=False)
    ] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw it as a Mermaid state diagram.")] = False,
) -> None:
    """List the dialects, or show the transition table of one."""
    raise typer.Exit(dialects(name, mermaid))


def main() -> NoReturn:
    """The command `workbench`: every outcome is an exit code and a message, never a traceback."""
    try:
        app(prog_name="workbench")
    except Exception as error:
        if os.environ.get("WORKBENCH_TRACEBACK"):
            raise
        say(f"workbench: this is a bug in workbench: {type(error).__name__}: {error}")
        say("Please report it; WORKBENCH_TRACEBACK=1 shows where it happened.")
    sys.exit(2)
