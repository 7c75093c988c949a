"""Tool calls written as text -> OpenAI tool_calls, while the stream flows.

The words used here:

read        bytes as they came from upstream in one piece
event       one server-sent event
choice      one of the answers in a response (`n` > 1 gives several)
channel     where a choice's text is: content, or reasoning
dialect     one way to write calls as text: a table of states and tokens
token       a piece of a channel's text that means something to the dialect
transition  one step of a machine: state, token, rule, next state
delta       what the client gets
finding     something a person should know, with a stable code
span        the characters a record stands for, and the event they came in
policy      the switches a user may set

Nothing in this package reads a clock, draws a random number, does I/O or logs.
"""

from transformer.answer.setting import call_ids
from transformer.answer.stream import StreamTransformer
from transformer.answer.whole import MessageTransformer, transform_message
from transformer.dialects import BUILTIN_TEMPLATES, DIALECTS
from transformer.parser.dialect import Dialect, Rule
from transformer.policy import Policy, PolicyError
from transformer.records import Delta, Event, Finding, Read, Record, Span, Transition
from transformer.request.conversion import transform_request
from transformer.request.prompt import TemplateFailed, Wording, prompt_for
from transformer.request.writtencall import Written, write_call, written_call

__all__ = [
    "BUILTIN_TEMPLATES",
    "DIALECTS",
    "Delta",
    "Dialect",
    "Event",
    "Finding",
    "MessageTransformer",
    "Policy",
    "PolicyError",
    "Read",
    "Record",
    "Rule",
    "Span",
    "StreamTransformer",
    "TemplateFailed",
    "Transition",
    "Wording",
    "Written",
    "call_ids",
    "prompt_for",
    "transform_message",
    "transform_request",
    "write_call",
    "written_call",
]
