# SPDX-License-Identifier: Apache-2.0
"""What ends a run that did not end with the command's own exit code."""

EXIT_USAGE = 2
EXIT_NOTHING_TO_RUN_ON = 77
EXIT_TIME_OUT = 124
EXIT_GUEST_DIED = 125


class Failure(Exception):
    """A text for the user, which says what to do, and the exit code that goes with it."""

    def __init__(self, exit_code: int, text: str):
        super().__init__(text)
        self.exit_code = exit_code


class Interrupted(Exception):
    """A signal asked the runner to end."""

    def __init__(self, signal_number: int):
        super().__init__(f"signal {signal_number}")
        self.signal_number = signal_number
