"""What all pages share: registry, frame, run bar, components, palette, units, caching."""
