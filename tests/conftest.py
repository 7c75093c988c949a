"""The two tiers of tests, and the settings of hypothesis."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from tests.support import preloaded, tiers
from tests.support.project import ROOT

# Nobody sees the frames of a test's screen, and to draw them is a third of what it costs: the workers, which
# inherit this, draw ten a second instead of sixty.
os.environ.setdefault("TEXTUAL_FPS", "10")

# A slow machine is not a failure, hence no deadline. In CI the examples are the same every time, a person who
# asks for many gets new ones.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=tiers.EXAMPLES["quick"])
settings.register_profile(
    "exhaustive",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    max_examples=tiers.EXAMPLES["exhaustive"],
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="every cut, every sample, every step and many random examples, instead of some of them",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Many tests start the program: without compiled files each of them would compile all of it again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    gc.disable()  # until all is collected: what is imported stays, and there is much of it
    config.addinivalue_line("markers", "exhaustive: a test that runs with --exhaustive only")
    exhaustive = bool(config.getoption("--exhaustive"))
    tiers.choose(exhaustive)
    preloaded.choose()
    settings.load_profile("exhaustive" if exhaustive else "quick")


def pytest_xdist_auto_num_workers() -> int:
    """Many tests wait for a process or a screen meanwhile: two more than there are cores keep all of them
    busy."""
    return (os.cpu_count() or 1) + 2


def pytest_sessionstart(session: pytest.Session) -> None:
    """Each worker imports a part of the tests before it collects all of them: so each is compiled, which
    takes pytest a while, by one of them and not by all."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[number::count]:
        with contextlib.suppress(Exception):  # whoever collects it says what is wrong
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_unconfigure() -> None:
    gc.freeze()  # pytest looks for garbage once more, and all of it is


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A name that can be read, also where the value is a text of a megabyte."""
    return f"{val[:40]!r}…" if isinstance(val, str | bytes) and len(val) > 60 else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items[:] = _arranged(items)
    if tiers.exhaustive():
        return
    left = [item for item in items if item.get_closest_marker("exhaustive") is not None]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.get_closest_marker("exhaustive") is None]


def _arranged(items: list[pytest.Item]) -> list[pytest.Item]:
    """Each worker begins with a part of the list, in order. Tests of screens wait most of their time: they
    stand first in both halves, so that half of the workers wait while the others calculate."""
    screens = [item for item in items if "ui" in item.path.parts]
    others = [item for item in items if "ui" not in item.path.parts]
    others.sort(key=lambda item: not _uses_an_sdk(item.path))
    some, many = len(screens) // 2, len(others) // 2
    return [*screens[:some], *others[:many], *screens[some:], *others[many:]]


@cache
def _uses_an_sdk(path: Path) -> bool:
    """To import one takes seconds: such tests stand side by side, so that one worker does most of them."""
    text = path.read_text(encoding="utf-8")
    return any(f"from tests.support{words}" in text for words in (".apis ", ".sdks ", " import apis"))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the collector need not walk it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def commands_are_made_once() -> Iterator[None]:
    """Typer makes all commands anew each time that one is called, which takes longer than most of them do."""
    with pytest.MonkeyPatch.context() as patch:
        made = cache(typer.main.get_command)
        patch.setattr(typer.main, "get_command", made)
        patch.setattr(typer.testing, "_get_command", made)  # the same function, as its CliRunner has it
        yield
