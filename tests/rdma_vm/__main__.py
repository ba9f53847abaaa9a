# SPDX-License-Identifier: Apache-2.0
"""./dev rdma-vm: runs a program on a real RDMA stack in an emulated machine. docs/internals/rdma_vm.md says how."""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import host
import initramfs
import kernel
import machine
from failure import EXIT_GUEST_DIED, EXIT_NOTHING_TO_RUN_ON, Failure, Interrupted
from options import parse
from run import run, say

EXIT_READER_GONE = 128 + signal.SIGPIPE


def interrupt(signal_number: int, _frame: object) -> None:
    raise Interrupted(signal_number)


def check(options: argparse.Namespace) -> int:
    chosen = kernel.find(options.kernel)
    initramfs.find_busybox()
    say(f"ready: kernel {chosen.version}, {machine.program()}")
    return 0


def run_on_this_machine(command: list[str], environment: list[tuple[str, str]]) -> int:
    try:
        os.execvpe(command[0], command, {**os.environ, **dict(environment)})
    except OSError as problem:
        say(f"{command[0]}: {problem.strerror}")
        return 127 if isinstance(problem, FileNotFoundError) else 126


def run_in_a_folder(options: argparse.Namespace) -> int:
    if options.logs:
        folder = pathlib.Path(options.logs).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return run(folder, options)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rdma_vm."))
    keep = False
    try:
        return run(folder, options)
    except Failure as failure:
        keep = failure.exit_code != EXIT_NOTHING_TO_RUN_ON
        raise
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        if options.check:
            return check(options)
        if options.host_if_device and options.network == "one-device" and host.has_active_device():
            return run_on_this_machine(options.command, options.env)
        return run_in_a_folder(options)
    except Failure as failure:
        say(str(failure))
        return failure.exit_code
    except Interrupted as interrupted:
        return 128 + interrupted.signal_number
    except BrokenPipeError:
        return EXIT_READER_GONE
    except OSError as problem:
        say(f"the guest could not be started: {problem}")
        return EXIT_GUEST_DIED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
