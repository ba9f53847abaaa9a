# SPDX-License-Identifier: Apache-2.0
"""Aggregates for the codec's tests: random ones, and the same ones each time.

generate_types.py <file to write> [<header> <test of one type>]

Writes a GoogleTest source of aggregates of 1 to 32 fields, nested, of all kinds of types that the codec knows, with strong
ids among them. Each type comes with the text of its schema, which follows from the shape alone and not from what the library
says, so that a field that is not counted, or by one compiler only, fails the test.
"""

import pathlib
import random
import sys
import typing

TYPES = 22
# Fields of the first types: the ends of the range, and the places where arrays of names grow.
FIELDS = [1, 2, 31, 32, 32, 26, 17]
# Aggregates with more fields than this take long to compile, so that the rest is small.
FIELDS_MOST = 8
DEPTH_MAX = 3


def hash_of(schema: str) -> int:
    """FNV-1a, as docs/internals/codec.md says."""
    number = 0xCBF29CE484222325
    for letter in schema.encode():
        number = (number ^ letter) * 0x100000001B3 % 2**64
    return number


class Made(typing.NamedTuple):
    """A type: how it is written in C++, and its schema."""

    code: str
    schema: str
    is_copied: bool = True


SCALARS = [
    Made("bool", "bool"),
    Made("char", "char"),
    Made("std::int8_t", "i8"),
    Made("std::uint16_t", "u16"),
    Made("std::int32_t", "i32"),
    Made("std::uint64_t", "u64"),
    Made("float", "f32"),
    Made("double", "f64"),
    Made("long double", "f128"),
    Made("Small", "u8"),
    Made("Wide", "i64"),
    Made("std::chrono::milliseconds", "duration<i64 x 1/1000>"),
    Made("std::chrono::sys_seconds", "time<duration<i64 x 1/1>>"),
]
IDS = [
    Made("Id<std::int32_t>", "i32"),
    Made("Id<std::uint64_t>", "u64"),
    Made("Id<std::string>", "string"),
]
KEYS = [*IDS, Made("std::uint16_t", "u16"), Made("std::int32_t", "i32"), Made("std::string", "string")]
HASHED = [Made("std::uint32_t", "u32"), Made("std::int64_t", "i64"), Made("std::string", "string")]
RANGE = Made("Range", "[i32; 2]")


class Generator:
    """Chooses types, and keeps those that it has made, for others to nest."""

    def __init__(self) -> None:
        self.random = random.Random(20260)
        self.aggregates: list[Made] = []

    def plain(self) -> Made:
        return self.random.choice([*SCALARS, *IDS, *IDS, RANGE, Made("std::string", "string"), Made("Nothing", "{}")])

    def wrapped(self, depth: int) -> Made:
        """One of the templates of the standard library around types that can be copied."""
        inside = self.copied(depth + 1)
        key = self.random.choice(KEYS)
        hashed = self.random.choice(HASHED)
        other = self.copied(depth + 1)
        count = self.random.randint(1, 4)
        return self.random.choice(
            [
                Made(f"std::vector<{inside.code}>", f"[{inside.schema}]"),
                Made(f"std::deque<{inside.code}>", f"[{inside.schema}]"),
                Made(f"std::list<{inside.code}>", f"[{inside.schema}]"),
                Made(f"std::set<{key.code}>", f"set[{key.schema}]"),
                Made(f"std::multiset<{key.code}>", f"multiset[{key.schema}]"),
                Made(f"std::unordered_set<{hashed.code}>", f"set[{hashed.schema}]"),
                Made(f"std::map<{key.code}, {inside.code}>", f"map[{key.schema}: {inside.schema}]"),
                Made(f"std::unordered_map<{hashed.code}, {inside.code}>", f"map[{hashed.schema}: {inside.schema}]"),
                Made(f"std::array<{inside.code}, {count}>", f"[{inside.schema}; {count}]"),
                Made(f"std::pair<{inside.code}, {other.code}>", f"{{{inside.schema}, {other.schema}}}"),
                Made(f"std::tuple<{key.code}, {inside.code}, {other.code}>", f"{{{key.schema}, {inside.schema}, {other.schema}}}"),
                Made(f"std::optional<{inside.code}>", f"{inside.schema}?"),
                Made(f"std::variant<std::monostate, {inside.code}, {other.code}>", f"<{{}} | {inside.schema} | {other.schema}>"),
            ]
        )

    def copied(self, depth: int) -> Made:
        nested = [made for made in self.aggregates if made.is_copied]
        chosen = self.random.random()
        if depth < DEPTH_MAX and chosen < 0.4:
            return self.wrapped(depth)
        if nested and chosen < 0.55:
            return self.random.choice(nested)
        return self.plain()

    def field(self, name: str) -> tuple[Made, str]:
        """A field's type, and its declaration."""
        chosen = self.random.random()
        made = self.copied(0)
        if chosen < 0.08:
            count = self.random.randint(1, 4)
            array = self.plain()
            return Made("", f"[{array.schema}; {count}]"), f"{array.code} {name}[{count}];"
        if chosen < 0.14:
            made = Made(f"std::unique_ptr<{made.code}>", f"{made.schema}?", is_copied=False)
        elif chosen < 0.2:
            return Made("Mark", "u16"), f"Mark {name} = Mark{{7}};"
        elif chosen < 0.26:
            made = self.random.choice(IDS)
            return made, f"{made.code} {name} = {made.code}();"
        return made, f"{made.code} {name};"

    def aggregate(self, name: str, count: int, test: str, *, grows: bool) -> str:
        fields = [self.field(f"f{number}") for number in range(count)]
        if grows:
            added = self.copied(1)
            fields[-1] = (Made("", f"+v2 {added.schema}"), f"weft::Compatible<{added.code}, 2> f{count - 1};")
        names = [f"f{number}" for number in range(count)]
        # Additions do not count for the hash.
        hashed = [field.schema for field, _ in (fields[:-1] if grows else fields)]
        made = Made(name, "{" + ", ".join(field.schema for field, _ in fields) + "}", all(field.is_copied for field, _ in fields))
        if not grows and made.schema not in {other.schema for other in self.aggregates}:
            self.aggregates.append(made)
        lines = "\n".join(f"  {declared}" for _, declared in fields)
        same = " && ".join(f"same(a.{field}, b.{field})" for field in names)
        return (
            f"struct {name} {{\n{lines}\n"
            f"  void fill_members(Fill& fill) {{ fill.all({', '.join(names)}); }}\n"
            f"  friend bool operator==(const {name}& a, const {name}& b) {{ return {same}; }}\n}};\n"
            f"static_assert(weft::detail::schema_hash<{name}>() == {hash_of('({' + ', '.join(hashed) + '})')}u);\n"
            f'TEST(GeneratedTypes, {name}Travels) {{ {test}<{name}>("({made.schema})"); }}\n'
        )


def source(header: str, test: str) -> str:
    generator = Generator()
    counts = FIELDS + [generator.random.randint(1, FIELDS_MOST) for _ in range(TYPES - len(FIELDS))]
    # Small ones first, for the large ones to nest.
    counts = counts[len(FIELDS) :] + counts[: len(FIELDS)]
    types = [generator.aggregate(f"Type{number}", count, test, grows=number % 8 == 7) for number, count in enumerate(counts)]
    hashes = ", ".join(f"weft::detail::schema_hash<{made.code}>()" for made in generator.aggregates)
    different = (
        "TEST(GeneratedTypes, DifferentShapesHaveDifferentHashes) {\n"
        f"  const std::vector<std::uint64_t> hashes = {{{hashes}}};\n"
        "  EXPECT_EQ(std::set<std::uint64_t>(hashes.begin(), hashes.end()).size(), hashes.size());\n}\n"
    )
    head = f'#include "{header}"\n\n' + "namespace weft::testing::generated {\nnamespace {\n\n"
    return head + "\n".join([*types, different]) + "\n}  // namespace\n}  // namespace weft::testing::generated\n"


if __name__ == "__main__":
    chosen = sys.argv[2:] or ["unit/codec/generated_types.hpp", "expect_travels"]
    pathlib.Path(sys.argv[1]).write_text(source(*chosen))
