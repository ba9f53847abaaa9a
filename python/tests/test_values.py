# SPDX-License-Identifier: Apache-2.0
"""Values of Python to messages and back, by the text of their types, and hostile messages."""

import array
import dataclasses
import datetime
import enum
import math
from typing import Any, Dict, List, NamedTuple, NewType, Optional, Sequence, Set, Tuple, Union

import pytest
import weft
from weft._client import build


def sent(types: str, *values: Any) -> bytes:
    return weft.Method.function("f", f"{types} -> void").encode_arguments(values)


def received(types: str, message: bytes) -> Any:
    return weft.Method.function("f", f"() -> {types}").decode_result(message)


def through(types: str, value: Any) -> Any:
    return received(f"({types})", sent(f"({types})", value))


class Colour(enum.IntEnum):
    RED = 3


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Pair(NamedTuple):
    first: int
    second: str


@pytest.mark.parametrize(
    "types, value",
    [
        ("bool", True),
        ("char", "a"),
        ("char", b"\xff"),
        ("i8", -128),
        ("u8", 255),
        ("i32", -(2**31)),
        ("u64", 2**64 - 1),
        ("i64", -(2**63)),
        ("i128", -(2**127)),
        ("u128", 2**128 - 1),
        ("f64", 0.1),
        ("f64", math.inf),
        ("f32", 0.5),
        ("string", "h\u00e9 \U0001f600 \0"),
        ("string", b"\xff\xfe"),
        ("[u8]", b"\0\1"),
        ("[char]", b""),
        ("[i32]", [1, -2, 3]),
        ("[[string]]", [["a"], [], ["b", "c"]]),
        ("[u8; 3]", b"abc"),
        ("[u16; 2]", [1, 2]),
        ("set[string]", {"a", "b"}),
        ("set[{i32, string}]", {(1, "a"), (2, "b")}),
        ("multiset[i32]", [1, 1]),
        ("map[string: f64]", {"a": 1.5, "": 2.0}),
        ("map[i32: [string]]", {1: ["x"], -2: []}),
        ("multimap[i32: i32]", [(1, 2), (1, 3)]),
        ("map[{x: i32}: string]", [({"x": 1}, "a"), ({"x": 2}, "b")]),
        ("set[{x: i32}]", [{"x": 1}, {"x": 2}]),
        ("map[duration<i64 x 1/1000000>: i32]", {datetime.timedelta(microseconds=1): 2}),
        ("map[duration<i64 x 1/1000000000>: i32]", [(datetime.timedelta(microseconds=1), 2)]),
        ("{x: f64, y: f64}", {"x": 1.0, "y": -2.0}),
        ("{i32, string}", (1, "a")),
        ("{a: {b: {c: i32?}}}", {"a": {"b": {"c": None}}}),
        ("i32?", None),
        ("i32?", 7),
        ("i32??", (None,)),
        ("i32??", (7,)),
        ("i32??", None),
        ("<i32 | string>", weft.Variant(1, "a")),
        ("<i32 | i32>", weft.Variant(1, 5)),
        ("expected<i32, string>", weft.Outcome(False, "no")),
        ("expected<, string>", weft.Outcome(True, None)),
        ("result<i32>", weft.Outcome(True, 4)),
        ("result<>", weft.Outcome(True, None)),
        ("duration<i64 x 1/1000>", datetime.timedelta(milliseconds=-1500)),
        ("duration<i64 x 1/1000000000>", datetime.timedelta(days=1, microseconds=1)),
        ("duration<i32 x 86400/1>", datetime.timedelta(days=-3)),
        ("duration<f64 x 1/7>", 2.5),
        ("time<duration<i64 x 1/1000000>>", datetime.datetime(2026, 11, 29, 1, 2, 3, 4, datetime.timezone.utc)),
        ("steady_time<duration<i64 x 1/1000000000>>", datetime.timedelta(seconds=5)),
    ],
)
def test_values_come_back(types: str, value: Any) -> None:
    back = through(types, value)
    assert back == value
    assert type(back) is type(value)


def test_other_objects_are_values_too() -> None:
    assert through("i32", Colour.RED) == 3
    assert through("f64", 3) == 3.0
    assert through("{x: f64, y: f64}", Point(1, 2)) == {"x": 1.0, "y": 2.0}
    assert through("{x: f64, y: f64}", (1, 2)) == {"x": 1.0, "y": 2.0}
    assert through("{i32, string}", Pair(1, "a")) == (1, "a")
    assert through("[f64]", array.array("d", [1, 2])) == [1.0, 2.0]
    assert through("[i32]", (1, 2)) == [1, 2]
    assert through("[i32]", (each for each in (1, 2))) == [1, 2]
    assert through("[i32]", {1: "a"}.keys()) == [1]
    assert through("[u8]", bytearray(b"ab")) == b"ab"
    assert through("[u8]", memoryview(b"abcd")[::1]) == b"abcd"
    assert through("[u8]", [1, 2]) == b"\1\2"
    assert through("<i32 | string>", "a") == weft.Variant(1, "a")
    assert through("time<duration<i64 x 1/1>>", datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1))))
    error = through("result<i32>", weft.Outcome(False, weft.RpcError(5, "gone"))).value
    assert isinstance(error, weft.RpcError)
    assert (error.code, error.message) == (weft.StatusCode.NOT_FOUND, "gone")


def test_numbers_that_are_not_a_number_come_back() -> None:
    assert math.isnan(through("f64", math.nan))
    assert math.copysign(1, through("f64", -0.0)) == -1


def test_additions_are_none_where_they_are_missing() -> None:
    types = "{a: i32, more: +v2 string, most: +v3 i32}"
    assert through(types, {"a": 1}) == {"a": 1, "more": None, "most": None}
    assert through(types, {"a": 1, "most": 5}) == {"a": 1, "more": None, "most": 5}
    assert received(f"({types})", sent("(i32)", 1)) == {"a": 1, "more": None, "most": None}
    assert through("{i32, +v2 i32}", (1, 2)) == [1, 2]


@pytest.mark.parametrize(
    "types, value, kind, text",
    [
        ("i32", "1", TypeError, "f: arguments[0]: an int is expected, not str"),
        ("i32", True, TypeError, "an int is expected, not bool"),
        ("i32", 1.0, TypeError, "an int is expected, not float"),
        ("i32", 2**31, ValueError, "2147483648 does not fit into a signed integer of 32 bits"),
        ("u8", -1, ValueError, "-1 does not fit into an unsigned integer of 8 bits"),
        ("u64", 2**64, ValueError, "does not fit"),
        ("i128", 2**127, ValueError, "does not fit into a signed integer of 128 bits"),
        ("bool", 1, TypeError, "a bool is expected"),
        ("f64", "1", TypeError, "a float is expected"),
        ("f32", 1e300, ValueError, "too large for a float of 32 bits"),
        ("f128", 1.0, ValueError, "long double"),
        ("string", 1, TypeError, "a str is expected"),
        ("string", "\ud800", ValueError, "surrogate"),
        ("[i32]", "12", TypeError, "a list is expected, not str"),
        ("[i32]", 5, TypeError, "a list is expected, not int"),
        ("[i32]", [1, "x"], TypeError, "arguments[0][1]: an int"),
        ("[u8]", array.array("d", [1.0]), TypeError, "a bytes-like object"),
        ("[u16; 2]", [1], ValueError, "2 elements are expected"),
        ("[u8; 2]", b"abc", ValueError, "2 elements are expected"),
        ("set[i32]", [1, 1], ValueError, "stands twice"),
        ("map[i32: i32]", [1], TypeError, "a dict is expected"),
        ("map[i32: i32]", [(1, 2)], TypeError, "a dict is expected"),
        ("map[{x: i32}: i32]", [({"x": 1}, 2), ({"x": 1}, 3)], ValueError, "stands twice"),
        ("map[string: i32]", {"a": "b"}, TypeError, "arguments[0]['a']: an int"),
        ("{x: {y: f64}}", {"x": {"y": "z"}}, TypeError, "arguments[0].x.y: a float is expected, not str"),
        ("{x: f64}", {}, TypeError, "arguments[0].x: the value is missing"),
        ("{x: f64}", {"x": 1.0, "z": 2}, ValueError, "there is no member 'z'"),
        ("{x: f64}", None, TypeError, "a dict"),
        ("{x: f64}", object(), TypeError, "arguments[0].x: the value is missing"),
        ("{x: f64}", (1, 2), TypeError, "at most 1 values are expected, not 2"),
        ("<i32 | string>", 1.5, TypeError, "one of the alternatives"),
        ("<i32 | i64>", 1, ValueError, "several alternatives fit"),
        ("<i32 | i64>", weft.Variant(2, 1), ValueError, "no 2"),
        ("duration<i64 x 1/1000>", 5, TypeError, "a timedelta is expected"),
        ("duration<i64 x 1/1>", datetime.timedelta(milliseconds=1), ValueError, "no multiple"),
        ("time<duration<i64 x 1/1>>", datetime.datetime(2026, 1, 1), TypeError, "timezone"),
    ],
)
def test_wrong_values_are_named(types: str, value: Any, kind: type, text: str) -> None:
    with pytest.raises(kind) as error:
        sent(f"({types})", value)
    assert text in str(error.value)


@pytest.mark.parametrize("types", ["[u8; 4]", "[char; 4]"])
def test_memory_that_is_not_contiguous_is_refused(types: str) -> None:
    released = memoryview(b"abcd")
    released.release()
    for view in (memoryview(b"abcdefgh")[::2], released):
        with pytest.raises(TypeError, match=r"f: arguments\[0\]: a contiguous bytes-like object is expected"):
            sent(f"({types})", view)
    assert through(types, memoryview(b"abcdefgh")[2:6]) == b"cdef"


@pytest.mark.parametrize(
    "types, value, kind, text",
    [
        ("<i32 | string>", weft.Variant("a", 1), TypeError, "an int as the index of a weft.Variant is expected, not str"),
        ("<i32 | string>", weft.Variant(-1, 1), ValueError, "the variant has 2 alternatives, and no -1"),
        ("<i32 | string>", weft.Variant(2**70, 1), ValueError, "and no 1180591620717411303424"),
        ("result<i32>", weft.Outcome("yes", 1), TypeError, "a bool as the ok of a weft.Outcome is expected, not str"),
        ("result<>", weft.RpcError(5, None), TypeError, "the message of a weft.RpcError: a str is expected, not NoneType"),
        ("result<>", weft.RpcError(5, "\ud800"), ValueError, "the message of a weft.RpcError: the str has a lone surrogate"),
        ("result<>", weft.RpcError(0), ValueError, "the code of a weft.RpcError: a number from 1 to 16 is expected"),
        ("result<>", weft.RpcError(5, native=2**31), ValueError, "the native of a weft.RpcError: a number from"),
        ("result<>", weft.RpcError(5, retry="later"), ValueError, "the retry of a weft.RpcError: 'later' is none"),
        ("result<>", weft.RpcError(5, layer="cake"), ValueError, "the layer of a weft.RpcError: 'cake' is none"),
        ("result<>", weft.RpcError(5, retry_after=math.nan), ValueError, "the retry_after of a weft.RpcError"),
        ("result<>", weft.RpcError(5, retry_after="1"), TypeError, "the retry_after of a weft.RpcError"),
        ("result<>", weft.RpcError(5, details="a"), TypeError, "the details of a weft.RpcError: a bytes is expected"),
        ("result<>", weft.RpcError(5, details=bytes(8193)), ValueError, "at most 8192 bytes"),
    ],
)
def test_wrong_attributes_are_named(types: str, value: Any, kind: type, text: str) -> None:
    with pytest.raises(kind) as error:
        sent(f"({types})", weft.Outcome(False, value) if isinstance(value, weft.RpcError) else value)
    assert str(error.value).startswith("f: arguments[0]")
    assert text in str(error.value)


def test_failures_keep_their_advice() -> None:
    given = weft.RpcError(14, "busy", layer="rpc", retry="backoff", native=-3, retry_after=1.5, details=b"\0more")
    back = through("result<i32>", weft.Outcome(False, given)).value
    for name in ("code", "message", "layer", "retry", "native", "retry_after", "details"):
        assert getattr(back, name) == getattr(given, name)
    alone = through("[result<>]", [weft.Outcome(False, weft.RpcError(2, "a", retry_after=0.25)), weft.Outcome(True, None)])
    assert (alone[0].value.retry_after, alone[0].value.details, alone[1].ok) == (0.25, b"", True)


def test_iterators_are_read_once() -> None:
    assert through("<[i32] | string>", iter([1, 2])) == weft.Variant(0, [1, 2])
    assert through("<[i32] | [string]>", (each for each in "ab")) == weft.Variant(1, ["a", "b"])
    assert through("<string | {a: [i32]}>", weft.Variant(1, {"a": iter([1])})) == weft.Variant(1, {"a": [1]})
    for value in ({"a": iter([1, 2])}, {"a": weft.Variant(0, iter([1, 2]))}):
        member = "[i32]" if not isinstance(value["a"], weft.Variant) else "<[i32] | string>"
        with pytest.raises(TypeError, match="an iterator inside of a variant can be read only once"):
            sent(f"(<string | {{a: {member}}}>)", value)
    assert through("[<[i32] | string>]", (iter([i]) for i in range(3))) == [weft.Variant(0, [i]) for i in range(3)]


def test_many_plain_variants_are_sent() -> None:
    count = 10_000
    assert through("[<i32 | string>]", ["a"] * count) == [weft.Variant(1, "a")] * count
    keys = through("map[i32: <{k: map[i32: i32]} | string>]", {i: {"k": {i: 1, 0: 2}} if i % 2 else "b" for i in range(count)})
    assert keys[3] == weft.Variant(0, {"k": {3: 1, 0: 2}}) and keys[4] == weft.Variant(1, "b") and len(keys) == count
    deep: Any = {"v": 1}
    for _ in range(20):
        deep = {"v": [deep]}
    with pytest.raises(ValueError, match="variants are nested too deeply"):
        sent("({v: <i32 | [^0] | [^0]>})", deep)


@dataclasses.dataclass(frozen=True)
class Spot:
    x: float
    name: Optional[str] = None


@pytest.mark.parametrize(
    "kind, value, built",
    [
        (None, [1], [1]),
        (int, 1, 1),
        (float, 1, 1.0),
        (Colour, 3, Colour.RED),
        (List[Spot], [{"x": 1}, {"x": 2.0, "name": "a", "later": 3}], [Spot(1.0), Spot(2.0, "a")]),
        (Dict[str, Spot], {"a": {"x": 1}}, {"a": Spot(1.0)}),
        (Dict[Spot, int], [({"x": 1}, 2)], {Spot(1.0): 2}),
        (Set[Spot], [{"x": 1}, {"x": 2}], {Spot(1.0), Spot(2.0)}),
        (Sequence[float], (1, 2), [1.0, 2.0]),
        (Tuple[int, float], (1, 2), (1, 2.0)),
        (Tuple[float, ...], [1, 2, 3], (1.0, 2.0, 3.0)),
        (List[int], b"\1\2", [1, 2]),
        (Optional[Spot], None, None),
        (Union[int, str], "a", "a"),
        (Union[int, str], weft.Variant(1, "a"), weft.Variant(1, "a")),
        (NewType("Id", int), 4, 4),
    ],
)
def test_values_are_built(kind: Any, value: Any, built: Any) -> None:
    its = build(kind, value)
    assert its == built
    assert type(its) is type(built)


@pytest.mark.parametrize(
    "kind, value",
    [
        (int, "1"),
        (int, 1.5),
        (int, True),
        (str, 1),
        (str, b"\xff"),
        (bool, 1),
        (bytes, 3),
        (float, "1"),
        (list, "ab"),
        (List[str], "ab"),
        (Spot, None),
        (Spot, [1]),
        (Spot, {}),
        (List[Spot], {"x": 1}),
        (Tuple[int, int], (1, 2, 3)),
        (Tuple[int, int], (1,)),
        (Set[int], [1, 1]),
        (Dict[Spot, int], [({"x": 1}, 2), ({"x": 1, "later": 2}, 3)]),
        (Dict[str, int], [1]),
        (Union[int, str], 1.5),
        (Colour, None),
        (len, [1]),
    ],
)
def test_values_of_another_type_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(TypeError):
        build(kind, value)


def test_arguments_are_counted() -> None:
    with pytest.raises(TypeError, match=r"arguments\[1\]: the value is missing"):
        sent("(i32, i32)", 1)
    with pytest.raises(TypeError, match="at most 1 values"):
        sent("(i32)", 1, 2)


def test_values_that_refer_to_themselves_are_refused() -> None:
    node: Any = {"children": []}
    node["children"].append(node)
    with pytest.raises(ValueError, match="too deeply"):
        sent("({children: [^0]})", node)


def test_a_list_that_changes_while_it_is_sent_is_refused() -> None:
    values: list = []

    class Shrinks:
        def __index__(self) -> int:
            del values[:]
            return 1

    values.extend([Shrinks(), 2, 3])
    with pytest.raises(ValueError, match="changed while"):
        sent("([i32])", values)


def test_an_exception_of_an_object_is_passed_on() -> None:
    class Bad:
        @property
        def x(self) -> float:
            raise KeyError("my own")

    with pytest.raises(KeyError, match="my own"):
        sent("({x: f64})", Bad())


def test_hostile_messages_are_refused() -> None:
    types = "({a: [string], b: map[i32: [u8]], c: <i32 | string>?, d: set[i64]})"
    value = {"a": ["x", "yz"], "b": {1: b"ab"}, "c": weft.Variant(1, "q"), "d": {5, 6}}
    good = sent(types, value)
    assert received(types, good) == value
    for size in range(len(good)):
        with pytest.raises(weft.RpcError) as error:
            received(types, good[:size])
        assert error.value.code == weft.StatusCode.INVALID_ARGUMENT
    # Each byte in turn becomes another: a value or an error, and never anything else.
    for at in range(len(good)):
        for byte in (0, 1, 2, 0x7F, 0x80, 0xFF):
            message = good[:at] + bytes([byte]) + good[at + 1 :]
            try:
                received(types, message)
            except weft.RpcError as error_of_byte:
                assert error_of_byte.code == weft.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "types, message",
    [
        ("[i32]", b"\xff\xff\xff\xff"),
        ("[{}]", b"\xff\xff\xff\x7f"),
        ("string", b"\xff\xff\xff\xff" + b"a" * 8),
        ("map[i32: i32]", sent("(multimap[i32: i32])", [(1, 2), (1, 3)])),
        ("set[i32]", sent("(multiset[i32])", [2, 1, 2])),
        ("set[{x: i32}]", sent("(multiset[{x: i32}])", [(1,), (1,)])),
        ("bool", b"\2"),
        ("<i32 | string>", b"\2"),
        ("result<i32>", b"\0\0\0\0" + bytes(8)),
        ("time<duration<i64 x 86400/1>>", b"\xff" * 7 + b"\x7f"),
        ("f128", bytes(16)),
        ("i32", bytes(4) + b"trailing"),
    ],
)
def test_messages_that_lie_are_refused(types: str, message: bytes) -> None:
    with pytest.raises(weft.RpcError):
        received(f"({types})", message)


def test_deep_messages_are_refused() -> None:
    types = "({children: [^0], next: i32})"
    message = b"\1\0\0\0" * 5000
    with pytest.raises(weft.RpcError, match="nested too deeply"):
        received(types, message)


def test_sets_and_maps_of_types_that_contain_themselves_are_lists() -> None:
    assert received("(set[{i32, ^0?}])", bytes(4)) == []
    assert received("(map[{i32, ^0?}: i32])", bytes(4)) == []
    one = sent("(set[{i32, ^0?}])", [(1, (2, None))])
    assert received("(set[{i32, ^0?}])", one) == [(1, (2, None))]


@pytest.mark.parametrize("clock", ["{}", "time<{}>", "steady_time<{}>"])
def test_times_that_python_cuts_stay_apart(clock: str) -> None:
    finer = clock.format("duration<i64 x 1/1000000000>")
    ticks = sent("([i64])", [1, 2, 3])
    assert len(received(f"(set[{finer}])", ticks)) == 3
    assert len(received(f"(set[{{{finer}, i32?}}])", sent("([{i64, i32?}])", [(1, 4), (2, 4)]))) == 2
    pairs = received(f"(map[{finer}: i32])", sent("([{i64, i32}])", [(1, 5), (2, 6)]))
    assert [value for _, value in pairs] == [5, 6]


def test_objects_of_a_message_are_bounded_by_its_size() -> None:
    # Each element is one byte of the message, and 420 dicts.
    empty = ", ".join(f"m{i}: {{}}" for i in range(20))
    more = ", ".join(f"n{i}: {{{empty}}}" for i in range(20))
    types = f"([{{flag: bool, more: {{{more}}}}}])"
    few = received(types, sent("([bool])", [True] * 100))
    assert len(few) == 100 and few[0]["more"]["n0"]["m0"] == {}
    with pytest.raises(weft.RpcError, match="too much memory for its size") as error:
        received(types, sent("([bool])", [True] * 5_000))
    assert error.value.code is weft.StatusCode.RESOURCE_EXHAUSTED
    # What programs send fits.
    count = 1 << 20
    for element, size in {"i8": 1, "u8?": 1, "bool": 1, "i16": 2, "f32": 4, "{id: i32}": 4, "string": 4}.items():
        message = count.to_bytes(4, "little") + bytes(count * size)
        assert len(received(f"([{element}])", message)) == count


def test_types_that_are_none_are_refused() -> None:
    with pytest.raises(weft.RpcError):
        weft.Method.function("f", "(i33) -> void")
    with pytest.raises(weft.RpcError, match="two ways"):
        weft.Method.described("f", "(i32) -> void", 1, True, False)
