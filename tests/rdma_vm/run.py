# SPDX-License-Identifier: Apache-2.0
"""One run, from an empty folder to the command's exit code."""

import argparse
import contextlib
import pathlib
import sys
import time

import initramfs
import job
import kernel
from failure import EXIT_GUEST_DIED, EXIT_TIME_OUT, Failure
from machine import Machine, command_line
from output import Follower
from watch import Hung, Watch

# How long the guest's output may lie before it is passed on.
LOOK_AGAIN_SECONDS = 0.02
CONSOLE_LINES = 15
BOOTS_MAX = 3


def say(text: str) -> None:
    print(f"rdma-vm: {text}", file=sys.stderr, flush=True)


def run(folder: pathlib.Path, options: argparse.Namespace) -> int:
    """The command's exit code. Whatever happens, no machine is left."""
    chosen = kernel.find(options.kernel)
    line = command_line(kernel.bootable(chosen), initramfs.path_for(chosen), folder, options)
    began = time.monotonic()
    deadline = began + options.timeout
    for _ in range(BOOTS_MAX):
        try:
            code = run_machine(line, folder, options, deadline)
            break
        except Hung:
            say(f"the guest said nothing for {options.silence} s before the command began; starting it again")
            (folder / "console.hung").write_text(job.read(folder, "console"))
    else:
        raise Failure(EXIT_GUEST_DIED, death_text(folder))
    if options.verbose:
        say_times(folder, time.monotonic() - began)
    if code is not None:
        return code
    if time.monotonic() >= deadline:
        raise Failure(EXIT_TIME_OUT, time_out_text(folder, options.timeout))
    raise Failure(EXIT_GUEST_DIED, death_text(folder))


def run_machine(line: list[str], folder: pathlib.Path, options: argparse.Namespace, deadline: float) -> int | None:
    """One machine, which has ended when this returns or throws."""
    job.prepare(folder, options)
    with contextlib.ExitStack() as cleanup:
        followers = [Follower(folder / "stdout", 1), Follower(folder / "stderr", 2)]
        for follower in followers:
            cleanup.callback(follower.close)
        machine = Machine(line, folder / "qemu.log")
        cleanup.callback(machine.kill)
        if options.verbose:
            say(f"process {machine.process_id}, files in {folder}")
        return wait_for_exit(machine, folder, followers, Watch(folder, options.silence), deadline)


def wait_for_exit(
    machine: Machine, folder: pathlib.Path, followers: list[Follower], watch: Watch, deadline: float
) -> int | None:
    """Passes output on until the command or the machine has ended or the time is over; None when there is no code."""
    ended = False
    while True:
        # The code is written last, so whoever sees it finds all output; and a machine that ended wrote all it could.
        code = job.exit_code(folder)
        for follower in followers:
            follower.pass_on()
        if code is not None or ended or time.monotonic() >= deadline:
            return code
        watch.look()
        ended = machine.ended_within(LOOK_AGAIN_SECONDS)


def say_times(folder: pathlib.Path, total: float) -> None:
    begun = job.steps(folder)
    parts = [f"{name} at {seconds:.1f} s" for seconds, name in begun]
    say(f"by the guest's clock: {', '.join(parts) or 'nothing'}; {total:.1f} s in all")


def last_step(folder: pathlib.Path) -> str:
    begun = job.steps(folder)
    return begun[-1][1] if begun else "booting"


def time_out_text(folder: pathlib.Path, seconds: int) -> str:
    return (f"the time is over after {seconds} s; the guest was at the step: {last_step(folder)}. --timeout gives it more "
            f"(a busy machine boots it in 40 s); what it wrote is in {folder}")


def death_text(folder: pathlib.Path) -> str:
    console = job.read(folder, "console").splitlines()
    panic = next((line for line in console if "Kernel panic" in line), "it ended by itself")
    reason = job.read(folder, "failure").strip() or panic
    # Once the command has begun, the guest's set-up is not what went wrong.
    set_up = [] if last_step(folder) == "command" else job.read(folder, "setup.log").splitlines()
    logs = [job.read(folder, "qemu.log").splitlines(), set_up, console]
    text = "".join(f"\n  {line.rstrip()}" for log in logs for line in log[-CONSOLE_LINES:])
    return (f"the guest is dead, there is no exit code: {reason} (step: {last_step(folder)}). All that it wrote is in "
            f"{folder}: console, setup.log, qemu.log" + (f". The end of it:{text}" if text else ""))
