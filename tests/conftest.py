"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# A slow machine is no failure: hence no deadline. In CI the same examples every time, a person gets new ones.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
