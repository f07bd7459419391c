"""Made-up apps: what they are about, how people ask for them, and how people ask to have them changed."""
