"""The command line. It composes the other layers and holds no logic of its own.

stdout is data, stderr is talk. A command's module imports torch only when the command runs.
"""
