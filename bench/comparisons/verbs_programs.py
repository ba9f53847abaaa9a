# SPDX-License-Identifier: Apache-2.0
"""Runs perftest and `weft perf` on one device."""
import dataclasses
import json
import math
import pathlib
import shutil
import subprocess

from .cells import KIB
from .failure import Failure
from .machine import CLIENT_CPU, SERVER_CPU
from .programs import OneClientServer, Server, free_port, output_of, report_of

# In an emulated machine single runs take many times as long as others.
RUN_SECONDS = 60
WARMUP_SECONDS = 0.2
MIB_PER_S_IN_GBPS = 8 * 1024 * 1024 / 1e9
# Fewer perftest does not do.
LEAST_ITERATIONS = 5
# perftest measures the processor's clock first. When something comes between, it prints nothing but zeros.
ATTEMPTS = 4
# From here on a payload is an attachment: less is an argument.
ATTACHMENT_BYTES_MIN = 64 * KIB


@dataclasses.dataclass(frozen=True)
class Device:
    name: str
    port: int
    gid_index: int

    def not_ready_naks(self):
        """How often it said or heard that there was no receive for a message, by the kernel's count."""
        counters = pathlib.Path(f"/sys/class/infiniband/{self.name}/ports/{self.port}/hw_counters")
        return sum(int(path.read_text()) for path in counters.glob("*rnr*err"))


def find_device(weft):
    """The device, port and address that Weft itself chooses, for both."""
    known = json.loads(subprocess.run([weft, "info", "--json"], capture_output=True, text=True, check=True).stdout)
    for device in known.get("rdma", {}).get("devices", []):
        for port in device["ports"]:
            for gid in port["gids"]:
                if port["chosen"] and gid["chosen"]:
                    return Device(device["name"], port["port"], gid["index"])
    raise Failure("`weft info` finds no RDMA device to use; without --here an emulated machine has one")


def require_perftest(cells):
    for program in {side for cell in cells for side in cell.sides if side.startswith("ib_")}:
        if not shutil.which(program):
            raise Failure(f"{program} is not installed; on Debian it is in perftest")


def measure(weft, device, cell, side, arguments):
    """`side` is a program of perftest or else Weft, with registered or with copied attachments."""
    before = device.not_ready_naks()
    run = _perftest if side.startswith("ib_") else _weft
    value = run(weft, device, cell, side, arguments)
    return {"value": value, "not_ready_naks": device.not_ready_naks() - before}


def _client_cpu(cell):
    return CLIENT_CPU if cell.polls else SERVER_CPU


def _perftest(_, device, cell, program, arguments):
    """Microseconds there and back, messages a second, or Gb/s."""
    for _ in range(ATTEMPTS):
        value = _perftest_once(device, cell, program, arguments)
        if 0 < value < math.inf:
            return value
    raise Failure(f"cell {cell.name}: {program} failed {ATTEMPTS} times to find out how fast the processor's clock is")


def _perftest_once(device, cell, program, arguments):
    port = free_port()
    command = [program, "-F", "-d", device.name, "-i", str(device.port), "-x", str(device.gid_index), "-p", str(port),
               "-s", str(cell.size), "-n", str(max(LEAST_ITERATIONS, int(cell.iterations * arguments.seconds)))]
    if cell.kind != "lat":
        command += ["-t", str(cell.in_flight)]
    # Writes and reads of perftest can only be polled for.
    if not cell.polls and program.startswith("ib_send"):
        command.append("-e")
    server = OneClientServer(["taskset", "-c", str(SERVER_CPU), *command])
    try:
        server.wait_until_listening(port)
        text = output_of(["taskset", "-c", str(_client_cpu(cell)), *command, "127.0.0.1"],
                         f"cell {cell.name}, {program}", RUN_SECONDS)
    finally:
        server.stop()
    return _perftest_value(cell, text)


def _perftest_value(cell, text):
    columns = [line.split() for line in text.splitlines() if line.split()[:1] == [str(cell.size)]]
    if not columns:
        raise Failure(f"cell {cell.name}: this is no table of perftest's:\n{text}")
    # ib_*_lat: size, messages, least, most, typical, ...; ib_*_bw: size, messages, peak, MiB/s, millions a second.
    if cell.kind == "lat":
        return 2 * float(columns[-1][4])
    return float(columns[-1][4]) * 1e6 if cell.kind == "rate" else float(columns[-1][3]) * MIB_PER_S_IN_GBPS


def _weft(weft, device, cell, side, arguments):
    register = ["--register"] if cell.size >= ATTACHMENT_BYTES_MIN and side != "copied" else []
    common = ["--mode", "busy" if cell.polls else "wait", "--rdma-device", device.name, "--rdma-gid-index",
              str(device.gid_index), *register]
    server = Server([weft, "perf", "server", "--listen", "verbs://127.0.0.1:0", "--cpus", str(SERVER_CPU), *common])
    try:
        # An emulated processor may stand still for so long that no call ends in time.
        for attempt in range(ATTEMPTS):
            command = [weft, "perf", "client", "--connect", server.url, "--cpus", str(_client_cpu(cell)), *common,
                       *_payload(cell), "--depth", str(cell.in_flight), "--seconds",
                       str(arguments.seconds * 2**attempt), "--warmup", str(WARMUP_SECONDS), "--json"]
            report, _ = report_of(command, f"cell {cell.name}, {side}")
            if report["errors"]:
                raise Failure(f"cell {cell.name}, {side}: {report['errors']} calls failed")
            value = report[{"lat": "p50_us", "rate": "qps", "bw": "gbps"}[cell.kind]]
            if value:
                return value
    finally:
        server.stop()
    raise Failure(f"cell {cell.name}, {side}: no call ended; use a longer --seconds")


def _payload(cell):
    if cell.kind == "bw":
        return ["--size", "8", "--reply", str(cell.size), "--attachment"]
    if cell.size >= ATTACHMENT_BYTES_MIN:
        # An answer of its own, because what a server received and sends on is copied.
        return ["--size", str(cell.size), "--reply", str(cell.size), "--attachment"]
    return ["--size", str(cell.size)]
