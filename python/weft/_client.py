# SPDX-License-Identifier: Apache-2.0
"""The parts of both clients: options, descriptions of functions, and values as dataclasses."""

from __future__ import annotations

import dataclasses
import datetime
import logging
import sys
import typing
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _core
from ._types import RpcError, StatusCode

Timeout = Union[float, int, datetime.timedelta, None]

LOG = logging.getLogger("weft")
LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)

#: The function by which a server describes its others.
DESCRIBE = _core.Method.function(
    "weft.functions.v1",
    "(string) -> ([{name: string, types: string, schema: u32, takes_stream: bool, gives_stream: bool}])",
)


def core_options(
    connect_timeout: Timeout,
    timeout: Timeout,
    ca_file: Optional[str],
    certificate_file: Optional[str],
    key_file: Optional[str],
    server_name: Optional[str],
    insecure: bool,
) -> Dict[str, Any]:
    return {
        "connect_timeout": _seconds_or(connect_timeout, 5.0),
        "call_timeout": _seconds_or(timeout, 30.0),
        "ca_file": ca_file or "",
        "certificate_file": certificate_file or "",
        "key_file": key_file or "",
        "server_name": server_name or "",
        "insecure": insecure,
    }


def seconds(timeout: Timeout) -> Optional[float]:
    if isinstance(timeout, datetime.timedelta):
        return timeout.total_seconds()
    return timeout


def _seconds_or(timeout: Timeout, otherwise: float) -> float:
    its = seconds(timeout)
    return otherwise if its is None else its


def write_log(lines: List[Tuple[int, str]]) -> None:
    for level, text in lines:
        LOG.log(LEVELS[level], "%s", text)


def methods_of(described: List[Dict[str, Any]]) -> List[_core.Method]:
    return [
        _core.Method.described(each["name"], each["types"], each["schema"], each["takes_stream"], each["gives_stream"])
        for each in described
    ]


def the_only(name: str, methods: List[_core.Method]) -> _core.Method:
    """The method called `name`, which the server described."""
    if not methods:
        raise RpcError(StatusCode.UNIMPLEMENTED, f"the server has no function '{name}' that may be called", layer="rpc")
    if len(methods) > 1:
        types = "; ".join(method.types for method in methods)
        raise RpcError(
            StatusCode.FAILED_PRECONDITION, f"the server has several functions '{name}': {types}", layer="rpc"
        )
    return methods[0]


def streams_only(method: _core.Method, wanted: bool) -> None:
    if (method.takes_stream or method.gives_stream) == wanted:
        return
    instead = "call() it" if wanted else "open it by stream()"
    raise TypeError(f"{method.name}{' does not stream' if wanted else ' streams'}: {instead}")


def build(kind: Any, value: Any) -> Any:
    """`value`, which was decoded, as the type `kind`: dataclasses, and lists, tuples, dicts and optionals of them."""
    if kind is None or kind is Any or value is None:
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        fields = {each.name for each in dataclasses.fields(kind) if each.init}
        return kind(**{name: build(hints[name], its) for name, its in value.items() if name in fields})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Union or (sys.version_info >= (3, 10) and origin is _union_type()):
        inner = [each for each in arguments if each is not type(None)]
        return build(inner[0], value) if len(inner) == 1 else value
    if origin in (list, set, frozenset) and arguments:
        return origin(build(arguments[0], each) for each in value)
    if origin is dict and arguments:
        return {build(arguments[0], key): build(arguments[1], its) for key, its in value.items()}
    if origin is tuple and arguments:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(build(arguments[0], each) for each in value)
        return tuple(build(of, each) for of, each in zip(arguments, value))
    if isinstance(kind, type) and not isinstance(value, kind):
        return kind(value)
    return value


def _union_type() -> Any:
    import types

    return types.UnionType  # type: ignore[attr-defined,unused-ignore]
