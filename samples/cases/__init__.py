"""The samples as tables: for every dialect, what the model says and what should become of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from samples.cases import (
    deepseek,
    deepseek_dsml,
    glm,
    harmony,
    hermes,
    invokes,
    kimi_k2,
    kimi_k2_trouble,
    llama3_json,
    mistral,
    passthrough,
    pythonic,
    qwen3_coder,
    qwen3_coder_trouble,
    roo_xml_streams,
    roo_xml_trouble,
    roo_xml_values,
    seed_oss,
    toolbridge,
)
from samples.cases.case import Case, Outcome
from samples.cases.upstream import Meta

CASES: Mapping[str, Sequence[Case]] = {
    "roo-xml": [*roo_xml_values.CASES, *roo_xml_trouble.CASES, *roo_xml_streams.CASES],
    "qwen3-coder": [*qwen3_coder.CASES, *qwen3_coder_trouble.CASES],
    "kimi-k2": [*kimi_k2.CASES, *kimi_k2_trouble.CASES],
    "glm": glm.CASES,
    "hermes": hermes.CASES,
    "longcat": hermes.LONGCAT_CASES,
    "nemotron-toolcall": hermes.NEMOTRON_CASES,
    "mistral": mistral.CASES,
    "llama3-json": llama3_json.CASES,
    "deepseek-v3": deepseek.V3_CASES,
    "deepseek-v31": deepseek.V31_CASES,
    "deepseek-dsml": deepseek_dsml.CASES,
    "minimax-m2": invokes.MINIMAX_M2,
    "seed-oss": seed_oss.CASES,
    "functions-invoke": invokes.FUNCTIONS_INVOKE,
    "harmony": harmony.CASES,
    "pythonic": pythonic.CASES,
    "toolbridge": toolbridge.CASES,
    "passthrough": passthrough.CASES,
}

__all__ = ["CASES", "Case", "Meta", "Outcome"]
