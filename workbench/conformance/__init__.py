"""Conformance: which rules of real clients an answer keeps that goes to them as upstream wrote it."""

from workbench.conformance.checks import Check
from workbench.conformance.conformance import Conformance

__all__ = ["Check", "Conformance"]
