"""The components of the browser side, each registered once and mounted by a typed function.

A *carrier* is invisible and puts one heavy payload into a store in the browser. A *stage*
draws from that store and is handed light view data only, so a change of the view never sends
the payload again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.ui import assets

_address = st.components.v2.component(
    "onr.address", js=assets.script("address", "mountAddress")
)


def address(wanted: Mapping[str, str], names: tuple[str, ...], page: str) -> None:
    """Make the browser show the address of this state; ``page`` makes a new page a change."""
    with st.container(key="onr_address"):
        data = {"wanted": dict(wanted), "names": list(names), "page": page}
        _address(key="address", data=data)
