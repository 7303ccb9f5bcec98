"""A command line that makes no sense: one line, exit code 2."""


class UsageError(Exception):
    """What is wrong with the arguments, with the command's name in front."""
