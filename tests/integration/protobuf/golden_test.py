# SPDX-License-Identifier: Apache-2.0
"""What protoc-gen-weft makes of golden/*.proto is what stands beside them, and what it refuses it names.

golden_test.py <protoc> <protoc-gen-weft> [--write]
"""

import difflib
import pathlib
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
# The .proto, and the generator's parameter.
MADE = {"greeter": "", "streams": "", "fleets": "fleets"}
REFUSED = {
    ("lite", ""): ["lite.proto", "LITE_RUNTIME"],
    ("greeter", "colour=red"): ["colour=red"],
    ("names", ""): ["names.proto", "service Odd", "OddServer", "rename"],
    ("taken", ""): ["taken.proto", "service weft.golden.Greeter", "GreeterStub", "rename"],
    ("fleets_taken", "fleets"): ["fleets_taken.proto", "service weft.golden.Greeter", "GreeterFleetStub", "rename"],
}


def generate(protoc: str, plugin: str, name: str, parameter: str, into: str) -> subprocess.CompletedProcess[str]:
    out = f"{parameter}:{into}" if parameter else into
    command = [protoc, f"--proto_path={GOLDEN}", f"--plugin=protoc-gen-weft={plugin}", f"--weft_out={out}", f"{name}.proto"]
    return subprocess.run(command, capture_output=True, text=True)


def differs(made: pathlib.Path, write: bool) -> bool:
    kept = GOLDEN / f"{made.name}.txt"
    text = made.read_text()
    if write:
        kept.write_text(text)
    expected = kept.read_text() if kept.exists() else ""
    if text == expected:
        return False
    print("\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(), kept.name, "made", lineterm="")))
    return True


def main(protoc: str, plugin: str, write: bool) -> int:
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, parameter in MADE.items():
            done = generate(protoc, plugin, name, parameter, folder)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr}")
            for ending in ("hpp", "cpp"):
                failed |= differs(pathlib.Path(folder) / f"{name}.weft.{ending}", write)
        for (name, parameter), words in REFUSED.items():
            done = generate(protoc, plugin, name, parameter, folder)
            missing = [word for word in words if word not in done.stderr]
            if done.returncode == 0 or missing:
                print(f"{name} with '{parameter}' was to be refused by a text with {words}, but: {done.stderr or 'success'}")
                failed = True
    return 1 if failed else 0


sys.exit(main(sys.argv[1], sys.argv[2], "--write" in sys.argv[3:]))
