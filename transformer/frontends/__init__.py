"""The APIs of clients, one module each: request in, chat request out; deltas in, events out.

frontend      what a frontend is: a client's request as a chat request, a writer that is told the deltas
chat          chat completions, the API that upstream speaks itself
responses     OpenAI's Responses
messages      Anthropic's Messages

and what these have in common:

shape         events that differ in nothing but their text
items         an answer as a list of items, for the two that have such answers
offering      tools as functions, and their names
errorobjects  what went wrong, as OpenAI's error objects say it; a prompt that is too long
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.frontends.chat import Chat
from transformer.frontends.frontend import Frontend
from transformer.frontends.messages import Messages
from transformer.frontends.responses import Responses

FRONTENDS: Mapping[str, Frontend] = {
    frontend.name: frontend for frontend in (Chat(), Responses(), Messages())
}


def find_frontend(name: str | Frontend) -> Frontend:
    """The frontend of that name; one may be given itself."""
    if isinstance(name, Frontend):
        return name
    try:
        return FRONTENDS[name]
    except KeyError:
        raise ValueError(f"there is no frontend {name!r}; there are {', '.join(FRONTENDS)}") from None
