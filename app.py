"""The frame around every page: navigation, shared style, address bar."""

from pages.ui import frame, registry

registry.mark_routed()
current = registry.build()
frame.open_frame()
current.run()
frame.close_frame()
