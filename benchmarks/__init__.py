"""Speed, stated as ratios of things measured in the same run: `make bench`."""
