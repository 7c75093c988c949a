"""What credentials look like, by provider: the beginning that a provider gives its keys, the characters that
follow, and how many there are at least.

The facts are those that secret scanners publish (gitleaks' config/gitleaks.toml, the plugins of
detect-secrets, GitHub's list of token formats). A length is the shortest that is known, or less where the
beginning is so unusual that a shorter text cannot be anything else: a key that was cut off is still most of a
key.
"""

from __future__ import annotations

from typing import NamedTuple

WORD = r"[A-Za-z0-9]"
NAME = r"[\w-]"
HEX = r"[A-Fa-f0-9]"


class Shape(NamedTuple):
    """Keys of one kind. `body` is a class of characters, as regular expressions write it; all is ASCII."""

    provider: str
    letters: str
    body: str
    shortest: int


SHAPES = (
    *(Shape("GitHub", f"gh{letter}_", r"\w", 30) for letter in "oprsu"),
    Shape("GitHub, fine-grained", "github_pat_", r"\w", 20),
    Shape("GitLab", "glpat-", r"[\w.-]", 16),
    Shape("GitLab, deploy", "gldt-", NAME, 20),
    Shape("GitLab, runner", "glrt-", r"[\w.-]", 20),
    Shape("GitLab, job", "glcbt-", NAME, 20),
    Shape("GitLab, trigger", "glptt-", HEX, 40),
    Shape("Hugging Face", "hf_", r"\w", 20),
    Shape("Hugging Face, organization", "api_org_", WORD, 30),
    Shape("Groq", "gsk_", r"\w", 20),
    Shape("xAI", "xai-", WORD, 40),
    Shape("Perplexity", "pplx-", WORD, 40),
    Shape("Replicate", "r8_", WORD, 35),
    Shape("Fireworks", "fw_", WORD, 20),
    Shape("NVIDIA", "nvapi-", NAME, 40),
    Shape("LangSmith", "lsv2_", r"\w", 30),
    Shape("Tavily", "tvly-", NAME, 20),
    *(Shape("Slack", f"xox{letter}-", NAME, 10) for letter in "abeoprs"),
    Shape("Slack, app", "xapp-", NAME, 20),
    *(Shape("AWS", letters, "[A-Z0-9]", 16) for letters in ("AKIA", "ASIA", "ABIA", "ACCA")),
    Shape("AWS Bedrock", "ABSK", "[A-Za-z0-9+/=]", 100),
    Shape("Google", "AIza", NAME, 35),
    Shape("Google, client secret", "GOCSPX-", NAME, 28),
    Shape("Google, OAuth", "ya29.", NAME, 30),
    Shape("Alibaba Cloud", "LTAI", WORD, 16),
    *(Shape("Stripe", f"sk_{mode}_", WORD, 10) for mode in ("test", "live", "prod")),
    *(Shape("Stripe, restricted", f"rk_{mode}_", WORD, 10) for mode in ("test", "live", "prod")),
    Shape("npm", "npm_", WORD, 36),
    Shape("PyPI", "pypi-AgE", NAME, 50),
    Shape("RubyGems", "rubygems_", HEX, 48),
    Shape("SendGrid", "SG.", r"[\w.=-]", 60),
    Shape("Databricks", "dapi", "[a-f0-9]", 32),
    *(Shape("DigitalOcean", f"do{letter}_v1_", HEX, 60) for letter in "opr"),
    Shape("HashiCorp Vault", "hvs.", NAME, 60),
    Shape("Linear", "lin_api_", WORD, 40),
    Shape("Notion", "ntn_", WORD, 40),
    Shape("Postman", "PMAK-", r"[A-Fa-f0-9-]", 58),
    Shape("Pulumi", "pul-", HEX, 40),
    Shape("Sentry", "sntryu_", HEX, 60),
    *(Shape("Shopify", f"shp{kind}_", HEX, 32) for kind in ("at", "ca", "pa", "ss")),
    Shape("Grafana", "glsa_", r"\w", 40),
    Shape("age", "AGE-SECRET-KEY-1", "[A-Z0-9]", 58),
)  # fmt: skip
