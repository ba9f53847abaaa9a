# SPDX-License-Identifier: Apache-2.0
"""Servers and clients, which are programs of their own."""
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import time

from .failure import Failure

START_SECONDS = 30
END_SECONDS = 10


@dataclasses.dataclass(frozen=True)
class Used:
    """What a process took while it lived."""
    seconds: float  # of processor time
    peak_bytes: int  # of memory that was there at a time; at least what this program itself has

    @classmethod
    def of(cls, usage):
        return cls(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def find_tool(build_dir):
    """The command-line tool."""
    for tool in (build_dir / "tools" / "weft", build_dir / "bin" / "weft", build_dir / "weft"):
        if tool.is_file() and os.access(tool, os.X_OK):
            return tool
    raise Failure(f"there is no weft in {build_dir}; build it first: ./dev build")


def listening_url(process):
    """What a server that was just started says behind "listening on"."""
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline().strip() if ready else ""
    prefix = "listening on "
    if not line.startswith(prefix):
        process.kill()
        complaint = process.stderr.read().strip() if process.stderr else ""
        raise Failure(f"the server did not start: {complaint or line or 'no word'}")
    return line[len(prefix):]


class Server:
    """A fresh server: one that spins must be gone before anything else is measured."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.url = listening_url(self.process)
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """Ends the server and returns what it Used."""
        self.process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.process.stdout.close()
        self.process.stderr.close()
        return Used.of(usage)


class OneClientServer:
    """A server that ends with its first client, as those of ucx_perftest and perftest do."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)

    def wait_until_listening(self, port):
        """Without connecting, which would use up its client."""
        wanted = f":{port:04X} "
        end = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            if any(wanted in line and line.split()[3] == "0A" for line in _sockets()):
                return
            time.sleep(0.01)
        self.process.kill()
        raise Failure(f"{' '.join(self.process.args)}: the server did not listen: {self.process.stdout.read().strip()}")

    def stop(self):
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def on(cpu, command):
    """The command, on one processor."""
    return ["taskset", "-c", str(cpu), *command]


def output_of(command, what, seconds, environment=None):
    """What a client prints, which ends by itself and in time. `what` is for those who read of its failure."""
    try:
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{what}: the client took more than {seconds:.0f} s") from late
    if done.returncode != 0 or not done.stdout.strip():
        raise Failure(f"{what}: the client failed: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def report_of(command, what):
    """The report of a `weft` client as JSON, and what it Used."""
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        output = client.stdout.read()
        complaint = client.stderr.read().strip()
    except BaseException:
        client.kill()
        raise
    finally:
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        client.stdout.close()
        client.stderr.close()
    if client.returncode != 0:
        raise Failure(f"{what}: the client failed: {complaint or client.returncode}")
    return json.loads(output), Used.of(usage)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _sockets():
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as lines:
            yield from lines
