"""Generated apps: their domains, and how people ask for and change them."""
