// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/describe/description.hpp"

#include <algorithm>
#include <charconv>
#include <compare>
#include <tuple>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/peer_text.hpp"
#include "weft/detail/base/utf8.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/limits.hpp"
#include "weft/detail/codec/method_schema.hpp"

namespace weft::detail {

namespace {

constexpr std::uint64_t kNotFixed = TypeDescription::kNotFixed;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// Bytes beyond ASCII stand in names only.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

struct Word {
  std::string_view text;
  Shape shape;
  std::uint8_t width;
};
constexpr Word kNumbers[] = {
    {"bool", Shape::kBool, 1},        {"char", Shape::kChar, 1},        {"i8", Shape::kSigned, 1},
    {"i16", Shape::kSigned, 2},       {"i32", Shape::kSigned, 4},       {"i64", Shape::kSigned, 8},
    {"i128", Shape::kSigned, 16},     {"u8", Shape::kUnsigned, 1},      {"u16", Shape::kUnsigned, 2},
    {"u32", Shape::kUnsigned, 4},     {"u64", Shape::kUnsigned, 8},     {"u128", Shape::kUnsigned, 16},
    {"f32", Shape::kFloat, 4},        {"f64", Shape::kFloat, 8},        {"f128", Shape::kFloat, 16},
    {"wchar16", Shape::kUnsigned, 2}, {"wchar32", Shape::kUnsigned, 4},
};
/// Words before a bracket.
constexpr Word kBefore[] = {
    {"set[", Shape::kSet, 0},
    {"multiset[", Shape::kMultiset, 0},
    {"map[", Shape::kMap, 0},
    {"multimap[", Shape::kMultimap, 0},
    {"result<", Shape::kResult, 0},
    {"expected<", Shape::kExpected, 0},
    {"duration<", Shape::kDuration, 0},
    {"time<", Shape::kTime, 0},
    {"steady_time<", Shape::kOtherTime, 0},
    {"file_time<", Shape::kOtherTime, 0},
    {"other_time<", Shape::kOtherTime, 0},
};

/// Nanoseconds of a tick of num/den seconds, if durations of it have a unit; else 0.
std::uint64_t nanoseconds_of_tick(std::uint64_t num, std::uint64_t den) {
  constexpr std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> kUnits[] = {
      {1, 1'000'000'000, 1},           {1, 1'000'000, 1'000},   {1, 1'000, 1'000'000},
      {1, 1, 1'000'000'000},           {60, 1, 60'000'000'000}, {3'600, 1, 3'600'000'000'000},
      {86'400, 1, 86'400'000'000'000},
  };
  for (const auto& [unit_num, unit_den, nanoseconds] : kUnits) {
    if (num == unit_num && den == unit_den) return nanoseconds;
  }
  return 0;
}

}  // namespace

/// Reads one list of types. Each function that returns bool has stored a failure if it returns false.
class DescriptionParser {
 public:
  DescriptionParser(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  /// Reads "(...)".
  bool read() {
    if (text_.size() > DescriptionBounds::kTextBytesMax) return malformed("it is too long");
    types_.text_ = text_;
    types_.root_ = make(Shape::kMembers);
    if (!expect("(") || !read_list(types_.root_, ')')) return false;
    types_.hash_ = hash_;
    finish();
    return true;
  }
  /// Fails unless nothing follows.
  bool read_end() { return at_ == text_.size() || malformed("more follows than is expected"); }
  bool accept(std::string_view words) {
    if (!text_.substr(at_).starts_with(words)) return false;
    advance(words.size());
    return true;
  }
  bool expect(std::string_view words) {
    return accept(words) || malformed("'" + std::string{words} + "' is missing");
  }

  std::size_t at() const { return at_; }
  const Status& failure() const { return failure_; }
  TypeDescription take() { return std::move(types_); }

 private:
  using Node = TypeDescription::Node;
  using Part = TypeDescription::Part;

  /// A type that is being read.
  struct Open {
    std::uint32_t node;
    /// Number of characters of the hash before it.
    std::size_t begins;
    /// Types of variable size around it.
    unsigned variable;
    bool in_braces;
  };
  /// A reference that no optional is around.
  struct Reference {
    std::uint32_t target;
    unsigned target_variable;
    unsigned variable;
  };
  struct Addition {
    std::uint64_t version;
    /// Place among all additions in the text.
    std::size_t place;
    std::uint32_t node;

    auto operator<=>(const Addition&) const = default;
  };

  bool malformed(std::string_view reason) {
    failure_ = Status{StatusCode::kInvalidArgument, Layer::kCodec, [&] {
                        return "malformed description of types at byte " + std::to_string(at_) + ": " +
                               std::string{reason};
                      }};
    return false;
  }
  bool unknown(std::string_view word) {
    failure_ = Status{StatusCode::kUnimplemented, Layer::kCodec, [&] {
                        return "the type '" + peer_text(word, 60) +
                               "' has an encoding of its own, which its description does not tell";
                      }};
    return false;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// Goes past characters, which count for references unless they are not in the hash.
  void advance(std::size_t size) {
    write(text_.substr(at_, size));
    at_ += size;
  }
  /// Adds characters to the hash. SchemaWriter::put() is the other side of it.
  void write(std::string_view words) {
    if (silent_ != 0) return;
    written_ += words.size();
    for (const char c : words) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
  }
  std::string_view word_at(std::size_t at) const {
    std::size_t end = at;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at, end - at);
  }
  std::uint32_t make(Shape shape) {
    types_.nodes_.emplace_back().shape = shape;
    return static_cast<std::uint32_t>(types_.nodes_.size() - 1);
  }
  Node& node(std::uint32_t index) { return types_.nodes_[index]; }

  bool read_number(std::uint64_t& out, std::uint64_t limit) {
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc{} || out > limit) return malformed("a number is missing or too large");
    advance(static_cast<std::size_t>(end - begin));
    return true;
  }

  /// Reads a list of types up to `close` as the parts of `index`. References see the braces of an aggregate.
  bool read_list(std::uint32_t index, char close) {
    std::vector<Part> parts;
    bool first_in_hash = true;
    for (bool first = true; peek() != close; first = false) {
      if (!first) {
        if (!text_.substr(at_).starts_with(", ")) return malformed("a comma is missing");
        at_ += 2;
      }
      Part part{0};
      const std::string_view name = word_at(at_);
      if (!name.empty() && text_.substr(at_ + name.size()).starts_with(": ")) {
        part.name_at = static_cast<std::uint32_t>(at_);
        part.name_size = static_cast<std::uint32_t>(name.size());
        at_ += name.size() + 2;
      }
      if (!parts.empty() && (parts.front().name_size != 0) != (part.name_size != 0)) {
        return malformed("some members have names and some have none");
      }
      if (part.name_size != 0 &&
          (close != '}' || parts.size() == CodecLimits::kFieldsMax || is_digit(name.front()) ||
           has_name(parts, name) || valid_utf8(as_bytes(name)) != name.size())) {
        return malformed("a name is given twice, is invalid, or is given where no field is");
      }
      const bool addition = peek() == '+';
      if (!addition && !first_in_hash) write(", ");
      first_in_hash = first_in_hash && addition;
      if (!(addition ? read_addition(part.node) : read_type(part.node))) return false;
      parts.push_back(part);
    }
    advance(1);
    set_parts(index, parts);
    return set_members_size(index);
  }
  bool has_name(const std::vector<Part>& parts, std::string_view name) const {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return types_.name(part) == name; });
  }
  void set_parts(std::uint32_t index, const std::vector<Part>& parts) {
    node(index).first = static_cast<std::uint32_t>(types_.parts_.size());
    node(index).count = static_cast<std::uint32_t>(parts.size());
    types_.parts_.insert(types_.parts_.end(), parts.begin(), parts.end());
  }
  bool set_members_size(std::uint32_t index) {
    Node& all = node(index);
    all.fixed_size = 0;
    for (std::uint32_t place = 0; place < all.count; ++place) {
      const Node& member = node(types_.part(all, place).node);
      const bool fixed = all.fixed_size != kNotFixed && member.fixed_size != kNotFixed;
      all.fixed_size = fixed ? all.fixed_size + member.fixed_size : kNotFixed;
      all.alignment = std::max(all.alignment, member.alignment);
      all.size_min += member.size_min;
      if (all.size_min > DescriptionBounds::kSizeMax) return malformed("its values are too large");
    }
    return true;
  }

  bool read_addition(std::uint32_t& out) {
    if (inside_ != 0) return malformed("an addition stands where none may stand");
    ++silent_;
    ++inside_;
    std::uint64_t version = 0;
    out = make(Shape::kAddition);
    Part part{0};
    if (!expect("+v") || !read_number(version, 0xFFFF'FFFF) || !expect(" ") || !read_type(part.node)) {
      return false;
    }
    set_parts(out, {part});
    additions_.push_back({version, additions_.size(), out});
    --inside_;
    --silent_;
    return true;
  }

  bool read_type(std::uint32_t& out) {
    if (depth_ == DescriptionBounds::kDepthMax) return malformed("types are nested too deeply");
    ++depth_;
    const std::size_t begins = written_;
    const std::size_t text_at = at_;
    const std::size_t additions = additions_.size();
    bool referenced = false;
    if (!read_plain(out, begins, referenced)) return false;
    while (peek() == '?') {
      // A reference by position may mean the optional as well as its value.
      if (referenced || additions_.size() != additions) return malformed("an optional of it is not possible");
      advance(1);
      const std::uint32_t optional = make(Shape::kOptional);
      set_parts(optional, {Part{out}});
      node(optional).size_min = 1;
      out = optional;
    }
    if (text_[text_at] != '^' || node(out).shape == Shape::kOptional) {
      node(out).text_at = static_cast<std::uint32_t>(text_at);
      node(out).text_size = static_cast<std::uint32_t>(at_ - text_at);
    }
    --depth_;
    return true;
  }

  bool read_plain(std::uint32_t& out, std::size_t begins, bool& referenced) {
    if (peek() == '^') return read_reference(out);
    out = static_cast<std::uint32_t>(types_.nodes_.size());
    open_.push_back({out, begins, variable_, peek() == '{'});
    if (!read_opened(out)) return false;
    open_.pop_back();
    referenced = std::erase(referenced_, out) != 0;
    return true;
  }
  bool read_opened(std::uint32_t out) {
    switch (peek()) {
      case '{':
        make(Shape::kMembers);
        advance(1);
        return read_list(out, '}');
      case '[':
        make(Shape::kSequence);
        advance(1);
        return read_sequence(out);
      case '<':
        make(Shape::kVariant);
        advance(1);
        return read_variant(out);
      default:
        return read_word(out);
    }
  }

  bool read_reference(std::uint32_t& out) {
    const std::size_t here = written_;
    advance(1);
    const bool by_position = accept("@");
    std::uint64_t number = 0;
    if (!read_number(number, DescriptionBounds::kTextBytesMax)) return false;
    const Open* target = nullptr;
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (by_position ? open->begins + number != here : !open->in_braces || number-- != 0) continue;
      if (target != nullptr) return malformed("a reference may mean several types");
      target = &*open;
      if (!by_position) break;
    }
    if (target == nullptr) return malformed("a reference means no type");
    if (target->variable == variable_ && peek() != '?') return malformed("a type contains itself");
    if (by_position) referenced_.push_back(target->node);
    if (peek() != '?') references_.push_back({target->node, target->variable, variable_});
    out = target->node;
    return true;
  }

  /// Reads a type that stands in values of variable size only.
  bool read_inside(Part& part) {
    ++variable_;
    ++inside_;
    if (!read_type(part.node)) return false;
    --variable_;
    --inside_;
    return true;
  }
  /// Reads "T]", or "T; 3]", which is an array, and not of variable size.
  bool read_sequence(std::uint32_t out) {
    Part element{0};
    const std::size_t references = references_.size();
    if (!read_inside(element)) return false;
    set_parts(out, {element});
    if (!accept("; ")) {
      node(out).size_min = 4;
      return expect("]");
    }
    for (std::size_t i = references; i < references_.size(); ++i) {
      Reference& reference = references_[i];
      if (reference.target > out) continue;
      if (--reference.variable == reference.target_variable) return malformed("a type contains itself");
    }
    std::uint64_t count = 0;
    if (!read_number(count, CodecLimits::kElementsMax) || !expect("]")) return false;
    Node& array = node(out);
    const Node& of = node(element.node);
    array.shape = Shape::kArray;
    array.number = count;
    array.alignment = of.alignment;
    if (count != 0 && of.size_min > DescriptionBounds::kSizeMax / count) return malformed("it is too large");
    array.size_min = of.size_min * count;
    if (of.fixed_size != kNotFixed) array.fixed_size = of.fixed_size * count;
    return true;
  }
  bool read_variant(std::uint32_t out) {
    std::vector<Part> parts;
    do {
      if (!read_inside(parts.emplace_back(Part{0}))) return false;
    } while (accept(" | "));
    if (parts.size() > 256) return malformed("a variant has too many alternatives");
    set_parts(out, parts);
    node(out).size_min = 1;
    return expect(">");
  }

  bool read_word(std::uint32_t out) {
    const std::string_view word = word_at(at_);
    for (const Word& number : kNumbers) {
      if (word != number.text) continue;
      advance(word.size());
      Node& made = node(make(number.shape));
      made.width = number.width;
      made.alignment = std::min<std::uint8_t>(number.width, 8);
      made.fixed_size = made.size_min = number.width;
      return true;
    }
    if (word == "string") {
      advance(word.size());
      node(make(Shape::kText)).size_min = 4;
      return true;
    }
    for (const Word& before : kBefore) {
      if (accept(before.text)) {
        make(before.shape);
        return read_rest(out, before.shape);
      }
    }
    if (word.empty()) return malformed("a type is missing");
    return unknown(word);
  }
  /// Reads what follows the opening bracket.
  bool read_rest(std::uint32_t out, Shape shape) {
    switch (shape) {
      case Shape::kSet:
      case Shape::kMultiset:
        return read_container(out, 1);
      case Shape::kMap:
      case Shape::kMultimap:
        return read_container(out, 2);
      case Shape::kDuration:
        return read_duration(out);
      case Shape::kTime:
      case Shape::kOtherTime:
        return read_time(out);
      default:
        return read_outcome(out, shape);
    }
  }
  bool read_container(std::uint32_t out, std::size_t size) {
    std::vector<Part> parts(size, Part{0});
    if (!read_inside(parts[0])) return false;
    if (size == 2 && (!expect(": ") || !read_inside(parts[1]))) return false;
    set_parts(out, parts);
    node(out).size_min = 4;
    return expect("]");
  }
  /// A result or an expected.
  bool read_outcome(std::uint32_t out, Shape shape) {
    const bool expected = shape == Shape::kExpected;
    std::vector<Part> parts;
    if (peek() != (expected ? ',' : '>') && !read_inside(parts.emplace_back(Part{0}))) return false;
    if (expected && (!expect(", ") || !read_inside(parts.emplace_back(Part{0})))) return false;
    set_parts(out, parts);
    node(out).size_min = 1;
    return expect(">");
  }
  bool read_duration(std::uint32_t out) {
    Part ticks{0};
    std::uint64_t num = 0;
    std::uint64_t den = 0;
    if (!read_inside(ticks) || !expect(" x ") || !read_number(num, kNotFixed) || !expect("/") ||
        !read_number(den, kNotFixed) || !expect(">")) {
      return false;
    }
    const Node& rep = node(ticks.node);
    const bool whole = rep.shape == Shape::kSigned || rep.shape == Shape::kUnsigned;
    if (!whole && rep.shape != Shape::kFloat) return malformed("ticks of a duration are no numbers");
    if (whole && rep.width <= 8) node(out).number = nanoseconds_of_tick(num, den);
    take_facts(out, ticks);
    return true;
  }
  bool read_time(std::uint32_t out) {
    Part since{0};
    if (!read_inside(since)) return false;
    if (node(since.node).shape != Shape::kDuration) return malformed("a time is no duration");
    take_facts(out, since);
    node(out).number = node(since.node).number;
    return expect(">");
  }
  void take_facts(std::uint32_t out, const Part& part) {
    set_parts(out, {part});
    const Node& inside = node(part.node);
    node(out).alignment = inside.alignment;
    node(out).fixed_size = inside.fixed_size;
    node(out).size_min = inside.size_min;
  }

  /// Sets what depends on types that were not read to their end before.
  void finish() {
    std::sort(additions_.begin(), additions_.end());
    for (std::size_t i = 0; i < additions_.size(); ++i) node(additions_[i].node).number = i;
    types_.additions_ = static_cast<std::uint32_t>(additions_.size());
    for (Node& container : types_.nodes_) {
      if (container.shape < Shape::kSequence || container.shape > Shape::kMultimap) continue;
      std::uint64_t size = 0;
      std::uint8_t alignment = 1;
      for (std::uint32_t place = 0; place < container.count; ++place) {
        const Node& element = node(types_.part(container, place).node);
        size = size == kNotFixed || element.fixed_size == kNotFixed ? kNotFixed : size + element.fixed_size;
        alignment = std::max(alignment, element.alignment);
        container.element_min += element.size_min;
      }
      if (size != 0 && size != kNotFixed) container.element_alignment = alignment;
    }
  }

  std::string_view text_;
  std::size_t at_;
  std::size_t written_ = 0;
  std::uint64_t hash_ = 0xCBF2'9CE4'8422'2325U;
  unsigned silent_ = 0;
  unsigned depth_ = 0;
  unsigned variable_ = 0;
  /// Types around the current position that no addition may stand in.
  unsigned inside_ = 0;
  std::vector<Open> open_;
  /// Types that a reference by position means, and that are not read to their end.
  std::vector<std::uint32_t> referenced_;
  std::vector<Reference> references_;
  std::vector<Addition> additions_;
  TypeDescription types_;
  Status failure_;
};

Result<TypeDescription> TypeDescription::parse(std::string_view text) {
  DescriptionParser parser{text, 0};
  if (!parser.read() || !parser.read_end()) return parser.failure();
  return parser.take();
}

namespace {

/// Reads the parts of a method's text, one after the other.
class MethodParser {
 public:
  explicit MethodParser(std::string_view text) : text_(text) {}

  bool accept(std::string_view words) {
    if (!text_.substr(at_).starts_with(words)) return false;
    at_ += words.size();
    return true;
  }
  bool read(TypeDescription& out) {
    DescriptionParser parser{text_, at_};
    if (!parser.read()) {
      failure_ = parser.failure();
      return false;
    }
    at_ = parser.at();
    out = parser.take();
    return true;
  }
  bool read(std::optional<TypeDescription>& out) { return read(out.emplace()); }
  bool malformed() {
    failure_ = Status{StatusCode::kInvalidArgument, Layer::kCodec,
                      [&] { return "malformed description of a method at byte " + std::to_string(at_); }};
    return false;
  }
  bool at_end() const { return at_ == text_.size(); }
  const Status& failure() const { return failure_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  Status failure_;
};

/// Appends the types that result_types() returns for the type `index`. A type that refers to itself has an
/// optional or a container between, so this ends.
void append_result_types(const TypeDescription& types, std::uint32_t index, std::vector<std::uint32_t>& to) {
  const TypeDescription::Node& node = types.node(index);
  if (node.shape == Shape::kAddition) return;
  if (node.shape != Shape::kMembers) return to.push_back(index);
  std::vector<std::uint32_t> inside;
  for (std::uint32_t place = 0; place < node.count; ++place) {
    append_result_types(types, types.part(node, place).node, inside);
  }
  if (inside.size() > 1) return to.push_back(index);
  to.insert(to.end(), inside.begin(), inside.end());
}

/// Hash of the types that result_types() returns for a result that is not void.
std::optional<std::uint64_t> hash_of_result(const TypeDescription& result) {
  std::vector<std::uint32_t> plain;
  append_result_types(result, result.root(), plain);
  if (plain == std::vector{result.root()}) return result.hash();
  std::string text = "(";
  for (const std::uint32_t index : plain) text += result.text_of(index);
  // A reference to a type around it means nothing here, and the parser refuses it.
  const Result<TypeDescription> alone = TypeDescription::parse(text + ")");
  if (!alone.ok()) return std::nullopt;
  return alone->hash();
}

std::optional<std::uint32_t> schema_of(const MethodDescription& method) {
  std::optional<std::uint64_t> result;
  if (method.result) {
    result = hash_of_result(*method.result);
  } else {
    result = schema_hash<>();
  }
  if (!result) return std::nullopt;
  const std::uint32_t schema = method_schema(method.arguments.hash(), *result);
  if (!method.items_in && !method.items_out) return schema;
  return stream_schema(schema, method.items_in ? method.items_in->hash() : kNoItemsHash,
                       method.items_out ? method.items_out->hash() : kNoItemsHash);
}

}  // namespace

Result<MethodDescription> MethodDescription::parse(std::string_view text) {
  MethodDescription method;
  MethodParser parser{text};
  const auto read = [&] {
    if (parser.accept("stream of ") && (!parser.read(method.items_in) || !parser.accept(", "))) return false;
    if (!parser.read(method.arguments) || !parser.accept(" -> ")) return false;
    if (!parser.accept("void") && !parser.read(method.result)) return false;
    if (parser.accept(", stream of ") && !parser.read(method.items_out)) return false;
    return parser.at_end();
  };
  if (!read()) {
    if (parser.failure().ok()) parser.malformed();
    return parser.failure();
  }
  method.schema = schema_of(method);
  const auto name = [](std::optional<TypeDescription>& types, std::string_view title) {
    if (!types) return;
    types->title_ = title;
    const TypeDescription::Node& list = types->node(types->root_);
    if (list.count != 1) return;
    const std::uint32_t only = types->part(list, 0).node;
    if (types->node(only).shape != Shape::kAddition) types->root_ = only;
  };
  method.arguments.title_ = "arguments";
  name(method.result, "result");
  name(method.items_in, "item");
  name(method.items_out, "item");
  return method;
}

}  // namespace weft::detail
