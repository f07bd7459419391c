"""The command line: composes the layers and holds no logic of theirs.

stdout is data, stderr is talk. A command's module imports torch only when the command runs.
"""
