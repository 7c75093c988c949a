"""The workbench: tapes of exchanges with a model, and the commands to look at them."""

from __future__ import annotations

__version__ = "0.1.0"
