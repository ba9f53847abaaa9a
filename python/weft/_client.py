# SPDX-License-Identifier: Apache-2.0
"""The parts of both clients: options, descriptions of functions, and values as dataclasses."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import logging
import sys
import typing
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _core
from ._types import RpcError, StatusCode, Variant

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


#: Containers that build() makes, by the types that programs name.
_CONTAINERS: Dict[Any, Any] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Sequence: list,
    collections.abc.Set: set,
}
_MAPPINGS = (dict, collections.abc.Mapping)


def build(kind: Any, value: Any) -> Any:
    """`value`, which was decoded, as the type `kind`.

    A value of this type stays as it is. A dataclass is made from a dict, an enum from its number, a float from an int,
    and a list, tuple, set or dict from the containers that messages are decoded as. Raises TypeError for any other value.
    """
    if kind is None or kind is Any:
        return value
    while hasattr(kind, "__supertype__"):
        kind = kind.__supertype__
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Union or (sys.version_info >= (3, 10) and origin is _union_type()):
        return _build_union(kind, arguments, value)
    if origin is typing.Literal:
        return value if value in arguments else _refuse(kind, value)
    container = origin or kind
    if container in _CONTAINERS:
        return _build_elements(kind, _CONTAINERS[container], arguments, value)
    if container in _MAPPINGS:
        return _build_dict(kind, arguments, value)
    if container is tuple:
        return _build_tuple(kind, arguments, value)
    if origin is None and isinstance(kind, type):
        return _build_one(kind, value)
    raise TypeError(f"no values are built as {kind!r}")


def _refuse(kind: Any, value: Any) -> Any:
    wanted = kind.__qualname__ if isinstance(kind, type) and not typing.get_args(kind) else repr(kind)
    raise TypeError(f"a value of type {wanted} is expected, not {type(value).__qualname__}")


def _build_one(kind: Any, value: Any) -> Any:
    if isinstance(value, bool) and kind is int:
        return _refuse(kind, value)
    if isinstance(value, kind):
        return value
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        fields = {each.name for each in dataclasses.fields(kind) if each.init}
        return kind(**{name: build(hints[name], its) for name, its in value.items() if name in fields})
    if issubclass(kind, enum.Enum) and value is not None:
        return kind(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _refuse(kind, value)


def _build_union(kind: Any, alternatives: Tuple[Any, ...], value: Any) -> Any:
    """None, the only other alternative, or the first one that takes the value; a weft.Variant stays as it is."""
    inner = [each for each in alternatives if each is not type(None)]
    if value is None and len(inner) < len(alternatives):
        return None
    if len(inner) == 1:
        return build(inner[0], value)
    if isinstance(value, Variant):
        return value
    for each in inner:
        try:
            return build(each, value)
        except (TypeError, ValueError):
            continue
    return _refuse(kind, value)


def _build_elements(kind: Any, container: Any, arguments: Tuple[Any, ...], value: Any) -> Any:
    # A sequence of bytes is decoded as bytes, and numbers only if the program says so.
    if not isinstance(value, (list, tuple, set, frozenset)) and not (isinstance(value, bytes) and arguments):
        return _refuse(kind, value)
    built = container(build(arguments[0], each) for each in value) if arguments else container(value)
    if len(built) != len(value):
        raise TypeError(f"equal elements are in a value for {kind!r}")
    return built


def _build_tuple(kind: Any, arguments: Tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _refuse(kind, value)
    if not arguments:
        return tuple(value)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(build(arguments[0], each) for each in value)
    if len(arguments) != len(value):
        raise TypeError(f"a tuple of {len(arguments)} values is expected, not one of {len(value)}")
    return tuple(build(of, each) for of, each in zip(arguments, value))


def _build_dict(kind: Any, arguments: Tuple[Any, ...], value: Any) -> Any:
    """From a dict, or from the pairs that a map is decoded as if Python cannot hash its keys."""
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list) and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        pairs = value
    else:
        return _refuse(kind, value)
    key_kind, value_kind = arguments or (None, None)
    built = {build(key_kind, key): build(value_kind, its) for key, its in pairs}
    if len(built) != len(pairs):
        raise TypeError(f"equal keys are in a value for {kind!r}")
    return built


def _union_type() -> Any:
    import types

    return types.UnionType  # type: ignore[attr-defined,unused-ignore]
