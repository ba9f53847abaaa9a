# SPDX-License-Identifier: Apache-2.0
"""Files that are made once and used by every run: build/rdma_vm of the project."""

import hashlib
import os
import pathlib
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "rdma_vm"


def path(kind: str, *made_from: object) -> pathlib.Path:
    """Where the file of that kind lies which was made from exactly these things."""
    digest = hashlib.sha256(repr(made_from).encode()).hexdigest()
    return FOLDER / f"{kind}-{digest[:16]}"


def store(target: pathlib.Path, content: bytes) -> None:
    """Whole or not at all: another run may make the same file meanwhile, or read it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=FOLDER, prefix=target.name + ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o644)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
