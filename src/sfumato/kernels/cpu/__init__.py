"""Compiled CPU loops, each compiled at its first call if the package has none for this machine."""
