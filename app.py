"""The frame around every page: navigation, shared style, address bar."""

from pages.ui import frame, registry

registry.mark_routed()
chosen = registry.build()
page = registry.page_of(chosen)
frame.open_frame(page)
chosen.run()
frame.close_frame(page)
