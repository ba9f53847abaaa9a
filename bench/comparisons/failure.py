# SPDX-License-Identifier: Apache-2.0


class Failure(Exception):
    """Something the user has to hear of; the text says what to do next."""
