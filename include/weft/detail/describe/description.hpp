// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"

/// Types at run time: the text of a schema, read into a tree. docs/internals/describe.md has the rules.
namespace weft::detail {

/// Limits for the text of a description, which may come from a peer.
struct DescriptionBounds {
  static constexpr std::size_t kTextBytesMax = std::size_t{256} << 10;
  /// Types within types; the stack of the parser is bounded by it.
  static constexpr unsigned kDepthMax = 128;
  /// Bytes of the smallest message.
  static constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;
};

/// The kind of a type: it decides the encoding of values and their JSON.
enum class Shape : std::uint8_t {
  kBool,
  kChar,      ///< one byte; its sign differs between machines
  kUnsigned,  ///< also wide characters
  kSigned,
  kFloat,
  kText,
  kSequence,
  kSet,  ///< with kMultiset: keys may be equal
  kMultiset,
  kMap,
  kMultimap,
  kArray,
  kMembers,   ///< an aggregate, a tuple, a pair, or the list of all values of a message
  kAddition,  ///< a Compatible
  kOptional,
  kVariant,
  kResult,
  kExpected,
  kDuration,
  kTime,       ///< of the system's clock
  kOtherTime,  ///< of any other clock
};

/// The types of a message: what schema_text() or named_schema_text() says of them. Copies share nothing.
class TypeDescription {
 public:
  static constexpr std::uint64_t kNotFixed = std::numeric_limits<std::uint64_t>::max();

  struct Node {
    Shape shape = Shape::kMembers;
    /// Bytes of a number.
    std::uint8_t width = 0;
    /// Alignment of the widest number inside, at most 8.
    std::uint8_t alignment = 1;
    /// Alignment of the elements of a container: see wire_alignment in codec/facts.hpp.
    std::uint8_t element_alignment = 1;
    /// Its parts in parts(): members, alternatives, the element, or key and value.
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    /// The number of elements of an array; the nanoseconds of a tick of a duration, 0 if ticks have no
    /// unit; the place of an addition among the additions on the wire.
    std::uint64_t number = 0;
    /// Bytes on the wire, if these do not depend on the value.
    std::uint64_t fixed_size = kNotFixed;
    /// Fewest bytes on the wire.
    std::uint64_t size_min = 0;
    /// Fewest bytes of an element of a container.
    std::uint64_t element_min = 0;
    /// Its place in the text of the description.
    std::uint32_t text_at = 0;
    std::uint32_t text_size = 0;
  };
  struct Part {
    std::uint32_t node;
    std::uint32_t name_at = 0;
    std::uint32_t name_size = 0;
  };

  /// Reads the text of all values of a message, "(i32, {x: f64, y: f64})". Errors: kInvalidArgument for text
  /// that is malformed or over a limit, kUnimplemented for a type with an encoding of its own.
  static Result<TypeDescription> parse(std::string_view text);

  const Node& node(std::uint32_t index) const { return nodes_[index]; }
  std::uint32_t root() const { return root_; }
  const Part& part(const Node& of, std::uint32_t place) const { return parts_[of.first + place]; }
  /// The name of a member; empty if it has none.
  std::string_view name(const Part& part) const {
    return std::string_view{text_}.substr(part.name_at, part.name_size);
  }
  /// True if each member of `members` has a name; those of an empty list have.
  bool has_names(const Node& members) const { return members.count == 0 || part(members, 0).name_size != 0; }
  /// Returns the text of a type.
  std::string_view text_of(std::uint32_t index) const {
    return std::string_view{text_}.substr(nodes_[index].text_at, nodes_[index].text_size);
  }
  std::uint32_t additions() const { return additions_; }
  /// Returns schema_hash() of the values that were parsed. It does not depend on names and additions.
  std::uint64_t hash() const { return hash_; }
  /// The values in words, for messages about them: "arguments", "result".
  std::string_view title() const { return title_; }

 private:
  friend class DescriptionParser;
  friend struct MethodDescription;

  std::string text_;
  std::vector<Node> nodes_;
  std::vector<Part> parts_;
  std::uint32_t root_ = 0;
  std::uint32_t additions_ = 0;
  std::uint64_t hash_ = 0;
  std::string_view title_ = "value";
};

/// The types of a method.
struct MethodDescription {
  /// Reads "(i32, string) -> (f64)", also with the items of streams: what MethodKey::schema_text and
  /// described_text() say. A result or an item that is one value is described as this value, not as a list.
  static Result<MethodDescription> parse(std::string_view text);

  TypeDescription arguments;
  /// Empty: void.
  std::optional<TypeDescription> result;
  /// Items of a stream that follow the request, and that come before the answer.
  std::optional<TypeDescription> items_in;
  std::optional<TypeDescription> items_out;
  /// MethodKey::schema. Empty for a text that does not determine it: the result is a struct of one value that
  /// contains the struct again.
  std::optional<std::uint32_t> schema;
};

}  // namespace weft::detail
