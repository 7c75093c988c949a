"""Advice: for every finding what a person can do about it, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.answer.conformance import advice_on
from transformer.dialects import UNCONVERTED

_SERVERS_PARSER = (
    'The server\'s own parser made this. Set tools = template and template_tool_choice = "none" and let the '
    "workbench read the model's text."
)
_SILENT = (
    "Ask again. If it repeats, the prompt may be too long for the context, or a stop word of the upstream "
    "ends the answer at once."
)

ADVICE: Mapping[str, str] = {
    # a call that did not become one
    "unclosed-parameter": (
        "Set malformed = repair if this model forgets the tag often; the call is then closed where the "
        "schema leaves no doubt. A stronger example in the prompt template helps as well."
    ),
    "truncated-call": (
        "If finish_reason is length, raise max_tokens of the client or of the upstream. Otherwise look at "
        "upstream's stop words and log: something ended the answer too early."
    ),
    "malformed-call": (
        "Step to the place and compare it with the dialect's table. Try malformed = repair; if the model "
        "does this often, a lower temperature or an edited prompt template helps."
    ),
    "call-too-long": (
        "If such long calls are wanted, raise max_call_bytes. If the model repeats itself without end, "
        "lower max_tokens or raise its repetition penalty."
    ),
    "call-in-thought": (
        "If the model really means its calls there, let the server separate the reasoning, or ask in the "
        "prompt for the call after </think>."
    ),
    "unnamed-call": (
        "The id should name the tool. Check upstream's chat template; with one offered tool, or with "
        "arguments that fit only one, the call would have been understood."
    ),
    "refused-tool": "Offer the tool, or set unknown_tools = call (the client then tells the model) or text.",
    # a call that became one, but not as written
    "unknown-tool": (
        "The client will tell the model that there is no such tool. If it happens often, look for a "
        "foreign tool prompt in the system message, or set unknown_tools = text."
    ),
    "call-after-first": (
        "If the client can run several calls at once, set calls = all, and check that it does not send "
        "parallel_tool_calls: false."
    ),
    "repaired-parameter": (
        "Look at the value: if it has too much at its end, set malformed = text. Otherwise nothing needs "
        "to be done."
    ),
    "repaired-tag": (
        "Look at the call. If it is what the model meant, nothing needs to be done; models lose single tags "
        "when their server has much to do."
    ),
    "repaired-call": (
        "Look at the call: if it is not what the model meant, set malformed = text. Otherwise nothing "
        "needs to be done."
    ),
    "repaired-arguments": (
        "Look at the call: if it is not what the model meant, set malformed = text. A model that does this "
        "often needs a lower temperature, or the server's guided decoding."
    ),
    "ambiguous-end": (
        "Check the end of the value in the call. The model wrote an example of a call into a value and "
        "did not close it."
    ),
    "duplicate-parameter": (
        "Check that the first value is the right one. If several are meant, the parameter should be an "
        "array in the tool's schema."
    ),
    "value-not-of-type": (
        "The client may refuse the call and tell the model. If the value looks right, the tool's schema "
        "is stricter than it should be."
    ),
    "generated-id": (
        "Nothing needs to be done. Where upstream counts ids over a conversation, check that its chat "
        "template gets them back unchanged."
    ),
    "invalid-arguments": (
        "The client will report it to the model. If it happens often, lower the temperature or use the "
        "server's guided decoding; a call cut by length needs a higher max_tokens."
    ),
    "missing-parameter": (
        "The client will refuse the call and tell the model. If it happens often, lower the temperature, or "
        "say in the tool's description which parameters it needs."
    ),
    "cut-after-call": (
        "Raise max_tokens of the client or of the upstream: the model may have meant to write another call. "
        "If the context is full, shorten the conversation."
    ),
    # text that did not reach the client
    "text-after-call": (
        "Models like to invent the result of their call, so it is dropped. Set after_call = keep if you "
        "want to see the text."
    ),
    "stray-token": "Nothing needs to be done. If many come, upstream's chat template may not fit the model.",
    "empty-section": (
        "Nothing needs to be done. If the model meant a call, the text around this place shows what it "
        "wrote instead."
    ),
    "format-with-tools": (
        "A server that forces this format cannot write a call. Leave response_format out of requests that "
        "offer tools, or let the workbench drop it for this upstream."
    ),
    "thought-split": "Nothing needs to be done: the policy has reasoning = split.",
    "dialect-chosen": (
        "Nothing needs to be done. Set the dialect for this upstream if the choice is always the same: then "
        "nothing has to be recognised."
    ),
    # the stream around it
    "bad-json-event": (
        "Upstream, or something between here and there, damages the stream: look at the bytes of this "
        "event, then at upstream's log."
    ),
    "unknown-event": (
        "Nothing needs to be done. It is a notice that only this server's own client understands."
    ),
    "invalid-utf8": ("Upstream sends another encoding, or cuts a character. Update the server."),
    "number-too-long": (
        "The server writes numbers that no client reads. The text of the answer is whole; report it to the "
        "server's makers with this tape."
    ),
    "nested-too-deep": (
        "The server sends objects deeper than any client reads. The text of the answer is whole; report it "
        "to the server's makers with this tape."
    ),
    "lone-surrogate": ("The server cut a character (often an emoji) in two. Update the server."),
    "not-sse": "Check the upstream's url: this may be a web page, or another API than chat completions.",
    "candidate-dropped": (
        "Nothing needs to be done. Upstream offers two answers to choose from; a client can have one."
    ),
    "snapshot-rewritten": (
        "Upstream changed its mind about text that was sent already. If the answer is broken, ask again."
    ),
    "upstream-tool": (
        "Nothing needs to be done. If the model should use the client's tools instead, say so in the prompt."
    ),
    "session-lost": (
        "Nothing needs to be done: the model got the whole conversation. If it happens often, lower "
        "session_hours, or use an account instead of guest mode."
    ),
    "history-resent": ("Nothing needs to be done. `workbench sessions` lists the chats that are remembered."),
    "upstream-retried": (
        "Nothing needs to be done if it is rare. `retries` of this upstream says how often it is tried."
    ),
    "answer-held": "Nothing needs to be done. H shows what is held, b the breakpoints.",
    "answer-released": "Nothing needs to be done.",
    "answer-edited": "What the client got is not what the model said; the tape has both.",
    "answer-dropped": "Nothing needs to be done: a user dropped it. The tape has what the model said.",
    "part-not-sent": "Images and files cannot be sent to this kind of upstream; describe them in words.",
    "event-after-end": "Nothing needs to be done. The answer was over already.",
    "upstream-error": (
        "Read the message: it is upstream's own. Its log says more; the Request view shows what was sent."
    ),
    "upstream-broke": (
        "Look at upstream's log: it crashed, ran out of memory, or a proxy in between has a time-out. The "
        "client may ask again."
    ),
    "broke-after-call": "The call is complete and counts. Look at upstream's log for why it broke off.",
    "broke-after-end": "Nothing needs to be done. Everything had come before the connection broke.",
    "empty-answer": "Look at upstream's log. A prompt longer than the model's context is a common cause.",
    "empty-turn": _SILENT,
    "finish-contradicts": (
        "Nothing needs to be done. The client got the reason that fits; set finish_reason = upstream if "
        "you want upstream's."
    ),
    "native-calls": (
        "Nothing needs to be done. If the server's own parser makes mistakes, set tools = template and "
        'template_tool_choice = "none" so that the workbench reads the text.'
    ),
    "transformer-failed": (
        "This is a bug of the workbench: please report it with this tape. Until then the dialect "
        f"{UNCONVERTED} keeps things going."
    ),
    "choice-not-carried": (
        "Set n to 1 in the request, or let the client talk chat completions, which have room for several "
        "answers."
    ),
    "field-not-carried": "Nothing needs to be done; a client that needs the field can talk chat completions.",
    # the way to upstream, told by the proxy
    "upstream-fault": (
        "The sentence says what to check. `workbench config` shows the upstream's url and where it was set."
    ),
    "upstream-status": (
        "Upstream refused the request, and the client got its status and what it said. A 429 or 503 passes; "
        "for any other status look at the request as it went up, at the model's name and at the API key."
    ),
    "tool-choice-refused": (
        'Set template_tool_choice = "none" (or "auto", for SGLang) for this upstream, or tools = inject, '
        "which needs nothing of the server."
    ),
    # the request
    "tool-left-out": (
        "Nothing needs to be done if the client works without it. Otherwise offer a function that does the "
        "same, which the client runs."
    ),
    "item-not-carried": "The model does not see it. If it matters, say it in a message's text.",
    "part-not-carried": "The model sees only its name. If it matters, send it as text or as an image.",
    "field-not-sent": "Nothing needs to be done; extra_body of the upstream can send what a server needs.",
    "duplicate-tool": (
        "Let the client offer each tool once: two servers of tools may have the same name for one."
    ),
    "tool-not-understood": (
        "Look at the tool in the Request view: it should be {type: function, function: {name, parameters}}."
    ),
    "no-properties": (
        "Nothing needs to be done. If the tool does take parameters, its schema should declare them."
    ),
    "name-not-carried": (
        "Rename the tool or the parameter where it is made, or use another dialect: the model cannot "
        "write this name."
    ),
    "name-collides": "Rename one of the two if calls go to the wrong one.",
    "tool-prompt-present": (
        "The client (or the server's template) explains tools itself. Use that dialect, or switch off the "
        "client's own tool prompt."
    ),
    "calls-without-tools": (
        "Nothing needs to be done. A client does so when it summarises. If the model then writes calls, "
        "ask the client for its tools to be sent along."
    ),
    "result-without-call": (
        "The client has lost the call, perhaps while it shortened its history. Start a new session if the "
        "model is confused."
    ),
    "call-not-understood": (
        "Look at the message in the Request view: a call of the history has no function name."
    ),
    "messages-not-understood": (
        "The client sends something that is not a chat request. Check which address it uses."
    ),
    "system-message-moved": "Nothing needs to be done. Only one system message goes upstream.",
    "tool-choice-not-understood": (
        "Let the client send auto, none, required, or the name of an offered function."
    ),
    "tool-choice-not-sent": (
        "If calls must be enforced, use tools = inject, which writes the wish into the prompt."
    ),
    "arguments-not-json": (
        "Nothing needs to be done. An earlier call had broken arguments; the model sees them as they were."
    ),
    "value-contains-its-end": (
        "Nothing needs to be done. The model sees an earlier call a little differently. If that confuses "
        "it, use another dialect, which marks the end of a value otherwise."
    ),
    "value-not-carried": (
        "Nothing needs to be done. The model sees the value of an earlier call as the text that is named "
        "here."
    ),
    "call-not-carried": "The model sees an earlier call changed. Another dialect may be able to write it.",
    "id-not-carried": (
        "Nothing needs to be done. The id was replaced in the prompt alone; the client keeps its own."
    ),
    "template-failed": (
        "Correct the template at the line that is named; `workbench prompt` shows what it gives."
    ),
    "template-empty": (
        "Put the tools into the template, or remove it from workbench.toml to use the built-in one."
    ),
    # what the whole answer shows
    "leaked-markers": (
        "If the finding names another dialect than the upstream's, set that one. If the model writes a "
        "form of its own, set tools = inject: then the prompt explains the form that is read here."
    ),
    "other-dialect": (
        "Set the dialect that is named for this upstream in workbench.toml (or with --dialect); then this "
        "text is a call."
    ),
    "call-in-reasoning": (
        "Set channels = content,reasoning for this upstream. Or let the server's reasoning parser end the "
        "reasoning where the call begins."
    ),
    "cut-by-length": (
        "Raise max_tokens of the client or of the upstream. If the context is full, shorten the conversation."
    ),
    "content-filter": (
        "Upstream refuses this content. Change the question, or look at the provider's filter settings."
    ),
    "only-reasoning": (
        "Ask again, or raise max_tokens: some servers report stop when thinking used up the limit. A "
        "reasoning parser that misses </think> also does this."
    ),
    "silent-turn": _SILENT,
    "finish-mismatch": (
        f"Use a dialect instead of {UNCONVERTED}, or finish_reason = rewrite: then the client gets the "
        "reason that fits."
    ),
    "bad-arguments": _SERVERS_PARSER,
    "incomplete-call": _SERVERS_PARSER,
    "repeated-id": _SERVERS_PARSER,
    "nothing-offered": (
        "Nothing needs to be done. Titles and summaries are asked for without tools. If the agent should "
        "have tools, look at the client's settings."
    ),
}

_UNKNOWN = "This workbench does not know this finding; a newer one may."


def advice(code: str) -> str:
    """What to do about a finding."""
    return ADVICE.get(code) or advice_on(code) or _UNKNOWN
