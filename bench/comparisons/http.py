# SPDX-License-Identifier: Apache-2.0
"""JSON over HTTP: weft::http() against a bare loop, nginx and uvicorn."""
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from . import table
from .cell_result import CellResult
from .cells import Cell
from .comparison import Comparison
from .failure import Failure
from .machine import CLIENT_CPU, SERVER_CPU, CpuUse
from .programs import START_SECONDS, Server, find_tool, free_port, on, output_of
from .rounds import interleaved

PYTHON = "/usr/bin/python3"  # the one that has Debian's packages
TEXT_BYTES = 128
BODY = '["' + "x" * TEXT_BYTES + '"]'
HEADINGS = ["connections", "limit/s", "Weft/s", "ratio", "spread", "nginx/s", "uvicorn/s", "p50 limit", "p50 Weft",
            "p50 nginx", "p99 limit", "p99 Weft", "p99 nginx", "p99 uvicorn", "others"]


@dataclasses.dataclass(frozen=True)
class HttpCell(Cell):
    connections: int

    metric = "calls_per_s"
    unit = "requests/s"
    pairs = (("Weft", "limit"), ("Weft", "nginx"), ("Weft", "uvicorn"))
    goal = 0.7

    def goal_of(self, side, by):
        return self.goal if by == "limit" else None

    @property
    def name(self):
        return f"{self.connections} connections"


class Http(Comparison):
    name = "http"
    about = f"""Holds functions that are called by HTTP with JSON against a bare HTTP echo loop, nginx and uvicorn.

Each request has a text of {TEXT_BYTES} bytes in a JSON array, and the answer is that text: Weft reads and writes the JSON
and calls a function, the limit sends the body back, nginx sends a text that never changes, and uvicorn has FastAPI call
a coroutine. Servers have one thread on processor 0, wrk is on processor 1. nginx and uvicorn are left out where they are
not installed.
"""
    examples = """examples:
  bench/compare http build/release
  bench/compare http build/release --connections 64 --rounds 9 --seconds 2
"""
    title = "HTTP with JSON, by Weft and by others"
    seconds = 2.0

    def add_flags(self, parser):
        parser.add_argument("--connections", default="1,64,256", help="numbers of connections (default 1,64,256)")

    def complaint(self, arguments):
        if all(number.isdecimal() and int(number) > 0 for number in arguments.connections.split(",")):
            return None
        return "--connections takes numbers from 1 on, with commas between them"

    def results(self, arguments):
        if shutil.which("wrk") is None:
            raise Failure("wrk makes the requests and is not installed: ./dev setup http")
        sides = find_sides(arguments.build_dir)
        cells = [HttpCell(int(number)) for number in arguments.connections.split(",")]
        with tempfile.TemporaryDirectory() as folder:
            def measure_one(cell, name):
                return measure(sides[name], cell, arguments.seconds, pathlib.Path(folder))

            for cell, found in interleaved(cells, lambda _: list(sides), arguments.rounds, measure_one):
                yield CellResult(cell, found)

    def render(self, facts, results):
        return "\n".join([
            *table.heading(facts, f"{facts['seconds']:g} s each, "), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
            "Medians of the rounds; ratio: Weft by the limit; spread: its lowest and highest of a round; times in microseconds;",
            "others: the largest share of the processors' time that other programs had."])


def find_sides(build_dir):
    """What starts a server of each, as context managers of the URL that is called and of the body."""
    weft = build_dir / "bench" / "http_echo"
    if not os.access(weft, os.X_OK):
        raise Failure(f"there is no {weft}; build it first: ./dev build --target weft_benchmarks")
    tool = find_tool(build_dir)
    sides = {"limit": lambda _: _program([tool, "raw", "server", "--http", "--listen", "tcp://127.0.0.1:0"], "/"),
             "Weft": lambda _: _program([weft, "tcp://127.0.0.1:0"], "/functions/http_bench::echo")}
    if shutil.which("nginx") or os.access("/usr/sbin/nginx", os.X_OK):
        sides["nginx"] = _nginx
    if subprocess.run([PYTHON, "-c", "import fastapi, uvicorn"], capture_output=True, check=False).returncode == 0:
        sides["uvicorn"] = _uvicorn
    return sides


def measure(side, cell, seconds, folder):
    before, ours_before = CpuUse.now(), _children_seconds()
    script = folder / "post.lua"
    script.write_text(f"wrk.method = 'POST'\nwrk.body = '{BODY}'\nwrk.headers['Content-Type'] = 'application/json'\n")
    with side(folder) as url:
        said = output_of(on(CLIENT_CPU, ["wrk", "-t1", f"-c{cell.connections}", f"-d{seconds:g}s", "--latency", "-s", script,
                                         url]), url, seconds + START_SECONDS)
    found = parse(said, url)
    others, _ = CpuUse.now().shares_since(before, _children_seconds() - ours_before)
    return found | {"others": others}


def parse(said, url):
    """What wrk says, as numbers."""
    wrong = re.search(r"Non-2xx or 3xx responses: \d+|Socket errors: .*", said)
    if wrong:
        raise Failure(f"{url}: {wrong.group()}")
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", said)
    times = {share: re.search(rf"\s{share}%\s+([0-9.]+)(us|ms|s)\b", said) for share in (50, 99)}
    if rate is None or None in times.values():
        raise Failure(f"wrk said something else than was expected: {said}")
    scale = {"us": 1, "ms": 1_000, "s": 1_000_000}
    return {"calls_per_s": float(rate.group(1))} | {
        f"p{share}_us": float(found.group(1)) * scale[found.group(2)] for share, found in times.items()}


@contextlib.contextmanager
def _program(command, path):
    server = Server(on(SERVER_CPU, [str(word) for word in command]))
    try:
        yield "http" + server.url.removeprefix("tcp") + path
    finally:
        server.stop()


@contextlib.contextmanager
def _nginx(folder):
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(f"""
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/body; default_type application/json;
  proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 '"{"x" * TEXT_BYTES}"'; }} }}
}}
""")
    with _process(["/usr/sbin/nginx" if not shutil.which("nginx") else "nginx", "-c", str(config), "-p", str(folder)],
                  f"http://127.0.0.1:{port}/") as url:
        yield url


@contextlib.contextmanager
def _uvicorn(folder):
    port = free_port()
    (folder / "echo_app.py").write_text("from fastapi import Body, FastAPI\napp = FastAPI()\n"
                                        "@app.post('/')\nasync def echo(body: list[str] = Body()):\n    return body[0]\n")
    with _process([PYTHON, "-m", "uvicorn", "--app-dir", str(folder), "--port", str(port), "--no-access-log", "--log-level", "critical",
                   "echo_app:app"], f"http://127.0.0.1:{port}/") as url:
        yield url


@contextlib.contextmanager
def _process(command, url):
    process = subprocess.Popen(on(SERVER_CPU, command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


def _wait_for(url, process):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        request = urllib.request.Request(url, data=BODY.encode(), headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=START_SECONDS):
                return
        except urllib.error.HTTPError as refusal:
            raise Failure(f"{url}: {refusal}") from refusal
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise Failure(f"{process.args[3]} did not start: {process.stderr.read().strip()}")


def _children_seconds():
    times = os.times()
    return times.children_user + times.children_system


def _row(result):
    def of(side, key=None):
        return table.number(result.median(side, key)) if side in result.sides else "-"

    return [str(result.cell.connections), of("limit"), of("Weft"), *table.ratio(result, "Weft", "limit"), of("nginx"),
            of("uvicorn"), *(of(side, "p50_us") for side in ("limit", "Weft", "nginx")),
            *(of(side, "p99_us") for side in ("limit", "Weft", "nginx", "uvicorn")), table.share(result.worst("others"))]
