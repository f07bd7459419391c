"""Plugins for other programs; each module needs the program's package."""
