"""Options that several commands have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.inputs import Kind

# What decides where the proxy listens and what it talks to; `serve` and `config` take the same.
UpstreamOption = Annotated[
    str | None,
    typer.Option("--upstream", "-u", metavar="URL|NAME", help="The model server, or one of workbench.toml."),
]
DialectOption = Annotated[
    str | None, typer.Option("--dialect", "-d", help="How its models write calls; default passthrough.")
]
PortOption = Annotated[int | None, typer.Option("--port", "-p", help="Default 8788; 0 takes a free one.")]
LibraryOption = Annotated[str | None, typer.Option("--library", metavar="DIR", help="Where tapes are kept.")]
SwitchesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A switch of the upstream's policy; repeatable."),
]
ListenOption = Annotated[
    str | None,
    typer.Option("--listen", metavar="ADDRESS", help="Another address than 127.0.0.1; needs a token."),
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", help="Clients must send it as API key. WORKBENCH_TOKEN hides it from ps."),
]
# How a file is to be read; `transform` and `replay` take the same.
TapeDialectOption = Annotated[
    str | None, typer.Option("--dialect", "-d", help="How the model writes calls; a tape knows it.")
]
ToolsOption = Annotated[
    str | None, typer.Option("--tools", metavar="FILE", help="JSON: a list of tools, or a request with one.")
]
PolicyOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A switch of the policy; repeatable.")
]
KindOption = Annotated[Kind | None, typer.Option("--as", help="What the file is, where the guess is wrong.")]
ChunkOption = Annotated[
    str | None,
    typer.Option(
        "--chunk",
        metavar="N|bytes|lines|random:SEED",
        help="Cut the input like this (a text: its characters); a tape has reads of its own.",
    ),
]


def pattern(flag: str, text: str) -> typer.models.OptionInfo:
    """An option whose value may be a pattern."""
    option: typer.models.OptionInfo = typer.Option(flag, metavar="PATTERN", help=text)
    return option
