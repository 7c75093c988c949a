"""What users of other parsers reported: the patterns after which samples were made, and where they stand."""

from __future__ import annotations

from typing import NamedTuple


class Report(NamedTuple):
    """A pattern that went wrong elsewhere, and public issues about it."""

    pattern: str
    issues: str


REPORTS = {
    # qwen3-coder
    1: Report("`</parameter>` inside a value cuts it", "vllm#34919, vllm#33965"),
    2: Report("`</tool_call>` or `</function>` inside a value ends the call", "omlx#2588, omlx#2507"),
    3: Report("the opening `<tool_call>` is missing", "ollama#16686, ollama#17742, ollama#18530"),
    4: Report("`</parameter>` is missing before the next parameter", "vllm#37829, ollama#17914"),
    5: Report("values are stripped, and lose indentation and their last newline", "vllm#48753, vllm#48846"),
    6: Report("unions and references in a schema are taken for strings", "vllm#37831, vllm#36032"),
    7: Report("`None` for a nullable parameter stays a string", "vllm#38885, vllm#38996"),
    8: Report("`null` in a parameter that is a string becomes null", "seen in SGLang"),
    9: Report("JSON with `false` and `null` is taken for a string as a whole", "vllm#43238, vllm#43485"),
    10: Report("several parameters in one delta: some are lost", "vllm#35615, vllm#35895"),
    11: Report("`<parameter=` without a name or `>` leaves JSON that never ends", "vllm#55497, vllm#55495"),
    12: Report("`<parameter=command=create</parameter>`", "Qwen3-Coder#457"),
    13: Report("prose that names the tag swallows the rest of the answer", "Rapid-MLX#1513"),
    14: Report("the second call of an answer reaches the client as text", "vllm-mlx#55"),
    15: Report("a value leaves only as a whole, a file is waited for", "Rapid-MLX#479, sglang#11888"),
    16: Report("a value that is not of its type drops the whole call", "omlx#882"),
    # kimi-k2
    17: Report("a call inside the reasoning is never run", "llxprt-code#749, Roo#9172"),
    18: Report("markers or arguments leak into the content", "vllm#31207, vllm#28543, litellm#12679"),
    19: Report("other or no section tokens, a missing end of the call", "llama.cpp#17376, llama.cpp#17155"),
    20: Report(
        "ids must come back unchanged, the index counts from 0 in each answer", "sglang#10600, vllm#46344"
    ),
    21: Report("an id that names no tool", "vllm#32146"),
    22: Report("blanks and newlines around the header and the JSON", "llxprt-code#749"),
    23: Report("markers in pieces are taken for arguments", "seen in SGLang"),
    # roo-xml
    24: Report("HTML entities are decoded", "cline#7698, cline#7385, Roo#10804"),
    25: Report("the parameter's own closing tag inside its value", "a special case in Roo and Cline"),
    26: Report("limits of some KB reset the parser or lose the call", "seen in Roo"),
    27: Report("calls inside `<think>` are run or lost", "void#484, Roo#9172"),
    28: Report("lists that are written as nested tags", "neovate-code#348"),
    # hermes
    29: Report("`</tool_call>` inside a JSON string ends the call", "vllm#45310, vllm#45167"),
    30: Report("a call without parameters is lost, or has no arguments", "vllm#28806"),
    31: Report("the arguments come before the name", "seen in vLLM"),
    32: Report("the closing brace of streamed arguments is lost", "vllm#19056, vllm#10395, vllm#18791"),
    34: Report("text after the call is lost", "vllm#56265"),
    # deepseek-v3, deepseek-v31, deepseek-dsml
    35: Report("arguments that do not end in a string are cut", "vllm#48342"),
    36: Report("an answer in two chunks loses calls or names", "sglang#35563"),
    37: Report("markup leaks into arguments, and bars are written otherwise", "vllm#53227, flocks#687"),
    38: Report("R1 writes the form of V3, and the name becomes `function`", "Rapid-MLX#795"),
    39: Report("the token that begins the calls is repeated", "sglang#5224"),
    # glm
    40: Report("a call without arguments is lost in a stream", "vllm#44326, vllm#41654"),
    41: Report("the end of an optional string or of an array comes twice", "vllm#40195, vllm#40197"),
    42: Report("values without a schema are strings in a stream only", "sglang#36688, ds4#569"),
    43: Report(
        "`<arg_value>` or `<arg_key>` is lost, `</arg_key>` is doubled", "vllm#49248, vllm#47190, vllm#54971"
    ),
    # minimax-m2
    44: Report("a string for a parameter that may be null becomes null", "sglang#16057, mlx-lm#1647"),
    45: Report("calls of one block mix: names missing, arguments doubled", "sglang#23071, sglang#24995"),
    46: Report("one malformed call takes the good ones after it with it", "vllm#51075"),
    # mistral
    47: Report("`[ARGS]` in pieces leaks into the name or the arguments", "Rapid-MLX#579"),
    48: Report("text and two calls in one delta: the calls are merged", "vllm#48318"),
    49: Report(
        "an integer does not stream, or only the first call of a list is read", "vllm#13622, sglang#36692"
    ),
    50: Report("`]` in prose is lost", "seen in SGLang"),
    # llama3-json
    51: Report("another separator than `; ` corrupts the second call", "vllm#49923, vllm#51577, dynamo#9536"),
    52: Report("JSON in prose is taken for a call, or eaten", "Rapid-MLX#703"),
    # pythonic
    53: Report("brackets and line breaks in strings, tuples, keywords as names", "vllm#48171, mlxcel#1306"),
    # harmony
    54: Report(
        "markers and JSON of the commentary leak, calls are dropped", "odysseus#4522, mlxcel#654, imp#1716"
    ),
    55: Report("a recipient in another channel is taken for a call", "omlx#2143"),
    # every dialect
    56: Report("finish_reason `tool_calls` although the answer was cut", "vllm#53269, vllm#46303"),
    57: Report("an escape such as `\\u00e9` is cut in two", "llama.cpp#16526, assistant-ui#6355"),
    58: Report("examples in code fences are run", "gptme#1472, unsloth#8312"),
    59: Report("streamed and whole answers differ", "sglang#35564"),
    60: Report("arguments are repeated in the content, equal calls are taken for one", "MTPLX#249"),
}
