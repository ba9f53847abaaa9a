# SPDX-License-Identifier: Apache-2.0
"""The console of a server in a headless Chromium: what it shows, by keyboard and on a phone, in light and dark.

console_test.py <chromium> <weft_console_server>
"""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator

from chromium import Chromium

TOKEN = "secret-of-ann"
CONTRAST_MIN = 4.5


@contextlib.contextmanager
def served(program: str, *words: str) -> Iterator[str]:
    """A server; its address."""
    server = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip().removeprefix("tcp://")
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def browser(program: str) -> Iterator[Chromium]:
    chromium = Chromium(program)
    try:
        yield chromium
    finally:
        chromium.close()


def ask(address: str, method: str, path: str, body: str | None = None) -> dict | int:
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(method, path, body)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


@contextlib.contextmanager
def busy(address: str) -> Iterator[None]:
    """Calls the server all the time."""
    ends = threading.Event()

    def call() -> None:
        connection = http.client.HTTPConnection(address, timeout=30)
        number = 0
        while not ends.is_set():
            number += 1
            connection.request("POST", "/functions/shop::half", f"[{2 if number % 10 else 1}]")
            connection.getresponse().read()
        connection.close()

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def expect(what: str, holds: object) -> None:
    if not holds:
        sys.exit(f"console: {what}")


def check_shows_calls(page: Chromium, address: str) -> None:
    for number in (2, 4, 6, 1):
        ask(address, "POST", "/functions/shop::half", f"[{number}]")
    ask(address, "POST", "/functions/shop::rest", "[150]")
    page.open(f"http://{address}/console")
    page.wait_for("byId('health').textContent === 'ready'")
    expect("the host is shown", page.value("byId('host').textContent") == address)
    page.wait_for("rowsOfMethods.get('shop::half').children[6].textContent === '4'")
    page.wait_for("byId('failed').textContent.includes('odd number')")
    page.wait_for("byId('slow').textContent.includes('shop::rest')")
    with busy(address):
        page.wait_for("Number(document.querySelector('#tiles dd').textContent.replace('k', '')) > 0")
        page.wait_for("/p50 [0-9.]+ .s, p99 [0-9.]+ m?.s/.test(byId('chart-latency').getAttribute('aria-label'))")
        page.wait_for("/errors.s [0-9.k]+/.test(byId('chart-errors').getAttribute('aria-label'))")
        page.wait_for("[...document.querySelectorAll('.plot')].every("
                      "  plot => [...plot.querySelectorAll('path')].some(path => path.getAttribute('d').length > 10))")
        page.wait_for("/0 [0-9.]+ %, 1 [0-9.]+ %/.test(byId('chart-loops').getAttribute('aria-label'))")
    labels = page.value("[...document.querySelectorAll('.plot')].map(plot => plot.getAttribute('aria-label'))")
    expect(f"each of the six charts says what it shows: {labels}", len(labels) == 6 and all(": " in each for each in labels))


def check_keyboard(page: Chromium) -> None:
    reached = []
    page.value("document.activeElement.blur()")
    for _ in range(30):
        page.press("Tab")
        reached.append(page.value("document.activeElement.id || document.activeElement.className || document.activeElement.textContent"))
    for stop in ("skip", "range", "pause", "chart-calls", "chart-connections", "name", "level"):
        expect(f"the tabulator reaches {stop}: {reached}", stop in reached)
    expect("the skip link comes first", reached[0] == "skip")
    page.value("byId('chart-calls').focus()")
    page.press("ArrowLeft")
    expect("arrows move a cursor through all charts", page.value("document.querySelectorAll('.plot .cursor').length") == 6)
    expect("the legend tells the time", page.value("kCharts[0].legend.textContent").endswith("s ago"))
    page.press("Home")
    page.press("Escape")
    expect("Escape removes it", page.value("document.querySelectorAll('.plot .cursor').length") == 0)
    page.value("rowsOfMethods.get('shop::half').querySelector('button').focus()")
    page.press("Enter")
    expect("a method is chosen", page.value("kCharts[1].heading.textContent") == "Duration of shop::half")
    expect("and told to be", page.value("document.activeElement.getAttribute('aria-pressed')") == "true")
    page.press("Enter")
    expect("and given up", page.value("kCharts[1].heading.textContent") == "Duration of calls")
    page.value("byId('pause').focus()")
    page.press("Enter")
    expect("it pauses", page.value("state.paused && byId('pause').textContent === 'Continue'"))
    page.press("Enter")
    expect("it goes on", page.value("!state.paused"))


def check_log_level(page: Chromium, address: str) -> None:
    page.value("const level = byId('level'); level.value = 'debug'; level.dispatchEvent(new Event('change'))")
    for _ in range(10_000):
        if ask(address, "GET", "/log") == {"level": "debug"}:
            return
    sys.exit("console: the level of the log was not set")


def contrast(page: Chromium, front: str, back: str) -> float:
    """The contrast of two colours by the rules of WCAG 2."""
    def light(name: str) -> float:
        digits = page.value(f"getComputedStyle(document.documentElement).getPropertyValue('{name}').trim()")
        parts = [int(digits[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    lights = sorted((light(front), light(back)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def check_looks(page: Chromium) -> None:
    backgrounds = []
    for scheme in ("light", "dark"):
        page.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        backgrounds.append(page.value("getComputedStyle(document.documentElement).backgroundColor"))
        for front in ("--text", "--soft", "--good", "--bad", "--warn", "--focus"):
            ratio = contrast(page, front, "--card")
            expect(f"{front} can be read in {scheme}: {ratio:.1f}", ratio >= CONTRAST_MIN)
    expect("light and dark differ", backgrounds[0] != backgrounds[1])
    for width in (320, 390, 768, 1360):
        page.do("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 700)
        wide = page.value("document.documentElement.scrollWidth")
        expect(f"a page of {width} pixels is {wide} wide", wide <= width)
    page.wait_for("kCharts.every(chart => chart.plot.firstChild.getAttribute('viewBox').split(' ')[2] == chart.plot.clientWidth)")


def check_is_self_contained(page: Chromium, address: str) -> None:
    requests = [event["params"]["request"]["url"] for event in page.events if event.get("method") == "Network.requestWillBeSent"]
    expect(f"only this server is asked: {set(requests)}",
           requests and all(url.startswith((f"http://{address}/", "data:")) for url in requests))
    answer = next(event["params"]["response"] for event in page.events if event.get("method") == "Network.responseReceived"
                  and event["params"]["response"]["url"].endswith("/console"))
    policy = {name.lower(): value for name, value in answer["headers"].items()}["content-security-policy"]
    expect(f"a strict policy: {policy}", policy.startswith("default-src 'none'") and "unsafe" not in policy and "*" not in policy)
    complaints = [event for event in page.events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    expect(f"no complaint of the browser: {complaints}", not complaints)
    evaluated = page.value("new Promise(done => { document.addEventListener('securitypolicyviolation', event => done(event.violatedDirective));"
                           " const script = document.createElement('script'); script.textContent = 'window.injected = true';"
                           " document.body.append(script); })")
    expect("the browser obeys the policy", evaluated.startswith("script-src") and page.value("window.injected") is None)


def check_needs_token(page: Chromium, address: str) -> None:
    page.open(f"http://{address}/console")
    page.wait_for("byId('health').textContent === 'no access' && !byId('access').hidden")
    page.value("byId('token').focus()")
    page.do("Input.insertText", text=TOKEN)
    page.press("Enter")
    page.wait_for("byId('health').textContent === 'ready' && byId('access').hidden")


def main() -> None:
    chromium, program = sys.argv[1:]
    with browser(chromium) as page:
        with served(program) as address:
            check_shows_calls(page, address)
            check_keyboard(page)
            check_log_level(page, address)
            check_looks(page)
            check_is_self_contained(page, address)
        page.wait_for("byId('health').textContent === 'no answer'")
    with browser(chromium) as page, served(program, TOKEN) as address:
        check_needs_token(page, address)
    print("console: all checks passed")


if __name__ == "__main__":
    main()
