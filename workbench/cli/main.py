"""The command line: commands and their options, and the exit code of each outcome."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from workbench import __version__
from workbench.cli.choices import DEFAULT_DIALECT, Client, Kind, Out, Show, State
from workbench.errors import UserError

if TYPE_CHECKING:
    from workbench.config.settings import Flags

# Each command is implemented in its own module, which is imported only when that command is run: `--help`
# and a misspelt option are answered at once, and `library list` does not wait for the proxy or the screen.

# Allocations between two collections of the youngest objects (default 700): imports create many that stay.
_ALLOCATIONS = 20_000

# Options for where the proxy listens and what it talks to; `serve` and `config` take the same.
UpstreamOption = Annotated[
    str | None,
    typer.Option("--upstream", "-u", metavar="URL|NAME", help="The model server, or one of workbench.toml."),
]
DialectOption = Annotated[
    str | None,
    typer.Option("--dialect", "-d", help=f"How its models write calls; default {DEFAULT_DIALECT}."),
]
PortOption = Annotated[int | None, typer.Option("--port", "-p", help="Default 8788; 0 takes a free one.")]
UpstreamKindOption = Annotated[
    str | None,
    typer.Option("--kind", metavar="openai|qwen-chat", help="The API that the model server speaks."),
]
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
        help="Cut the input like this (a text: its characters); a tape has its own reads.",
    ),
]


def pattern(flag: str, text: str) -> typer.models.OptionInfo:
    """An option whose value may be a pattern."""
    option: typer.models.OptionInfo = typer.Option(flag, metavar="PATTERN", help=text)
    return option


class Commands(TyperGroup):
    """All commands; whichever of them raises it, a UserError becomes a message and exit code 2."""

    def main(self, *args: Any, **more: Any) -> Any:
        try:
            return super().main(*args, **more)
        except UserError as error:
            from workbench.text import say

            for line in f"workbench: {error.message}".split("\n"):
                say(line)
            sys.exit(2)


class PromptCommand(TyperCommand):
    """`--template=DIALECT` means what `--template DIALECT` does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        apart = [arg.split("=", 1) if arg.startswith("--template=") else [arg] for arg in args]
        return super().parse_args(ctx, [part for parts in apart for part in parts])


app = typer.Typer(
    name="workbench",
    cls=Commands,
    add_completion=False,
    # Errors are plain lines: they end up in logs and in other programs as often as on a screen.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from workbench.cli.printing import write

        write(f"workbench {__version__}\n".encode())
        raise typer.Exit


def _flags(
    upstream: str | None,
    dialect: str | None,
    port: int | None,
    library: str | None,
    listen: str | None,
    token: str | None,
    switches: list[str] | None,
    upstream_kind: str | None,
) -> Flags:
    from workbench.config.settings import Flags
    from workbench.tape.recipe import read_switches

    policy = read_switches(switches or [])
    return Flags(upstream, dialect, port, library, listen, token, policy, upstream_kind)


@app.callback(invoke_without_command=True)
def workbench(
    context: typer.Context,
    upstream: UpstreamOption = None,
    upstream_kind: UpstreamKindOption = None,
    dialect: DialectOption = None,
    port: PortOption = None,
    library: LibraryOption = None,
    switches: SwitchesOption = None,
    listen: ListenOption = None,
    token: TokenOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn the tool calls that a model writes as text into OpenAI tool calls, and see how it happens.

    Without a command it opens the screen and runs the proxy (or attaches to the one that runs already);
    `workbench demo` shows it without a model.
    """
    if context.invoked_subcommand is None:
        from workbench.cli.printing import on_terminal, write
        from workbench.cli.serve import ui
        from workbench.config.settings import Flags

        flags = _flags(upstream, dialect, port, library, listen, token, switches, upstream_kind)
        if not on_terminal() and flags == Flags():
            write(f"{context.get_help()}\n".encode())
            raise typer.Exit
        raise typer.Exit(ui(flags))


@app.command("attach")
def attach_command(library: LibraryOption = None) -> None:
    """Watch a library that another process writes, such as `workbench serve`.

    In a browser: pip install textual-dev, then textual serve "workbench attach".
    """
    from workbench.cli.serve import attach

    raise typer.Exit(attach(library))


@app.command("demo")
def demo_command(
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="DIR", help="Keep the demo's tapes in this new folder.")
    ] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Only the first exchange, no traffic.")] = False,
    qwen_chat: Annotated[
        bool, typer.Option("--qwen-chat", help="With a server that keeps conversations, as Qwen's chat.")
    ] = False,
) -> None:
    """Show everything without a model: one broken exchange first, then live traffic.

    Without a terminal it prints the three columns of that exchange.
    """
    from workbench.cli.demo import demo

    raise typer.Exit(demo(keep, no_live, qwen_chat))


@app.command("replay")
def replay_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE…|samples|-",
            show_default=False,
            help="Tapes, SSE captures, model texts, folders of them; or the built-in samples.",
        ),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin with a text that you paste.")] = False,
    dialect: TapeDialectOption = None,
    tools: ToolsOption = None,
    switches: PolicyOption = None,
    kind: KindOption = None,
    chunk: ChunkOption = None,
    step: Annotated[
        str | None,
        typer.Option("--at", metavar="PLACE", help="Begin there: 120, 1.5s, @512, read 12, finding 1, end."),
    ] = None,
) -> None:
    """Step through saved streams, forwards and backwards; edit them, and see what would have happened.

    `workbench replay samples` offers the built-in collection of good and malformed streams. Without a
    terminal it prints the three columns; the exit code is then 1 when there was a finding of level error.
    """
    from workbench.cli.replay import replay

    raise typer.Exit(replay(files or [], new, dialect, tools, switches or [], kind, chunk, step))


@app.command("transform")
def transform_command(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE|-", show_default=False, help="A stream, a text or a tape.")
    ] = None,
    dialect: TapeDialectOption = None,
    tools: ToolsOption = None,
    switches: PolicyOption = None,
    kind: KindOption = None,
    out: Annotated[
        Out, typer.Option("--out", help="The client's bytes, the whole message, every record.")
    ] = "sse",
    chunk: ChunkOption = None,
) -> None:
    """Convert one answer of a model.

    Findings go to standard error. The exit code is 0 when the client can use it, 1 when there was a finding
    of level error, 2 for bad usage or a file that cannot be read.
    """
    from workbench.cli.transform import transform

    raise typer.Exit(transform(file, dialect, tools, switches or [], kind, out, chunk))


@app.command("detect")
def detect_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE…|-", show_default=False, help="Streams, texts or tapes."),
    ] = None,
    tools: ToolsOption = None,
    kind: KindOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say which dialect an answer is written in, how sure that is, and what speaks against it.

    The exit code is 1 where no dialect reads a call in one of the files.
    """
    from workbench.cli.detect import detect_files

    raise typer.Exit(detect_files(files or [], tools, kind, as_json))


@app.command("prompt", cls=PromptCommand)
def prompt_command(
    request: Annotated[
        str | None,
        typer.Argument(
            metavar="REQUEST|DIALECT|-", show_default=False, help="A request body (JSON), or a tape."
        ),
    ] = None,
    dialect: TapeDialectOption = None,
    template: Annotated[
        str | None, typer.Option("--prompt", metavar="FILE", help="Use this template, an edited copy.")
    ] = None,
    switches: PolicyOption = None,
    out: Annotated[
        Show, typer.Option("--out", help="The whole body, its system message, what was changed.")
    ] = "body",
    template_only: Annotated[
        bool, typer.Option("--template", help="Print the template instead: of a tape, or of a DIALECT.")
    ] = False,
) -> None:
    """Show what a request becomes on its way to the model.

    Sizes, what each tool costs and findings go to standard error. The exit code is 0 when all is well, 1 when
    there was a finding of level error (a template that fails is one), 2 for bad usage or an unreadable file.
    """
    from workbench.cli.prompt import prompt

    raise typer.Exit(prompt(request, dialect, template, switches or [], out, template_only))


@app.command("compare")
def compare_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="A [B]", show_default=False, help="Tapes, captures, or ids of exchanges."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="KEY=VALUE", help="dialect=… or a switch: A against A with this."),
    ] = None,
    library: LibraryOption = None,
) -> None:
    """Show two exchanges beside each other: prompt, message, calls and rows, and where they first differ.

    Without a terminal the differences are printed; the exit code is then 0 when both say the same, else 1.
    """
    from workbench.cli.compare import compare_exchanges

    raise typer.Exit(compare_exchanges(files or [], changes or [], library))


@app.command("try")
def try_command(
    tapes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TAPE…|SUITE.toml",
            show_default=False,
            help="Tapes, folders, ids of exchanges; or a suite.",
        ),
    ] = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt", metavar="FILE|built-in|recorded", help="A prompt template to try; repeatable."
        ),
    ] = None,
    dialects: Annotated[
        list[str] | None, typer.Option("--dialect", "-d", help="A dialect to try; repeatable.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="A model to try; repeatable.")
    ] = None,
    upstream: UpstreamOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A switch, or temperature, seed and such; for all."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="FILTER", help="Exchanges of the library: has:mark tool:read*"),
    ] = None,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="TOOL", help="Default: what the tape's answer called.")
    ] = None,
    expect_args: Annotated[
        str | None, typer.Option("--expect-args", metavar="JSON", help="Arguments that this call must have.")
    ] = None,
    times: Annotated[
        int | None,
        typer.Option("-n", metavar="N", help="How often each is asked; default 10, or the suite's."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Requests at a time.")] = 4,
    max_requests: Annotated[
        int | None, typer.Option("--max-requests", metavar="N", help="Stop after N requests.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens-total", metavar="N", help="Stop after N tokens.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="ID|last", help="Go on with a try, or show it again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The table as JSON.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write a page with bars that can be shared.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write the cases as JUnit XML.")
    ] = None,
    new_suite: Annotated[
        str | None, typer.Option("--new-suite", metavar="FILE", help="Make a suite of the marked exchanges.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Ask a scripted model instead of a server.")] = False,
    library: LibraryOption = None,
) -> None:
    """Send recorded requests again with several prompts, and count what comes back.

    The table has the rates of valid and of expected calls, of malformed and of leaked ones, tokens and time,
    each with its interval, and says which differences are more than chance (this needs scipy, the extra
    `lab`). Every answer is a tape in the library. The exit code is 0 when all was asked and the cases of a
    suite pass, 1 when not, 130 after Ctrl-C. Without a model: workbench try samples/suite.toml --demo
    """
    from workbench.cli.trying import Wanted, try_prompts
    from workbench.lab.trials import Budget

    given = Wanted(
        tapes or (), where, prompts or (), dialects or (), models or (), upstream, settings or (), expect,
        expect_args, times, jobs, Budget(max_requests, max_tokens), resume, as_json, html, junit, new_suite,
        demo, library,
    )  # fmt: skip
    raise typer.Exit(try_prompts(given))


@app.command("serve")
def serve_command(
    upstream: UpstreamOption = None,
    upstream_kind: UpstreamKindOption = None,
    dialect: DialectOption = None,
    port: PortOption = None,
    library: LibraryOption = None,
    switches: SwitchesOption = None,
    listen: ListenOption = None,
    token: TokenOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say more of each exchange: session, tokens, tape.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing of them on standard error.")
    ] = False,
    log_file: Annotated[
        str | None, typer.Option("--log-file", metavar="FILE", help="Append to this file instead.")
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="One JSON object for each exchange.")] = False,
    breakpoints: Annotated[
        list[str] | None,
        typer.Option(
            "--break",
            metavar="BREAKPOINT",
            help="Hold answers that hit this, such as tool:bash, for 5 minutes at most; a screen decides.",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Processes that serve, for more than one core.")
    ] = 1,
) -> None:
    """Run the proxy: clients get OpenAI tool calls, every exchange is kept as a tape.

    Prints one line with the URL for clients (`workbench connect` says where they want it), then one line on
    standard error for each exchange that has ended: time, model, dialect, verdict, calls, duration, findings.
    Ctrl-C finishes what is running, a second one ends it at once. Settings can also come from workbench.toml
    and the environment; `workbench config` shows them.
    """
    from workbench.cli.serve import LogOptions, serve

    flags = _flags(upstream, dialect, port, library, listen, token, switches, upstream_kind)
    log = LogOptions(verbose, quiet, log_file, log_json)
    raise typer.Exit(serve(flags, log, breakpoints or (), workers))


@app.command("config")
def config_command(
    upstream: UpstreamOption = None,
    upstream_kind: UpstreamKindOption = None,
    dialect: DialectOption = None,
    port: PortOption = None,
    library: LibraryOption = None,
    switches: SwitchesOption = None,
    listen: ListenOption = None,
    token: TokenOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the settings in effect, and where each came from.

    Flags count more than the environment (WORKBENCH_PORT and so on), that more than workbench.toml in this
    folder (or the file that WORKBENCH_CONFIG names), that more than the defaults. Secrets are never shown.
    """
    from workbench.cli.config import config

    flags = _flags(upstream, dialect, port, library, listen, token, switches, upstream_kind)
    raise typer.Exit(config(flags, as_json))


@app.command("init")
def init_command(
    upstream: Annotated[
        str | None, typer.Option("--upstream", "-u", metavar="URL", help="A first upstream.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", "-d", help="How its models write calls.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a workbench.toml in which every setting is explained."""
    from workbench.cli.config import init

    raise typer.Exit(init(upstream, dialect, force))


@app.command("connect")
def connect_command(
    client: Annotated[
        Client, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(get_args(Client))}.")
    ],
    url: Annotated[
        str | None, typer.Option("--url", help="The proxy's URL; default from the settings.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="A model to offer; repeatable; default: the settings', else what the proxy lists.",
        ),
    ] = None,
    write_it: Annotated[
        bool,
        typer.Option(
            "--write", help="Merge it into the client's own file: opencode, kilo, claude-code, pi, codex."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Print what a client needs to use the proxy.

    With --write the difference is shown first and a backup is kept. The exit code is 1 when nothing was
    written because it was not confirmed.
    """
    from workbench.cli.connect import connect

    raise typer.Exit(connect(client, url, models or [], write_it, yes))


sessions_app = typer.Typer(
    help="The chats that upstreams of kind qwen-chat keep: list, show, delete.", rich_markup_mode=None
)
app.add_typer(sessions_app, name="sessions")
JsonLinesOption = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


@sessions_app.callback(invoke_without_command=True)
def sessions_command(context: typer.Context) -> None:
    """The chats that upstreams of kind qwen-chat keep; without a command they are listed."""
    if context.invoked_subcommand is None:
        from workbench.cli.sessions import sessions_list

        raise typer.Exit(sessions_list(None, False))


@sessions_app.command("list")
def sessions_list_command(library: LibraryOption = None, as_json: JsonLinesOption = False) -> None:
    """List the chats that are remembered, the latest first."""
    from workbench.cli.sessions import sessions_list

    raise typer.Exit(sessions_list(library, as_json))


@sessions_app.command("show")
def sessions_show_command(
    chat: Annotated[str, typer.Argument(help="Its id, or the beginning of it.")],
    library: LibraryOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Show the turns of a chat, with the tape of each."""
    from workbench.cli.sessions import sessions_show

    raise typer.Exit(sessions_show(chat, library, as_json))


@sessions_app.command("delete")
def sessions_delete_command(
    chats: Annotated[list[str] | None, typer.Argument(metavar="CHAT…", show_default=False)] = None,
    library: LibraryOption = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
) -> None:
    """Forget chats: their conversations go on in new ones, with all their text."""
    from workbench.cli.sessions import sessions_delete

    raise typer.Exit(sessions_delete(chats or [], library, everything))


library_app = typer.Typer(help="List the recorded tapes.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(library_app, name="library")


@library_app.command("list")
def library_list_command(
    where: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILTER]",
            help="As in the list of the screen, after a --: -- tool:bash -has:mark",
            show_default=False,
        ),
    ] = None,
    library: LibraryOption = None,
    model: Annotated[str | None, pattern("--model", "Names may be patterns such as qwen*.")] = None,
    upstream: Annotated[str | None, pattern("--upstream", "Sent to this one.")] = None,
    dialect: Annotated[str | None, pattern("--dialect", "Read in this one.")] = None,
    finding: Annotated[str | None, pattern("--finding", "With such a finding: unclosed*.")] = None,
    session: Annotated[str | None, pattern("--session", "Of this session of the client's.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="90s, 30m, 2h, 3d, today, yesterday, 14:30, 2026-11-01"),
    ] = None,
    state: Annotated[State | None, typer.Option("--state", help="How it ended, or that it has not.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="0 for all.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The newest tapes first."""
    from workbench.cli.library import library_list

    raise typer.Exit(
        library_list(
            library,
            model,
            upstream,
            dialect,
            finding,
            session,
            since,
            state,
            limit,
            as_json=as_json,
            where=" ".join(where or ()),
        )
    )


@library_app.command("calls")
def library_calls_command(
    library: LibraryOption = None,
    tool: Annotated[
        str | None, pattern("--tool", "Of this tool; names may be patterns such as read*.")
    ] = None,
    session: Annotated[str | None, pattern("--session", "Of this session of the client's.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="90s, 30m, 2h, 3d, today, 2026-11-01")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="0 for all.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The calls in all tapes with their arguments and results, the newest first."""
    from workbench.cli.calls import library_calls
    from workbench.cli.library import library_folder

    raise typer.Exit(library_calls(library_folder(library), tool, session, since, limit, as_json))


@library_app.command("rebuild")
def library_rebuild_command(library: LibraryOption = None) -> None:
    """Rebuild the index from the tapes. The exit code is 1 when one of them cannot be read."""
    from workbench.cli.library import library_rebuild

    raise typer.Exit(library_rebuild(library))


@app.command("dialects")
def dialects_command(
    name: Annotated[
        str | None, typer.Argument(help="Show the table of this dialect.", show_default=False)
    ] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw it as a Mermaid state diagram.")] = False,
) -> None:
    """List the dialects, or show the transition table of one."""
    from workbench.cli.dialects import dialects

    raise typer.Exit(dialects(name, mermaid))


def main() -> NoReturn:
    """The command `workbench`: every outcome is an exit code and a message, never a traceback."""
    gc.set_threshold(_ALLOCATIONS, 20, 50)
    try:
        app(prog_name="workbench")
    except Exception as error:
        if os.environ.get("WORKBENCH_TRACEBACK"):
            raise
        from workbench.text import say

        say(f"workbench: this is a bug in workbench: {type(error).__name__}: {error}")
        say("Please report it; WORKBENCH_TRACEBACK=1 shows where it happened.")
    sys.exit(2)
