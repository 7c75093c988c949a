"""Prompt templates that came with a stranger's tape, tried in a process of their own.

A template is a program. Jinja2's sandbox keeps it from our files, but not from filling the memory or running
for ever: `'%3000000000d' % 1` is one expression. So it runs where both are limited, and the caller waits at
most a few seconds. Its result comes back as numbers and sentences; a template that finished there may then be
used here, since with the same tools it does the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from transformer.dialects import BUILTIN_TEMPLATES
from transformer.findings import note
from transformer.policy import Policy
from transformer.records import Finding
from transformer.request.conversion import transform_request
from transformer.request.prompt import TemplateFailed, prompt_for

Converted: TypeAlias = tuple[dict[str, Any], list[Finding]]
SECONDS = 2  # of computing
WAIT = 10  # seconds of wall-clock time, enough for a busy machine; on Windows the only limit
MEMORY = 1 << 30  # of addresses; Python and its libraries take a part of it
_TOO_LONG = f"it did not finish within {WAIT} seconds"
_TOO_MUCH = f"it wanted more than {MEMORY >> 20} MiB of memory, or did not finish"
# No folder of the user's is on the path: files beside a tape must not be imported.
_START = "import sys; sys.path[:] = {path!r}; import workbench.rendering; workbench.rendering.main()"


def sizes(lists: Sequence[Sequence[Any]], dialect: str, template: str | None) -> list[int | None]:
    """How long the prompt is for each list of tools; None where the template fails with it."""
    if _is_ours(template):
        return [_size(tools, dialect, template) for tools in lists]
    try:
        answer = _answer({"lists": lists, "dialect": dialect, "template": template})
    except TemplateFailed:
        return [None] * len(lists)
    found = answer.get("sizes")
    return found if isinstance(found, list) and len(found) == len(lists) else [None] * len(lists)


def check(tools: Sequence[Any], dialect: str, template: str) -> int:
    """How long the prompt is for these tools; raises TemplateFailed."""
    found = _answer({"check": tools, "dialect": dialect, "template": template}).get("size")
    return found if isinstance(found, int) else 0


def converted(
    body: dict[str, Any], dialect: str, policy: Policy, template: str | None, *more: Any, **named: Any
) -> Converted:
    """As `transform_request`, with a template that may be untrusted."""
    if _is_ours(template):
        return transform_request(body, dialect, policy, template, *more, **named)
    given = {"dialect": dialect, "policy": policy.said(), "template": template, "more": more, "named": named}
    try:
        _answer({"request": body, **given})
    except TemplateFailed as failure:
        new, findings = transform_request(body, dialect, policy, None, *more, **named)
        return new, [_told(failure), *findings]
    return transform_request(body, dialect, policy, template, *more, **named)


def _told(failure: TemplateFailed) -> Finding:
    return note("template-failed", failure.line, line=failure.line, reason=failure.reason)


def _is_ours(template: str | None) -> bool:
    return template is None or template in BUILTIN_TEMPLATES.values()


def _size(tools: Sequence[Any], dialect: str, template: str | None) -> int | None:
    try:
        return len(prompt_for(tools, dialect, template))
    except TemplateFailed:
        return None


def _answer(question: Mapping[str, Any]) -> dict[str, Any]:
    try:
        asked = json.dumps(question)
    except (TypeError, ValueError, RecursionError) as error:
        raise TemplateFailed(1, f"the tools cannot be written as JSON: {error}") from None
    answer = _asked(asked)
    if "failed" in answer:
        raise TemplateFailed(int(answer.get("line", 1)), str(answer["failed"]))
    return answer


@lru_cache(maxsize=32)
def _asked(question: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-c", _START.format(path=sys.path)]
    try:
        done = subprocess.run(
            command,
            input=question.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WAIT,
            check=False,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"failed": _TOO_LONG}
    except OSError as error:
        return {"failed": f"no process could be started to try it: {error.strerror}"}
    except ValueError:  # it was ended by its limits before it could say anything
        return {"failed": _TOO_MUCH}
    return answer if isinstance(answer, dict) else {"failed": _TOO_MUCH}


def main() -> None:
    """The child's side."""
    _limit()
    try:
        answer = _tried(json.load(sys.stdin))
    except TemplateFailed as failure:
        answer = {"failed": failure.reason[:2000], "line": failure.line}
    except (MemoryError, RecursionError):
        answer = {"failed": _TOO_MUCH}
    except Exception as error:
        answer = {"failed": str(error)[:2000] or type(error).__name__}
    sys.stdout.write(json.dumps(answer))


def _limit() -> None:
    """Windows does not know such limits: there only the parent's clock ends it."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY)):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):  # macOS refuses a limit on addresses
            continue


def _tried(question: Mapping[str, Any]) -> dict[str, Any]:
    dialect, template = question["dialect"], question["template"]
    if "lists" in question:
        return {"sizes": [_size(tools, dialect, template) for tools in question["lists"]]}
    if "check" in question:
        return {"size": len(prompt_for(question["check"], dialect, template))}
    _, findings = transform_request(
        question["request"], dialect, question["policy"], template, *question["more"], **question["named"]
    )
    for finding in findings:
        if finding.code == "template-failed":
            raise TemplateFailed(int(finding.values["line"]), str(finding.values["reason"]))
    return {"findings": len(findings)}
