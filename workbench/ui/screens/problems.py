"""The problems that the workbench knows, each as the screen that tells it."""

from __future__ import annotations

from pathlib import Path

from workbench.child import Death
from workbench.ui.screens.problem import OTHER_PORT, QUIT, READ_ONLY, RESTART, RETRY, ProblemScreen


def no_configuration(message: str) -> ProblemScreen:
    """`message` is what reading the settings complained about."""
    return ProblemScreen(
        "No model to talk to",
        [
            _sentence(message),
            "`workbench init --upstream URL --dialect NAME` writes a workbench.toml that explains every "
            "setting. `workbench demo` shows everything without a model.",
        ],
        (RETRY, READ_ONLY, QUIT),
    )


def unreachable_upstream(name: str, url: str, why: str) -> ProblemScreen:
    return ProblemScreen(
        "The model server does not answer",
        [
            f"Nobody answers at {url}, the upstream {name}.",
            _sentence(why),
            "Start the server, or correct its url in workbench.toml. Requests fail until then; whatever is "
            "recorded can be looked at.",
        ],
        (RETRY, READ_ONLY, QUIT),
    )


def port_taken(port: int) -> ProblemScreen:
    return ProblemScreen(
        f"Port {port} is taken",
        [
            f"Another program listens on port {port}, perhaps a workbench for another library.",
            "On a free port the proxy works at once, but clients have to be told: `workbench connect` says "
            "where.",
        ],
        (RETRY, OTHER_PORT, READ_ONLY, QUIT),
    )


def read_only_library(library: Path, why: str) -> ProblemScreen:
    return ProblemScreen(
        "Nothing can be recorded",
        [
            f"The library is {library}, and tapes cannot be written there.",
            _sentence(why),
            "Make the folder writable, or choose another one with --library.",
        ],
        (RETRY, READ_ONLY, QUIT),
    )


def proxy_died(death: Death) -> ProblemScreen:
    """It came to an end that nobody wanted. Where it was told something impossible, it named the remedy."""
    actions = (RESTART, OTHER_PORT, READ_ONLY, QUIT)
    if death.usage:
        told = [_sentence(death.reason), "Change that, then start it again."]
        return ProblemScreen("The proxy cannot start", told, actions)
    meaning = "Clients get no answers until it runs again. What was recorded is safe."
    return ProblemScreen("The proxy is gone", [meaning, death.reason], actions)


def _sentence(text: str) -> str:
    """As a sentence of its own."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")
