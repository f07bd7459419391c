"""Models behind the interfaces of other programs; each module needs the program's package."""
