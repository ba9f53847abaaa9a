# SPDX-License-Identifier: Apache-2.0
"""The QEMU process of one run."""

import argparse
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess

from failure import EXIT_NOTHING_TO_RUN_ON, Failure

PR_SET_PDEATHSIG = 1

# Emulated code gains nothing from the mitigations and self-tests, and pays for them.
# tsc=reliable keeps the guest from distrusting the clock of a processor that the host takes away at times.
# loglevel=7 fills the console file, which tells a guest that boots from one that hangs.
# panic=-1: a guest that panics restarts at once, which ends QEMU (-no-reboot).
KERNEL_ARGUMENTS = (
    "console=ttyS0 loglevel=7 panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check random.trust_cpu=on "
    "cryptomgr.notests audit=0 apparmor=0 nowatchdog rcupdate.rcu_expedited=1 8250.nr_uarts=1 i8042.noaux i8042.nokbd"
)


def program() -> str:
    found = shutil.which("qemu-system-x86_64")
    if found is None:
        raise Failure(EXIT_NOTHING_TO_RUN_ON, "there is no qemu-system-x86_64; on Debian: apt-get install qemu-system-x86")
    return found


def folder_device(tag: str, folder: str, read_only: bool) -> list[str]:
    """Returns the guest a folder of the host under a name that it mounts. A comma is doubled in QEMU's options."""
    path = folder.replace(",", ",,")
    access = "on" if read_only else "off"
    # remap: the folder may hold other file systems, whose files may have the same numbers.
    return ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap,readonly={access}",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def command_line(kernel: pathlib.Path, initramfs: pathlib.Path, run: pathlib.Path, options: argparse.Namespace) -> list[str]:
    line = [program(), "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(options.cpus),
            "-m", str(options.memory), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-serial", f"file:{run}/console", "-kernel", str(kernel), "-initrd", str(initramfs),
            "-append", KERNEL_ARGUMENTS]
    line += folder_device("host", "/", read_only=True)
    line += folder_device("run", str(run), read_only=False)
    for number, folder in enumerate(options.share):
        line += folder_device(f"share{number}", folder, read_only=False)
    return line


class Machine:
    """Owns a QEMU process, which ends with the runner, however that ends."""

    def __init__(self, line: list[str], log: pathlib.Path):
        libc = ctypes.CDLL(None)
        runner = os.getpid()

        def end_with_the_runner() -> None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != runner:  # it ended before the line above
                os._exit(1)

        with open(log, "wb") as output:
            # A session of its own: the terminal's Ctrl-C is for the runner.
            self._process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                preexec_fn=end_with_the_runner)
        self.process_id = self._process.pid

    def ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """The guest has nothing to save: what it wrote to a shared folder is there."""
        self._process.kill()
        self._process.wait()
