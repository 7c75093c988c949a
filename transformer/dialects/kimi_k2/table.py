"""The transition table of kimi-k2."""

from __future__ import annotations

from transformer.calls.tags import ignore, prose
from transformer.dialect import Rule
from transformer.dialects.kimi_k2.actions import (
    argument,
    begin_arguments,
    begin_call,
    begin_section,
    complete_call,
    complete_then_call,
    complete_then_end,
    complete_then_section,
    complete_without_arguments,
    drop_repeated,
    drop_token,
    end_in_arguments,
    end_in_header,
    end_in_section,
    end_section,
    header,
    no_call_then_call,
    no_call_then_end,
    no_call_then_section,
    not_a_call,
    string,
)
from transformer.dialects.kimi_k2.tokens import State, Token
from transformer.dialects.tables import Tokens, table

S, T = State, Token
_PLAIN = (T.TEXT, T.SPACE, T.QUOTE)
_BEHIND_HEADER: dict[Tokens, Rule] = {
    T.ARGUMENT_BEGIN: Rule(S.ARGUMENTS, begin_arguments, "the id is complete"),
    T.CALL_END: Rule(S.SECTION, complete_without_arguments, "a call without arguments"),
    T.CALL_BEGIN: Rule(S.HEADER, no_call_then_call, "the one before it was no call"),
    T.SECTION_BEGIN: Rule(S.SECTION, no_call_then_section, "the one before it was no call"),
    T.SECTION_END: Rule(S.TEXT, no_call_then_end, "the one before it was no call"),
    T.END: Rule(S.DONE, end_in_header, "the answer ended before the arguments"),
}

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.SECTION_BEGIN: Rule(S.SECTION, begin_section, "a section of calls begins"),
                T.SECTION_END: Rule(S.TEXT, drop_token, "section tokens always vanish"),
                T.CALL_BEGIN: Rule(S.HEADER, begin_call, "the section token may be missing"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text leaves at once"),
        ),
        S.SECTION: (
            {
                T.SECTION_BEGIN: Rule(S.SECTION, begin_section, "section tokens always vanish"),
                T.SECTION_END: Rule(S.TEXT, end_section, "the section is over"),
                T.CALL_BEGIN: Rule(S.HEADER, begin_call, "a call begins"),
                (T.ARGUMENT_BEGIN, T.CALL_END, T.CUT): Rule(S.SECTION, drop_token, "no call is open"),
                _PLAIN: Rule(S.SECTION, prose, "text between the tokens stays text"),
                T.END: Rule(S.DONE, end_in_section, "the section's end may be missing"),
            },
            None,
        ),
        S.HEADER: (
            {
                T.SPACE: Rule(S.HEADER, header, "whitespace before the id"),
                (T.TEXT, T.QUOTE, T.CUT): Rule(S.ID, header, "the id of the call"),
                **_BEHIND_HEADER,
            },
            None,
        ),
        S.ID: (
            {
                T.SPACE: Rule(S.ID_END, header, "whitespace behind the id"),
                (T.TEXT, T.QUOTE, T.CUT): Rule(S.ID, header, "more of the id"),
                **_BEHIND_HEADER,
            },
            None,
        ),
        S.ID_END: (
            {
                (T.SPACE, T.CUT): Rule(S.ID_END, header, "more whitespace behind the id"),
                (T.TEXT, T.QUOTE): Rule(S.TEXT, not_a_call, "a token merely named in prose"),
                **_BEHIND_HEADER,
            },
            None,
        ),
        S.ARGUMENTS: (
            {
                (T.TEXT, T.SPACE): Rule(S.ARGUMENTS, argument, "passed on as written"),
                T.QUOTE: Rule(S.STRING, argument, "a string begins"),
                T.CALL_END: Rule(S.SECTION, complete_call, "the call is complete"),
                T.CALL_BEGIN: Rule(S.HEADER, complete_then_call, "closes the call that is open"),
                T.SECTION_BEGIN: Rule(S.SECTION, complete_then_section, "closes the call that is open"),
                T.SECTION_END: Rule(S.TEXT, complete_then_end, "closes the call that is open"),
                (T.ARGUMENT_BEGIN, T.CUT): Rule(S.ARGUMENTS, drop_repeated, "no part of JSON"),
                T.END: Rule(S.DONE, end_in_arguments, "the answer ended inside the arguments"),
            },
            None,
        ),
        S.STRING: (
            {
                T.QUOTE: Rule(S.ARGUMENTS, string, "the string ends"),
                T.END: Rule(S.DONE, end_in_arguments, "the answer ended inside a string"),
            },
            Rule(S.STRING, string, "inside a string everything is data"),
        ),
        S.DONE: ({}, Rule(S.DONE, ignore, "nothing comes behind the end")),
    },
)
