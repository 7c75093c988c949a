"""The transition table of qwen3-coder."""

from __future__ import annotations

from transformer.calls.tags import (
    close_example,
    close_example_at_end,
    close_in_example,
    data,
    hold,
    ignore,
    open_example,
    open_parameter,
    prose,
    remember_end,
)
from transformer.dialect import Rule
from transformer.dialects.qwen3_coder.actions import (
    begin_function,
    begin_function_anew,
    begin_wrapper,
    begin_wrapper_anew,
    complete_at_wrapper,
    complete_call,
    complete_then_function,
    complete_then_text,
    complete_then_wrapper,
    complete_unclosed,
    complete_unclosed_call,
    end_inside,
    inline_parameter,
    maybe_end,
    next_parameter,
    not_a_function,
    not_a_wrapper,
    repair_parameter,
    swallow,
    text_after,
)
from transformer.dialects.qwen3_coder.tokens import State, Token
from transformer.dialects.tables import table

S, T = State, Token
_PARAMETERS = (T.PARAMETER, T.NEW_PARAMETER)

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper, "a call, if <function= follows"),
                T.FUNCTION: Rule(S.FUNCTION, begin_function, "<tool_call> is optional for an offered tool"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text leaves at once"),
        ),
        S.WRAPPER: (
            {
                T.SPACE: Rule(S.WRAPPER, hold, "whitespace before <function="),
                T.FUNCTION: Rule(S.FUNCTION, begin_function, "a call begins"),
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper_anew, "the one before it was text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind <tool_call>"),
            },
            Rule(S.TEXT, not_a_wrapper, "<tool_call> without <function= is text"),
        ),
        S.FUNCTION: (
            {
                T.SPACE: Rule(S.FUNCTION, hold, "whitespace before the first parameter"),
                _PARAMETERS: Rule(S.VALUE, open_parameter, "the first parameter"),
                T.INLINE: Rule(S.CLOSED, inline_parameter, "a parameter whose tag never ended"),
                T.CLOSE_FUNCTION: Rule(S.AFTER, complete_call, "a call without parameters"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, complete_at_wrapper, "</function> is missing"),
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper_anew, "the one before it was text"),
                T.FUNCTION: Rule(S.FUNCTION, begin_function_anew, "the one before it was text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind <function="),
            },
            Rule(S.TEXT, not_a_function, "a tag merely named in prose, or a broken <parameter="),
        ),
        S.VALUE: (
            {
                T.CLOSE_PARAMETER: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_FUNCTION: Rule(
                    S.UNCLOSED, maybe_end, "the end if the answer goes on as after a call"
                ),
                T.NEW_PARAMETER: Rule(S.VALUE, repair_parameter, "</parameter> is missing before it"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example of a call inside the value"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside a value"),
            },
            Rule(S.VALUE, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, hold, "whitespace before what decides"),
                _PARAMETERS: Rule(S.VALUE, next_parameter, "the next parameter"),
                T.INLINE: Rule(S.CLOSED, inline_parameter, "a parameter whose tag never ended"),
                T.CLOSE_FUNCTION: Rule(S.AFTER, complete_call, "the call is complete"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, complete_at_wrapper, "</function> is missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, maybe_end, "the one before was data; this may be the end"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example of a call inside the value"),
                T.END: Rule(S.DONE, end_inside, "the answer ended before </function>"),
            },
            Rule(S.VALUE, data, "no structure follows, so it was data"),
        ),
        S.UNCLOSED: (
            {
                T.SPACE: Rule(S.UNCLOSED, hold, "whitespace before what decides"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, complete_unclosed_call, "</parameter> was missing"),
                T.TOOL_CALL: Rule(S.WRAPPER, complete_then_wrapper, "</parameter> was missing"),
                T.FUNCTION: Rule(S.FUNCTION, complete_then_function, "</parameter> was missing"),
                T.FOREIGN: Rule(S.TEXT, complete_then_text, "</parameter> was missing"),
                T.END: Rule(S.DONE, complete_unclosed, "</parameter> was missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_FUNCTION: Rule(S.UNCLOSED, maybe_end, "the one before was data; this may be the end"),
                T.NEW_PARAMETER: Rule(S.VALUE, repair_parameter, "</parameter> is missing before it"),
            },
            Rule(S.VALUE, data, "the answer goes on inside the value, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, close_in_example, "data, but remember it"),
                T.CLOSE_FUNCTION: Rule(S.VALUE, close_example, "the example ends"),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example, "an example inside it ends"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, hold, "whitespace inside a pair"),
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, close_in_example, "data, but remember it"),
                T.CLOSE_FUNCTION: Rule(S.VALUE, close_example_at_end, "the end, should no other come"),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example_at_end, "the end, should no other come"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example inside the example"),
                _PARAMETERS: Rule(S.EXAMPLE, remember_end, "the end of the value, should no other come"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, prose, "dropped, unless text follows"),
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper, "a further call, if <function= follows"),
                T.FUNCTION: Rule(S.FUNCTION, begin_function, "a further call"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, swallow, "belongs to the call before it"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, text_after, "text behind a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, ignore, "nothing comes behind the end")),
    },
)
