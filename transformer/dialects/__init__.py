"""The dialects, one folder each: its tokens, its table, its few actions, its writer."""

from collections.abc import Mapping

from transformer.dialect import Dialect
from transformer.dialects.kimi_k2 import KIMI_K2
from transformer.dialects.passthrough import PASSTHROUGH
from transformer.dialects.qwen3_coder import QWEN3_CODER
from transformer.dialects.roo_xml import ROO_XML

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect for dialect in (ROO_XML, QWEN3_CODER, KIMI_K2, PASSTHROUGH)
}
