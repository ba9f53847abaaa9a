# SPDX-License-Identifier: Apache-2.0
"""Payloads of one size, so many in flight, by any program that has the flags of `weft raw`."""
import dataclasses

from .failure import Failure
from .machine import CLIENT_CPU, SERVER_CPU, CpuUse
from .programs import Server, on, report_of

LONGER = 5  # times, when nothing was finished


@dataclasses.dataclass(frozen=True)
class Program:
    """A program with the commands server and client."""
    words: tuple
    flags: tuple = ()  # of both commands
    client_flags: tuple = ()
    pins_itself: bool = True  # has the flag --cpus

    def command(self, name, cpu, *words):
        if self.pins_itself:
            return [*self.words, name, *words, "--cpus", str(cpu), *self.flags]
        return on(cpu, [*self.words, name, *words, *self.flags])


def measure(program, cell, arguments, factor=1):
    """What a fresh client says of a fresh server, with the shares of the processors' time that others had, the server's
    own processor time from its start, and the most memory of both. A cell has a name, a size, a depth and a number of connections; `factor` is how much longer than
    usual it is measured. On a machine so busy that no call was finished, it is measured once more for LONGER."""
    what = f"cell {cell.name}, {' '.join(map(str, program.words[1:] or program.words))}"
    for times in (factor, factor * LONGER):
        said = _measure_once(program, cell, arguments.seconds * times, arguments.warmup * times, what)
        if said["calls"]:
            return said
    raise Failure(f"{what}: the client finished no call; use a longer --seconds")


def _measure_once(program, cell, seconds, warmup, what):
    before = CpuUse.now()
    server = Server(program.command("server", SERVER_CPU, "--listen", "tcp://127.0.0.1:0"))
    try:
        report, client_used = report_of(program.command(
            "client", CLIENT_CPU, "--connect", server.url, "--size", str(cell.size), "--depth", str(cell.depth),
            "--connections", str(cell.connections), "--seconds", str(seconds), "--warmup", str(warmup), "--json",
            *program.client_flags), what)
    finally:
        server_used = server.stop()
    others, steal = CpuUse.now().shares_since(before, client_used.seconds + server_used.seconds)
    return report | {"others": others, "steal": steal, "server_seconds": server_used.seconds, "server_bytes": server_used.peak_bytes,
                     "client_bytes": client_used.peak_bytes}


def add_warmup_flag(parser, seconds=0.2):
    parser.add_argument("--warmup", type=float, default=seconds, help=f"warm-up before each (default {seconds:g})")


def complaint(arguments):
    return "--warmup must be at least 0" if arguments.warmup < 0 else None
