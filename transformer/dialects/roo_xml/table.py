"""The transition table of roo-xml."""

from __future__ import annotations

from transformer.calls.tags import (
    close_example,
    close_example_at_end,
    close_in_example,
    data,
    hold,
    ignore,
    not_a_call,
    open_example,
    open_parameter,
    prose,
    remember_end,
)
from transformer.dialect import Rule
from transformer.dialects.roo_xml.actions import (
    begin_call,
    begin_call_anew,
    begin_unknown_anew,
    begin_unknown_call,
    break_off,
    complete_call,
    complete_empty_call,
    end_inside,
    look_ahead,
    maybe_end,
    next_parameter,
    thought_of_call,
)
from transformer.dialects.roo_xml.tokens import State, Token
from transformer.dialects.tables import table

S, T = State, Token

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.TOOL: Rule(S.CALL, begin_call, "an offered tool's tag starts a call"),
                T.MAYBE_TOOL: Rule(S.UNKNOWN, begin_unknown_call, "a tool that was not offered, perhaps"),
                T.THINK: Rule(S.THINKING, prose, "the model thinks aloud"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text leaves at once"),
        ),
        S.THINKING: (
            {
                T.CLOSE_THINK: Rule(S.TEXT, prose, "the thought is over"),
                T.TOOL: Rule(S.THINKING, thought_of_call, "a call that is only thought of"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.THINKING, prose, "a thought is text"),
        ),
        S.CALL: (
            {
                T.SPACE: Rule(S.CALL, hold, "whitespace before the first parameter"),
                (T.PARAMETER, T.ELEMENT): Rule(S.VALUE, open_parameter, "the first parameter"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(S.AFTER, complete_empty_call, "a call without parameters"),
                (T.TOOL, T.OWN): Rule(S.CALL, begin_call_anew, "the tag before it was only text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind the tool's tag"),
            },
            Rule(S.TEXT, not_a_call, "a tag merely named in prose"),
        ),
        S.UNKNOWN: (
            {
                T.SPACE: Rule(S.UNKNOWN, hold, "whitespace before the first child"),
                (T.PARAMETER, T.ELEMENT): Rule(S.VALUE, open_parameter, "it has children, as a call does"),
                T.TOOL: Rule(S.CALL, begin_call_anew, "the tag before it was only text"),
                T.OWN_UNKNOWN: Rule(S.UNKNOWN, begin_unknown_anew, "the tag before it was only text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind the tag"),
            },
            Rule(S.TEXT, not_a_call, "without a child it is no call"),
        ),
        S.VALUE: (
            {
                T.CLOSE: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_LINE: Rule(S.BROKEN, hold, "data, unless another tool's tag follows"),
                (T.OWN, T.OWN_UNKNOWN): Rule(
                    S.EXAMPLE, open_example, "an example of this call inside the value"
                ),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside a value"),
            },
            Rule(S.VALUE, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, hold, "whitespace before what decides"),
                T.PARAMETER: Rule(S.VALUE, next_parameter, "a parameter that is not given yet"),
                (T.ELEMENT, T.TOOL): Rule(S.VALUE, look_ahead, "a parameter if the whole element stands"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(S.AFTER, complete_call, "the call is complete"),
                T.CLOSE: Rule(S.CLOSED, maybe_end, "the one before was data; this may be the end"),
                (T.OWN, T.OWN_UNKNOWN): Rule(
                    S.EXAMPLE, open_example, "an example of this call inside the value"
                ),
                T.END: Rule(S.DONE, end_inside, "the answer ended before </tool>"),
            },
            Rule(S.VALUE, data, "no structure follows, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE: Rule(S.EXAMPLE_CLOSED, close_in_example, "data, but remember it"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(S.VALUE, close_example, "the example ends"),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example, "an example inside it ends"),
                (T.OWN, T.OWN_UNKNOWN): Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, hold, "whitespace inside a pair"),
                T.CLOSE: Rule(S.EXAMPLE_CLOSED, close_in_example, "data, but remember it"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(
                    S.VALUE, close_example_at_end, "the end after all, should no other come"
                ),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example_at_end, "the end, should no other come"),
                (T.OWN, T.OWN_UNKNOWN): Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.PARAMETER: Rule(S.EXAMPLE, remember_end, "the end of the value, should no other come"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.BROKEN: (
            {
                T.SPACE: Rule(S.BROKEN, hold, "whitespace before what decides"),
                (T.TOOL, T.OWN): Rule(S.CALL, break_off, "the call before it was malformed"),
                T.OWN_UNKNOWN: Rule(S.EXAMPLE, open_example, "an example of this call inside the value"),
                T.CLOSE: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_LINE: Rule(S.BROKEN, hold, "data, unless another tool's tag follows"),
                T.END: Rule(S.DONE, end_inside, "the answer ended, the value was never closed"),
            },
            Rule(S.VALUE, data, "no tool's tag follows, so it was data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, prose, "dropped, unless text follows"),
                T.TOOL: Rule(S.CALL, begin_call, "a further call"),
                T.MAYBE_TOOL: Rule(S.UNKNOWN, begin_unknown_call, "a further call, perhaps"),
                T.THINK: Rule(S.THINKING, prose, "the model thinks aloud"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text behind a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, ignore, "nothing comes behind the end")),
    },
)
