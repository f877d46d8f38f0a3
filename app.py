"""The frame around every page: navigation, shared style, address bar."""

from pages.ui import frame, registry

registry.mark_routed()
chosen = registry.build()
frame.open_frame()
chosen.run()
frame.close_frame(registry.page_of(chosen))
