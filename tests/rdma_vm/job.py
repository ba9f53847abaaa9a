# SPDX-License-Identifier: Apache-2.0
"""The folder of one run, which host and guest share: what the guest is to do, and what it says about it."""

import argparse
import os
import pathlib
import shlex
import shutil

from options import NAME

GUEST = pathlib.Path(__file__).resolve().parent / "guest"
SCRIPTS = ("session.sh", "network.sh", "rdma-wire")
WRITTEN = ("console", "exit", "exit.new", "failure", "kernel.log", "qemu.log", "setup.log", "stderr", "stdout", "steps")


def prepare(folder: pathlib.Path, options: argparse.Namespace) -> None:
    for name in WRITTEN:
        (folder / name).unlink(missing_ok=True)
    for name in ("stdout", "stderr"):
        (folder / name).touch()
    for name in SCRIPTS:
        shutil.copy(GUEST / name, folder / name)
    # The names may hold bytes that are not text.
    (folder / "job.sh").write_bytes(os.fsencode(script(options)))


def script(options: argparse.Namespace) -> str:
    environment = {name: value for name, value in os.environ.items() if NAME.match(name)}
    environment.update(options.env, PWD=os.getcwd(), WEFT_RDMA_VM=options.network)
    lists = {
        "SHARES": options.share,
        "ENVIRONMENT": [f"{name}={value}" for name, value in environment.items()],
        "COMMAND": options.command,
    }
    lines = [f"NETWORK={options.network}", f"DIRECTORY={shlex.quote(os.getcwd())}"]
    lines += [f"{name}=({' '.join(map(shlex.quote, values))})" for name, values in lists.items()]
    return "\n".join(lines) + "\n"


def read(folder: pathlib.Path, name: str) -> str:
    """A file of the run; empty when there is none."""
    try:
        return (folder / name).read_text(errors="replace")
    except OSError:
        return ""


def exit_code(folder: pathlib.Path) -> int | None:
    text = read(folder, "exit").strip()
    return int(text) if text else None


def steps(folder: pathlib.Path) -> list[tuple[float, str]]:
    """What the guest has begun, each with its own clock in seconds."""
    found = []
    for line in read(folder, "steps").splitlines():
        seconds, _, name = line.partition(" ")
        if name:
            found.append((float(seconds), name))
    return found
