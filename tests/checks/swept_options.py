# SPDX-License-Identifier: Apache-2.0
"""A test sets each field of each public struct of options to its extremes.

The compiler finds the fields. LISTS name the structs, and the compiler checks that a sweep reaches each of them; this finds the
structs in the headers, so that a new one is not forgotten. ELSEWHERE are those that no sweep reaches, each with its reason.
"""

import pathlib
import re
from collections.abc import Iterator

from project_files import cpp_files, read

LISTS = [
    pathlib.Path("tests/simulation/options_sweep_test.cpp"),
    pathlib.Path("tests/integration/rpc/transport_options_sweep_test.cpp"),
    pathlib.Path("tests/integration/verbs/options_sweep_test.cpp"),
]
ELSEWHERE = {
    "AmReceiverOptions": "UCX binding: numbers that bound a queue",
    "AmSendOptions": "UCX binding: a choice of two protocols",
    "BulkHostOptions": "a limit of regions, in bulk_test",
    "CodecLimits": "constants",
    "CompletionQueueOptions": "verbs binding: the device refuses them",
    "ConnectionOptions": "not public: RpcLimits make it",
    "ConnectOptions": "not public, and in the verbs binding: the device refuses them",
    "ContextOptions": "UCX binding: UCX refuses them",
    "EndpointOptions": "UCX binding: one mode and one function",
    "GrpcOptions": "grpc_hostile_test has their extremes, where gRPC is built",
    "FrameLimits": "not public: RpcLimits make it",
    "Limits": "not public: RpcLimits make it",
    "ListenerOptions": "UCX binding: UCX refuses them",
    "Policy": "not public: RpcLimits make it",
    "QueuePairOptions": "verbs binding: the device refuses them",
    "RequestLimits": "not public: request_head_test has their extremes",
    "TransportOptions": "its parts are swept, each with its transport",
    "ServicesOptions": "one bool",
    "SharedReceiveQueueOptions": "verbs binding: the device refuses them",
    "WorkerOptions": "UCX binding: numbers that bound a turn",
}
OPTIONS = re.compile(r"^\s*struct (\w*(?:Options|Policy|Retry|Limits|Rate|Link|Faults)|TlsCertificate)\b[^;]*$", re.MULTILINE)
LIST = re.compile(r"using Listed =\s+[\w:]+<([^;]*)>;", re.DOTALL)


def problems() -> Iterator[str]:
    structs = {name: path for path in cpp_files() if path.parts[0] == "include" for name in OPTIONS.findall(read(path))}
    listed: set[str] = set()
    for path in LISTS:
        found = LIST.search(read(path))
        if found is None:
            yield f"{path}: there is no list of the structs that it sweeps (using Listed = ...)"
        else:
            listed.update(re.findall(r"\w+", found[1].replace("detail::", "")))
    for name in sorted(structs.keys() - listed - ELSEWHERE.keys()):
        yield f"{structs[name]}: no test sets the fields of {name} to their extremes; add it to a sweep ({LISTS[0]})"
    for name in sorted((listed | ELSEWHERE.keys()) - structs.keys()):
        yield f"tests/checks/swept_options.py: there are no options called {name}"
