# SPDX-License-Identifier: Apache-2.0
"""CR-11: the scripts that complete command lines, run by bash, and by zsh where it is installed; the pages of the manual, shown by man.

completion_test.py <weft> <weft_functions_server>
"""

import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

SECONDS = 30
# Completes a line as bash does, and prints the answers in their order.
ASK_BASH = """
source "$1"
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_LINE="$2"
COMP_POINT=${#COMP_LINE}
_weft
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh completes only in its line editor, so a file with the functions that it would call takes their place.
ASK_ZSH = """
compdef() { :; }
compadd() { [[ $1 == -a ]] && print -l -- ${(P)2}; }
_describe() { print -l -- ${${(P)2}%%:*}; }
_files() { print files; }
source $1
words=(${(z)2})
[[ $2 == *' ' ]] && words+=('')
CURRENT=${#words}
_weft
"""


def run(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, input=given)


def expect(what: str, holds: bool, told: object) -> None:
    if not holds:
        sys.exit(f"{what}: {told}")


def answers(shell: str, ask: str, script: pathlib.Path, line: str) -> set[str]:
    done = run(shell, "-c", ask, shell, str(script), line)
    expect(f"{shell}: {line!r}", done.returncode == 0 and done.stderr == "", done)
    return set(done.stdout.split())


def check_bash(program: str, url: str, folder: pathlib.Path) -> None:
    script = folder / "weft.bash"
    script.write_text(run(program, "completion", "bash").stdout)
    (folder / "ca.pem").write_text("")

    def ask(line: str) -> set[str]:
        return answers("bash", ASK_BASH, script, line)

    expect("commands", {"list", "call", "ping", "perf", "completion"} <= ask("weft "), ask("weft "))
    expect("a command that begins so", ask("weft desc") == {"describe"}, ask("weft desc"))
    expect("commands of a group", ask("weft perf ") == {"server", "client"}, ask("weft perf "))
    expect("options of a command", ask("weft list tcp://h:1 --time") == {"--timeout"}, ask("weft list tcp://h:1 --time"))
    expect("options of a command in a group", "--depth" in ask("weft perf client --"), ask("weft perf client --"))
    expect("no option of another command", "--depth" not in ask("weft list --"), ask("weft list --"))
    expect("a file", ask(f"weft list tcp://h:1 --ca {folder}/ca") == {f"{folder}/ca.pem"}, ask(f"weft list --ca {folder}/ca"))
    expect("a value that is no file", ask("weft list --timeout ") == set(), ask("weft list --timeout "))
    expect("shells", run(program, "completion", "fish").returncode == 2, "fish")
    asked = f"{program} call --timeout 5 {url} shop::t"
    # Bash keeps what stands before the last colon.
    expect("functions of a server", ask(asked) == {"tenant", "twice"}, ask(asked))
    expect("functions of no server", ask(f"{program} call tcp://127.0.0.1:1 x") == set(), "no server")


def check_zsh(program: str, url: str, folder: pathlib.Path) -> None:
    zsh = shutil.which("zsh")
    if zsh is None:
        print("zsh is not installed: its script was not run")
        return
    script = folder / "_weft"
    script.write_text(run(program, "completion", "zsh").stdout)

    def ask(line: str) -> set[str]:
        return answers(zsh, ASK_ZSH, script, line)

    expect("commands", {"list", "call", "perf"} <= ask("weft "), ask("weft "))
    expect("commands of a group", ask("weft perf ") == {"server", "client"}, ask("weft perf "))
    expect("options", "--depth" in ask("weft perf client --"), ask("weft perf client --"))
    expect("a file", ask("weft list tcp://h:1 --ca x") == {"files"}, ask("weft list tcp://h:1 --ca x"))
    expect("functions", "shop::twice" in ask(f"{program} call {url} s"), ask(f"{program} call {url} s"))


def check_pages(program: str, folder: pathlib.Path) -> None:
    expect("pages of all commands", run(program, "man", "--directory", str(folder)).returncode == 0, "--directory")
    pages = {page.name for page in folder.glob("*.1")}
    expect("names of pages", {"weft.1", "weft-call.1", "weft-perf-client.1"} <= pages, pages)
    expect("a page", run(program, "man", "call").stdout == (folder / "weft-call.1").read_text(), "man call")
    expect("no page", run(program, "man", "nonsense").returncode == 1, "man nonsense")
    if shutil.which("man") is None:
        print("man is not installed: the pages were not shown")
        return
    for page in sorted(folder.glob("*.1")):
        done = run("man", "--warnings", "-l", str(page))
        expect(page.name, done.returncode == 0 and "SYNOPSIS" in done.stdout and done.stderr == "", done)
    shown = run("man", "-l", str(folder / "weft-call.1")).stdout
    expect("an example that can be copied", "weft call tcp://127.0.0.1:9000 centre '[[[0,0],[6,0],[0,3]]]'" in shown, shown)


def main(program: str, server: str) -> None:
    process = subprocess.Popen([server, "tcp://127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().strip() if ready else ""
        url = line.removeprefix("listening on ")
        with tempfile.TemporaryDirectory() as name:
            check_bash(program, url, pathlib.Path(name))
            check_zsh(program, url, pathlib.Path(name))
            check_pages(program, pathlib.Path(name))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
