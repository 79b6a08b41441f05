"""The one exception that this package reports to its user without a traceback."""


class PreparationError(Exception):
    """The corpus cannot be built; the message says what is wrong and what to do about it."""
