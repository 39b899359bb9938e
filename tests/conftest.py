"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples each time; HYPOTHESIS_PROFILE=search looks further than a test run should.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
