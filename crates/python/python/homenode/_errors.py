"""Failures: one class for each exit status of the command, with the same text."""


class Error(Exception):
    """What could not be done, whose fault that is and what to do, in one line."""

    #: Exit status that the command has for it.
    exit_status: int = 1


class WorkError(Error):
    """The work could not be done or failed."""

    exit_status = 1


class UsageError(Error, ValueError):
    """Something was asked for that cannot be."""

    exit_status = 2


class InputError(Error):
    """What was given to work on is not usable."""

    exit_status = 3


def of(exit_status: int, message: str) -> Error:
    """The failure that a command with this exit status had."""
    kinds: dict[int, type[Error]] = {2: UsageError, 3: InputError}
    return kinds.get(exit_status, WorkError)(message)
