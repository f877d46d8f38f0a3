"""Mounts a measured chart: its lines, its numbers and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pages.ui import components, state


def measured_chart(data: Mapping[str, Any], *, key: str) -> None:
    """Draw charts of one subject; views and scales are switched in the browser."""
    data = {**data, "lecture": state.lecture()}
    components.mount_stage("livecurves", "mountLiveCurves", data, key=key)
