"""Options that several commands have in common."""

from __future__ import annotations

from typing import Annotated

import typer

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


def pattern(flag: str, text: str) -> typer.models.OptionInfo:
    """An option whose value may be a pattern."""
    option: typer.models.OptionInfo = typer.Option(flag, metavar="PATTERN", help=text)
    return option
