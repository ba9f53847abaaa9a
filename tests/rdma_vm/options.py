# SPDX-License-Identifier: Apache-2.0
"""The command line of ./dev rdma-vm."""

import argparse
import os
import re

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")

DESCRIPTION = """Runs a program of this machine on a real RDMA stack, without RDMA hardware.

A stock Debian kernel boots in QEMU with Soft-RoCE (rdma_rxe) and runs COMMAND there. The guest sees this machine's
files at the same paths; what it writes is lost with it, except below a --share. The command begins in the current
folder, with this environment, as root. Its output appears here while it runs, and its exit code is this one's.
"""

EPILOG = """examples:
  ./dev rdma-vm -- ibv_devinfo                              what the device can do
  ./dev rdma-vm -- sh -c 'ib_send_lat & until ib_send_lat 10.77.0.1; do sleep 1; done'
                                                            two programs in one guest; rxe0 has the address 10.77.0.1
  ./dev rdma-vm --cpus 1 -- build/release/tests/some_test   one processor: event-driven programs run better so
  ./dev rdma-vm --network wire -- sh -c 'rdma-wire netem 0 loss 2%; ibv_devinfo -d rxe1'
                                                            two devices; packets that leave rxe0 get lost (rdma-wire --help)
  ./dev rdma-vm --share /tmp/results -- sh -c 'dmesg >/tmp/results/dmesg'
                                                            a folder that the command may write to
  ./dev rdma-vm --logs /tmp/logs --verbose -- true          how long each step of booting took, and the kernel's log

exit codes besides the command's own:
  2    the command line is wrong
  77   nothing to run on: the kernel, QEMU or busybox is missing; the message says which package has it
  124  the time was over
  125  the guest ended before the command did, or never began it
  130, 143  interrupted
"""


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not NAME.match(name):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def folder(text: str) -> str:
    path = os.path.abspath(text)
    if not os.path.isdir(path) or not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} is not a folder that can be written to")
    if path == "/":
        raise argparse.ArgumentTypeError("the whole file system cannot be shared for writing")
    return path


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev rdma-vm", description=DESCRIPTION, epilog=EPILOG, usage="./dev rdma-vm [options] -- COMMAND [ARGUMENT...]",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--cpus", type=positive, default=2, metavar="N",
                        help="processors (default 2). Two programs that poll need two; anything else may be faster with one")
    parser.add_argument("--memory", type=positive, default=1536, metavar="MIB", help="of the guest (default 1536)")
    parser.add_argument("--timeout", type=positive, default=300, metavar="SECONDS",
                        help="booting and the command together (default 300)")
    parser.add_argument("--silence", type=positive, default=45, metavar="SECONDS",
                        help="a guest that says nothing for that long before the command has begun is started again "
                             "(default 45)")
    parser.add_argument("--network", choices=("one-device", "wire"), default="one-device",
                        help="one-device (the default): rxe0, 10.77.0.1. wire: rxe0 and rxe1, 10.77.0.1 and 10.77.0.2, "
                             "at the ends of a wire that can lose packets and go down; rdma-wire does it")
    parser.add_argument("--env", type=assignment, action="append", default=[], metavar="NAME=VALUE",
                        help="environment of the command, over what is inherited; again for more")
    parser.add_argument("--share", type=folder, action="append", default=[], metavar="FOLDER",
                        help="what is written there stays, and both sides see it at once; again for more")
    parser.add_argument("--host-if-device", action="store_true",
                        help="with --network one-device, where this machine has an RDMA device with an active port: "
                             "run the command on this machine, with that device")
    parser.add_argument("--logs", metavar="FOLDER",
                        help="keep the run's files there: console, kernel.log, setup.log, steps, qemu.log")
    parser.add_argument("--kernel", metavar="VERSION", help="a folder of /lib/modules (default: the newest that will do)")
    parser.add_argument("--verbose", action="store_true", help="say how long each step took")
    parser.add_argument("--check", action="store_true", help="only say whether there is what is needed")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.command and not options.check:
        parser.error("which command? It comes behind --; ./dev rdma-vm --help has examples")
    return options
