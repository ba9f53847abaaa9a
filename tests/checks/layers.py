# SPDX-License-Identifier: Apache-2.0
"""Includes go down only: each #include of include/ and src/ must be an edge of layers.txt, and each edge an #include.

A layer names only layers that stand above it in layers.txt. upward_edges.txt lists the includes that still go the other
way, with their number, which may only shrink.

Tools and benchmarks stand above all layers and include weft/detail of any, but no header of src/; the examples include
what users do, which front_door.py says.
"""

import pathlib
import re
from collections.abc import Iterator

from project_files import ROOT, cpp_files, read

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
# These libraries stay behind our headers, except in the bindings that wrap exactly them.
FOREIGN = re.compile(r"^(ucp/|uct/|ucs/|infiniband/|rdma/|liburing|openssl/|google/protobuf/|nghttp2/)")
BINDINGS = ("include/weft/detail/ucx/", "include/weft/detail/verbs/", "include/weft/detail/protobuf/",
            "include/weft/detail/fleet/protobuf/")
# Headers of the front door (include/weft/x.hpp) that are of another layer than the one of their name, or weft.
FRONT = {"asio": "adapters", "codec": "functions", "grpc": "calls/grpc", "sender": "adapters", "protobuf_fleet": "fleet/protobuf"}
# Programs beside the layers, whose own headers are found below these folders.
PROGRAMS = ("tools", "bench", "examples")


def allowed_edges() -> dict[str, set[str]]:
    edges = {}
    for line in (ROOT / "tests/checks/layers.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            layer, _, below = line.partition(":")
            edges[layer.strip()] = set(below.split())
    return edges


def upward_edges() -> dict[tuple[str, str], int]:
    edges = {}
    for line in (ROOT / "tests/checks/upward_edges.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            layer, above, count = line.split()[:3]
            edges[layer, above] = int(count)
    return edges


def order_problems(edges: dict[str, set[str]]) -> Iterator[str]:
    seen: set[str] = set()
    for layer, below in edges.items():
        for other in sorted(below - seen):
            yield f"tests/checks/layers.txt: {layer} names {other}, which does not stand above its line"
        seen.add(layer)


def count_problems(upward: dict[tuple[str, str], int], found: dict[tuple[str, str], int]) -> Iterator[str]:
    for edge, limit in upward.items():
        count = found.get(edge, 0)
        if count > limit:
            yield f"{edge[0]} includes {edge[1]} {count} times, and {limit} are allowed: includes go down only"
        elif count < limit:
            yield f"tests/checks/upward_edges.txt: {edge[0]} includes {edge[1]} {count} times now; lower its number"


def layer_of(parts: tuple[str, ...], edges: dict[str, set[str]]) -> str | None:
    """The layer of a path below include/weft/ or src/: its longest folder that is a layer; detail/ is none.

    A header of include/weft itself is of the layer whose name it has, if FRONT has no other, or else of weft.
    """
    if parts[0] == "detail":
        parts = parts[1:]
    if len(parts) == 1:
        name = pathlib.PurePosixPath(parts[0]).stem
        return FRONT.get(name, name if name in edges else "weft")
    for length in (2, 1):
        candidate = "/".join(parts[:-1][:length])
        if candidate in edges:
            return candidate
    return None


def unused_edges(edges: dict[str, set[str]], used: dict[str, set[str]]) -> Iterator[str]:
    """What nobody includes is not allowed either: the first one who does is to be seen in layers.txt."""
    for layer, allowed in edges.items():
        for below in sorted(allowed - used.get(layer, set())):
            yield f"tests/checks/layers.txt: nothing of {layer} includes {below}; remove it from its line"


def judge_program(path: pathlib.Path, included: str, edges: dict[str, set[str]]) -> str | None:
    """What is wrong with an #include of a program; its own header may be called like one of src/."""
    parts = pathlib.PurePosixPath(included).parts
    if parts[0] == "weft":
        return None if layer_of(parts[1:], edges) else f"{path}: includes {included}, which is in no layer"
    own = any((ROOT / folder / included).is_file() for folder in (path.parent, *PROGRAMS))
    if not own and (ROOT / "src" / included).is_file():
        return f"{path}: a program includes the private header {included}"
    return None


def problems() -> Iterator[str]:
    edges = allowed_edges()
    upward = upward_edges()
    found_upward: dict[tuple[str, str], int] = {}
    used: dict[str, set[str]] = {}
    for path in cpp_files():
        public = path.parts[:2] == ("include", "weft")
        if path.parts[0] in PROGRAMS:
            found = (judge_program(path, match.group(1), edges) for match in INCLUDE.finditer(read(path)))
            yield from filter(None, found)
        if not public and path.parts[0] != "src":
            continue
        own = layer_of(path.parts[2:] if public else path.parts[1:], edges)
        if own is None:
            yield f"{path}: its folder is no layer of layers.txt"
            continue
        for match in INCLUDE.finditer(read(path)):
            layers = set(layer_of_include(match.group(1), edges))
            risen = {(own, layer) for layer in layers} & upward.keys()
            for edge in risen:
                found_upward[edge] = found_upward.get(edge, 0) + 1
            problem = None if risen else judge(path, public, own, match.group(1), edges)
            if problem:
                yield problem
            used.setdefault(own, set()).update(layers)
    yield from order_problems(edges)
    yield from count_problems(upward, found_upward)
    yield from unused_edges(edges, used)


def layer_of_include(included: str, edges: dict[str, set[str]]) -> Iterator[str]:
    """The layer that `included` is in, if it is a header of ours."""
    parts = pathlib.PurePosixPath(included).parts
    ours = parts[1:] if parts[0] == "weft" else parts if (ROOT / "src" / included).is_file() else ()
    layer = layer_of(ours, edges) if ours else None
    if layer is not None:
        yield layer


def judge(path: pathlib.Path, public: bool, own: str, included: str, edges: dict[str, set[str]]) -> str | None:
    parts = pathlib.PurePosixPath(included).parts
    if FOREIGN.match(included):
        if public and not str(path).startswith(BINDINGS):
            return f"{path}: a public header includes <{included}>"
        return None
    if parts[0] == "weft":
        below = layer_of(parts[1:], edges)
        if below is None:
            return f"{path}: includes {included}, which is in no layer"
        if below != own and below not in edges[own]:
            return f"{path}: {own} must not know {below} ({included})"
    elif (ROOT / "src" / included).is_file():
        if public:
            return f"{path}: a public header includes the private {included}"
        # The transports, below transport, share its stream machinery; the layers of calls share their headers.
        owner = layer_of(parts, edges)
        shares = own.startswith(f"{owner}/") or (owner in edges[own] and owner.split("/")[0] == own.split("/")[0])
        if owner != own and not shares:
            return f"{path}: includes the private header of another layer ({included})"
    return None
