"""Property tests of text: no time limit on a shared machine, no files, the same examples every run."""

from hypothesis import settings

settings.register_profile("text", deadline=None, database=None, derandomize=True)
settings.load_profile("text")
