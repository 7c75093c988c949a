"""The configuration: what flags, environment, `workbench.toml` and defaults together say."""

from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings, Upstream

__all__ = ["Flags", "Settings", "Upstream", "read_settings"]
