// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "describe/json_numbers.hpp"
#include "describe/json_path.hpp"
#include "describe/json_tokens.hpp"
#include "describe/key_check.hpp"
#include "weft/detail/base/base64.hpp"
#include "weft/detail/base/peer_text.hpp"
#include "weft/detail/codec/choices.hpp"
#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/limits.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::detail {

namespace {

using Node = TypeDescription::Node;
using Part = TypeDescription::Part;

/// Token of a member that is missing.
constexpr std::uint32_t kMissing = 0xFFFF'FFFF;

/// Writes the message that the tokens of a JSON text stand for. Functions that return bool have stored a
/// failure if they return false.
class JsonReader {
 public:
  JsonReader(const TypeDescription& types, std::vector<std::byte>& out, std::size_t bytes_max)
      : types_(types), out_(out), bytes_max_(bytes_max) {}

  Status read(std::string_view json) {
    out_.clear();
    if (Status parsed = tokens_.parse(json, types_.title()); !parsed.ok()) return parsed;
    additions_.resize(types_.additions());
    // A number takes up to 8 bytes for two of its text.
    out_.reserve(std::min(bytes_max_, json.size()));
    if (!read_value(types_.root(), 0) || !write_additions() || !check_size()) return failure_;
    return {};
  }

 private:
  /// A step from a value to one inside it.
  struct Step {
    enum class Kind : std::uint8_t { kMember, kKey, kElement } kind;
    std::uint64_t place = 0;
    std::string_view name{};
  };
  struct Addition {
    std::uint32_t node = 0;
    std::uint32_t token = kMissing;
    std::vector<Step> path;
  };

  bool fail(std::string_view reason, StatusCode code = StatusCode::kInvalidArgument) {
    failure_ = Status{code, Layer::kCodec, [&] {
                        std::string text{types_.title()};
                        for (const Step& step : path_) {
                          if (step.kind == Step::Kind::kElement)
                            append_element(text, step.place);
                          else if (step.kind == Step::Kind::kKey)
                            append_key(text, step.name);
                          else
                            append_member(text, step.name);
                        }
                        return text + ": " + std::string{reason};
                      }};
    return false;
  }
  bool check_size() {
    return out_.size() <= bytes_max_ || fail("the message is too long", StatusCode::kResourceExhausted);
  }

  template <typename T>
  void put(T number) {
    store_le(extend(sizeof number), number);
  }
  std::byte* extend(std::size_t size) {
    out_.resize(out_.size() + size);
    return out_.data() + out_.size() - size;
  }
  void align(std::size_t alignment) { extend((0 - out_.size()) & (alignment - 1)); }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const Bytes bytes = as_bytes(text);
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

  bool read_value(std::uint32_t index, std::uint32_t at) {
    if (depth_ == JsonBounds::kDepthMax) return fail("values are nested too deeply");
    if (!check_size()) return false;
    ++depth_;
    const bool good = read_shape(index, types_.node(index), at);
    --depth_;
    return good;
  }
  const Node& part_node(const Node& node, std::uint32_t place) const {
    return types_.node(types_.part(node, place).node);
  }
  bool read_part(const Node& node, std::uint32_t place, std::uint32_t at) {
    return read_value(types_.part(node, place).node, at);
  }
  bool read_inside(const Step& step, std::uint32_t index, std::uint32_t at) {
    path_.push_back(step);
    if (!read_value(index, at)) return false;
    path_.pop_back();
    return true;
  }

  bool read_shape(std::uint32_t index, const Node& node, std::uint32_t at) {
    switch (node.shape) {
      case Shape::kBool:
        return read_bool(at);
      case Shape::kChar:
        return read_char(at);
      case Shape::kUnsigned:
      case Shape::kSigned:
        return read_integer(node, at);
      case Shape::kFloat:
        return read_float(node, at);
      case Shape::kText:
        return read_text(at);
      case Shape::kSequence:
      case Shape::kSet:
      case Shape::kMultiset:
        return read_elements(node, at);
      case Shape::kMap:
      case Shape::kMultimap:
        return read_map(node, at);
      case Shape::kArray:
        return read_array(node, at);
      case Shape::kMembers:
        return read_members(node, at);
      case Shape::kAddition:
        additions_[node.number] = {index, at, path_};
        return true;
      case Shape::kOptional:
        return read_optional(node, at);
      case Shape::kVariant:
        return read_variant(node, at);
      case Shape::kResult:
      case Shape::kExpected:
        return read_outcome(node, at);
      case Shape::kDuration:
      case Shape::kTime:
      case Shape::kOtherTime:
        return read_time(node, at);
    }
    return false;
  }

  bool read_bool(std::uint32_t at) {
    const JsonKind kind = tokens_[at].kind;
    if (kind != JsonKind::kTrue && kind != JsonKind::kFalse) return fail("true or false is expected");
    put(static_cast<std::uint8_t>(kind == JsonKind::kTrue));
    return true;
  }
  bool read_char(std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    if (token.kind == JsonKind::kUnsigned && token.value < 256) {
      put(static_cast<std::uint8_t>(token.value));
      return true;
    }
    const std::string_view text = token.kind == JsonKind::kString ? tokens_.text(token) : "";
    if (text.size() != 1) return fail("one ASCII character or a number from 0 to 255 is expected");
    put(text.front());
    return true;
  }

  /// An integer that is a number, or a string of digits.
  bool to_decimal(const JsonToken& token, Decimal& out) const {
    switch (token.kind) {
      case JsonKind::kUnsigned:
        out = {false, token.value};
        return true;
      case JsonKind::kNegative:
        out = {token.value != 0, 0 - token.value};
        return true;
      case JsonKind::kNumber:
      case JsonKind::kString:
        return parse_integer(tokens_.text(token), out);
      default:
        return false;
    }
  }
  bool read_integer(const Node& node, std::uint32_t at) {
    Decimal value;
    if (!to_decimal(tokens_[at], value)) return fail("an integer is expected");
    return put_integer(node, value);
  }
  bool put_integer(const Node& node, const Decimal& value) {
    const bool is_signed = node.shape == Shape::kSigned;
    if (store_integer(extend(node.width), value, node.width, is_signed)) return true;
    return fail(std::string{"the number does not fit into "} + (is_signed ? "a signed" : "an unsigned") +
                " integer of " + std::to_string(8 * node.width) + " bits");
  }
  bool read_float(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    std::byte* const to = extend(node.width);
    switch (token.kind) {
      case JsonKind::kUnsigned:
        return put_number(to, node, token.value);
      case JsonKind::kNegative:
        return token.value == 0 ? put_number(to, node, -0.0)
                                : put_number(to, node, static_cast<std::int64_t>(token.value));
      case JsonKind::kNumber:
        return store_number_text(to, tokens_.text(token), node.width) ||
               fail("the number is too large or too small for its type");
      case JsonKind::kString:
        return store_float_string(to, tokens_.text(token), node.width) ||
               fail(R"(a number, or a string like "NaN", "Infinity" or "-Infinity", is expected)");
      default:
        return fail("a number is expected");
    }
  }
  template <typename T>
  bool put_number(std::byte* to, const Node& node, T value) {
    if (node.width == 4) {
      store_le(to, static_cast<float>(value));
    } else if (node.width == 8) {
      store_le(to, static_cast<double>(value));
    } else {
      store_binary128(to, static_cast<double>(value));
    }
    return true;
  }

  bool read_text(std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    if (token.kind == JsonKind::kString) {
      put_text(tokens_.text(token));
      return true;
    }
    if (token.kind != JsonKind::kObject || token.size != 1 || tokens_.text(tokens_[at + 1]) != "base64" ||
        tokens_[at + 2].kind != JsonKind::kString) {
      return fail(R"(a string, or {"base64": "..."} for bytes that are no UTF-8, is expected)");
    }
    return read_base64_string(at + 2);
  }
  bool read_base64_string(std::uint32_t at) {
    const std::size_t count_at = out_.size();
    put(std::uint32_t{0});
    if (!read_base64(at)) return false;
    store_le(out_.data() + count_at, static_cast<std::uint32_t>(out_.size() - count_at - 4));
    return true;
  }
  bool read_base64(std::uint32_t at) {
    const std::string_view text = tokens_.text(tokens_[at]);
    const auto size = base64_decoded_size(text);
    if (!size || !decode_base64(text, extend(*size))) return fail("the string is no base64");
    return true;
  }

  static bool is_byte(const Node& node) {
    return node.width == 1 && (node.shape == Shape::kUnsigned || node.shape == Shape::kChar);
  }
  bool read_elements(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    const bool bytes = node.shape == Shape::kSequence && is_byte(part_node(node, 0));
    if (bytes && token.kind == JsonKind::kString) return read_base64_string(at);
    if (token.kind != JsonKind::kArray) {
      return fail(bytes ? "a string of base64, or an array, is expected" : "an array is expected");
    }
    begin_container(node, token.size);
    if (!take_empty_elements(node.element_min, token.size)) return false;
    const bool unique = node.shape == Shape::kSet;
    KeyCheck::Mark mark = keys_.begin();
    std::uint32_t inside = at + 1;
    for (std::uint32_t i = 0; i < token.size; ++i, inside = tokens_.after(inside)) {
      const std::size_t key_at = out_.size();
      if (!read_inside({Step::Kind::kElement, i}, types_.part(node, 0).node, inside)) return false;
      if (unique) keys_.add(mark, out_.data(), {key_at, out_.size() - key_at});
    }
    return !unique || keys_.end(mark, out_.data()) || fail("a value stands twice in a set");
  }
  void begin_container(const Node& node, std::uint32_t count) {
    put(count);
    align(node.element_alignment);
  }
  /// The codec refuses more of them.
  bool take_empty_elements(std::uint64_t size_min, std::uint64_t count) {
    if (size_min != 0) return true;
    if (count > empty_elements_left_) return fail("there are too many elements that take no bytes");
    empty_elements_left_ -= count;
    return true;
  }
  bool read_array(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    const bool bytes = is_byte(part_node(node, 0));
    const std::size_t begin = out_.size();
    if (bytes && token.kind == JsonKind::kString) {
      if (!read_base64(at)) return false;
    } else {
      if (token.kind != JsonKind::kArray || token.size != node.number) return fail_size(node);
      if (!take_empty_elements(node.size_min, token.size)) return false;
      std::uint32_t inside = at + 1;
      for (std::uint32_t i = 0; i < token.size; ++i, inside = tokens_.after(inside)) {
        if (!read_inside({Step::Kind::kElement, i}, types_.part(node, 0).node, inside)) return false;
      }
    }
    return !bytes || out_.size() - begin == node.number || fail_size(node);
  }
  bool fail_size(const Node& node) {
    return fail("an array of " + std::to_string(node.number) + " elements is expected");
  }

  bool read_map(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    const Node& key = part_node(node, 0);
    const bool named =
        key.shape == Shape::kText || key.shape == Shape::kUnsigned || key.shape == Shape::kSigned;
    const bool object = token.kind == JsonKind::kObject && named && node.shape == Shape::kMap;
    if (!object && token.kind != JsonKind::kArray) {
      return fail(named && node.shape == Shape::kMap ? "an object, or an array of [key, value], is expected"
                                                     : "an array of [key, value] is expected");
    }
    begin_container(node, token.size);
    if (!take_empty_elements(node.element_min, token.size)) return false;
    KeyCheck::Mark mark = keys_.begin();
    std::uint32_t inside = at + 1;
    for (std::uint32_t i = 0; i < token.size; ++i) {
      const std::size_t key_at = out_.size();
      std::size_t key_end = 0;
      if (!(object ? read_entry(node, inside, key_end) : read_pair(node, i, inside, key_end))) return false;
      inside = tokens_.after(object ? inside + 1 : inside);
      keys_.add(mark, out_.data(), {key_at, key_end - key_at});
    }
    const bool different = keys_.end(mark, out_.data());
    return different || node.shape == Shape::kMultimap || fail("a key stands twice in a map");
  }
  bool read_entry(const Node& node, std::uint32_t at, std::size_t& key_end) {
    const std::string_view name = tokens_.text(tokens_[at]);
    path_.push_back({Step::Kind::kKey, 0, name});
    const Node& key = part_node(node, 0);
    Decimal value;
    if (key.shape == Shape::kText)
      put_text(name);
    else if (!parse_integer(name, value))
      return fail("the key is no integer");
    else if (!put_integer(key, value))
      return false;
    key_end = out_.size();
    if (!read_part(node, 1, at + 1)) return false;
    path_.pop_back();
    return true;
  }
  bool read_pair(const Node& node, std::uint32_t place, std::uint32_t at, std::size_t& key_end) {
    const JsonToken& token = tokens_[at];
    path_.push_back({Step::Kind::kElement, place});
    if (token.kind != JsonKind::kArray || token.size != 2) return fail("[key, value] is expected");
    if (!read_inside({Step::Kind::kElement, 0}, types_.part(node, 0).node, at + 1)) return false;
    key_end = out_.size();
    if (!read_inside({Step::Kind::kElement, 1}, types_.part(node, 1).node, tokens_.after(at + 1))) {
      return false;
    }
    path_.pop_back();
    return true;
  }

  /// The name of a member, which is its place where it has none.
  Step step_to(const Node& node, std::uint32_t place) const {
    const std::string_view name = types_.name(types_.part(node, place));
    if (name.empty()) return {Step::Kind::kElement, place};
    return {Step::Kind::kMember, place, name};
  }
  bool read_members(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    if (token.kind == JsonKind::kArray) return read_positions(node, at);
    if (token.kind != JsonKind::kObject) return fail("an object or an array is expected");
    const std::size_t first = members_.size();
    members_.resize(first + node.count, kMissing);
    std::uint32_t inside = at + 1;
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < token.size; ++i, inside = tokens_.after(inside + 1)) {
      const std::string_view name = tokens_.text(tokens_[inside]);
      const std::uint32_t place = find_member(node, name, expected);
      if (place == kMissing) return fail_member(name, "there is no such member");
      std::uint32_t& found = members_[first + place];
      if (found != kMissing) return fail_member(name, "the member stands twice");
      found = inside + 1;
      expected = place + 1;
    }
    for (std::uint32_t place = 0; place < node.count; ++place) {
      if (!read_member(node, place, members_[first + place])) return false;
    }
    members_.resize(first);
    return true;
  }
  bool fail_member(std::string_view name, std::string_view reason) {
    path_.push_back({Step::Kind::kMember, 0, name});
    return fail(reason);
  }
  /// Searches from the member behind the last one, as members mostly come in order. kMissing: there is none.
  std::uint32_t find_member(const Node& node, std::string_view name, std::uint32_t expected) const {
    if (types_.has_names(node)) {
      for (std::uint32_t i = 0; i < node.count; ++i) {
        const std::uint32_t place = (expected + i) % node.count;
        if (types_.name(types_.part(node, place)) == name) return place;
      }
    }
    Decimal place;
    if (!parse_integer(name, place) || place.negative || place.magnitude >= node.count) return kMissing;
    return static_cast<std::uint32_t>(place.magnitude);
  }
  bool read_positions(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    if (token.size > node.count) {
      return fail("at most " + std::to_string(node.count) + " elements are expected");
    }
    std::uint32_t inside = at + 1;
    for (std::uint32_t place = 0; place < node.count; ++place) {
      const bool given = place < token.size;
      if (!read_member(node, place, given ? inside : kMissing)) return false;
      if (given) inside = tokens_.after(inside);
    }
    return true;
  }
  bool read_member(const Node& node, std::uint32_t place, std::uint32_t at) {
    const std::uint32_t index = types_.part(node, place).node;
    if (at != kMissing) return read_inside(step_to(node, place), index, at);
    const Shape shape = types_.node(index).shape;
    if (shape == Shape::kAddition) return true;
    if (shape == Shape::kOptional) {
      put(std::uint8_t{0});
      return true;
    }
    path_.push_back(step_to(node, place));
    return fail("the value is missing");
  }

  /// The value of an optional, which is in an array where it may be null itself.
  bool read_present(const Node& node, std::uint32_t at) {
    if (part_node(node, 0).shape != Shape::kOptional) return read_part(node, 0, at);
    if (tokens_[at].kind != JsonKind::kArray || tokens_[at].size != 1) {
      return fail("null, or an array of one value, is expected");
    }
    return read_inside({Step::Kind::kElement, 0}, types_.part(node, 0).node, at + 1);
  }
  bool read_optional(const Node& node, std::uint32_t at) {
    const bool present = tokens_[at].kind != JsonKind::kNull;
    put(static_cast<std::uint8_t>(present));
    return !present || read_present(node, at);
  }
  bool read_variant(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    Decimal index;
    if (token.kind != JsonKind::kObject || token.size != 1 ||
        !parse_integer(tokens_.text(tokens_[at + 1]), index) || index.negative ||
        index.magnitude >= node.count) {
      return fail("an object of one member, whose name is the number of an alternative, is expected");
    }
    const auto place = static_cast<std::uint32_t>(index.magnitude);
    put(static_cast<std::uint8_t>(place));
    return read_inside({Step::Kind::kMember, 0, tokens_.text(tokens_[at + 1])}, types_.part(node, place).node,
                       at + 2);
  }

  bool read_outcome(const Node& node, std::uint32_t at) {
    const JsonToken& token = tokens_[at];
    const bool object = token.kind == JsonKind::kObject && token.size == 1;
    const std::string_view name = object ? tokens_.text(tokens_[at + 1]) : "";
    const bool ok = name == "value";
    if (!ok && name != "error") {
      return fail(R"(an object of one member, "value" or "error", is expected)");
    }
    put(static_cast<std::uint8_t>(ok));
    path_.push_back({Step::Kind::kMember, 0, name});
    const bool expected = node.shape == Shape::kExpected;
    if (ok && node.count == (expected ? 1U : 0U)) {
      if (tokens_[at + 2].kind != JsonKind::kNull) return fail("null is expected");
    } else if (!(ok || expected ? read_part(node, ok ? 0 : node.count - 1, at + 2) : read_failure(at + 2))) {
      return false;
    }
    path_.pop_back();
    return true;
  }

  /// Members of the failure in a result, by the names that the writer uses.
  struct Failure {
    static constexpr std::string_view kNames[] = {"code",    "layer",          "retry",  "native",
                                                  "message", "retry_after_ms", "details"};
    std::uint32_t tokens[std::size(kNames)];
  };
  bool read_failure(std::uint32_t at) {
    if (tokens_[at].kind != JsonKind::kObject) return fail("an object is expected");
    Failure failure;
    std::fill(std::begin(failure.tokens), std::end(failure.tokens), kMissing);
    std::uint32_t inside = at + 1;
    for (std::uint32_t i = 0; i < tokens_[at].size; ++i, inside = tokens_.after(inside + 1)) {
      const std::string_view name = tokens_.text(tokens_[inside]);
      const auto* const found = std::find(std::begin(Failure::kNames), std::end(Failure::kNames), name);
      if (found == std::end(Failure::kNames)) return fail_member(name, "there is no such member");
      std::uint32_t& token = failure.tokens[found - std::begin(Failure::kNames)];
      if (token != kMissing) return fail_member(name, "the member stands twice");
      token = inside + 1;
    }
    return write_failure(failure);
  }
  bool write_failure(const Failure& failure) {
    const auto [code, layer, retry, native, message, wait, details] = failure.tokens;
    if (code == kMissing) return fail_member("code", "the value is missing");
    if (!put_name<StatusCode>("code", code, 1, 16) ||
        !put_name<Layer>("layer", layer, 0, static_cast<unsigned>(Layer::kRpc)) ||
        !put_name<Retry>("retry", retry, 0, static_cast<unsigned>(Retry::kReconnect))) {
      return false;
    }
    std::byte& flags = out_.back();
    if (wait != kMissing) flags |= std::byte{codec_detail::kFailureHasWait};
    if (details != kMissing) flags |= std::byte{codec_detail::kFailureHasDetails};
    return put_failure_number("native", native, Shape::kSigned, true) &&
           put_failure_text("message", message, true) &&
           put_failure_number("retry_after_ms", wait, Shape::kUnsigned, false) && put_details(details);
  }
  /// Writes the number, up to `last`, whose name stands there; 0 where nothing stands.
  template <typename E>
  bool put_name(std::string_view member, std::uint32_t at, unsigned first, unsigned last) {
    if (at == kMissing) {
      put(std::uint8_t{0});
      return true;
    }
    const std::string_view name = tokens_[at].kind == JsonKind::kString ? tokens_.text(tokens_[at]) : "";
    for (unsigned number = first; number <= last; ++number) {
      if (name != to_string(static_cast<E>(number))) continue;
      put(static_cast<std::uint8_t>(number));
      return true;
    }
    return fail_member(member, "the name is unknown");
  }
  bool put_failure_number(std::string_view member, std::uint32_t at, Shape shape, bool always) {
    if (at == kMissing && !always) return true;
    Node number;
    number.shape = shape;
    number.width = 4;
    path_.push_back({Step::Kind::kMember, 0, member});
    if (at == kMissing)
      put(std::uint32_t{0});
    else if (!read_integer(number, at))
      return false;
    path_.pop_back();
    return true;
  }
  bool put_failure_text(std::string_view member, std::uint32_t at, bool always) {
    if (at == kMissing && !always) return true;
    path_.push_back({Step::Kind::kMember, 0, member});
    if (at == kMissing)
      put_text({});
    else if (!read_text(at))
      return false;
    path_.pop_back();
    return true;
  }
  bool put_details(std::uint32_t at) {
    if (at == kMissing) return true;
    const std::size_t begin = out_.size();
    path_.push_back({Step::Kind::kMember, 0, "details"});
    if (tokens_[at].kind != JsonKind::kString) return fail("a string of base64 is expected");
    if (!read_base64_string(at)) return false;
    if (out_.size() - begin - 4 > kStatusDetailsMax) return fail("the details are too long");
    path_.pop_back();
    return true;
  }

  /// The integer or floating-point number that a duration or time consists of.
  const Node& rep_of(const Node& node) const {
    const Node& inside = part_node(node, 0);
    return node.shape == Shape::kDuration ? inside : part_node(inside, 0);
  }
  bool read_time(const Node& node, std::uint32_t at) {
    const Node& rep = rep_of(node);
    if (node.number == 0) return rep.shape == Shape::kFloat ? read_float(rep, at) : read_integer(rep, at);
    const JsonToken& token = tokens_[at];
    const std::string_view text = token.kind == JsonKind::kString ? tokens_.text(token) : "";
    Int128 ticks = 0;
    if (node.shape == Shape::kTime) {
      if (!parse_time(text, node.number, ticks)) {
        return fail(R"(a time like "2026-11-29T12:00:00Z", as precise as its type, is expected)");
      }
    } else if (!parse_duration(text, node.number, ticks)) {
      return fail(R"(a duration like "1.5s" or "20ms", as precise as its type, is expected)");
    }
    const auto bits = static_cast<Uint128>(ticks);
    return put_integer(rep, {ticks < 0, ticks < 0 ? 0 - bits : bits});
  }

  /// Writes the additions up to the last present one, behind all values.
  bool write_additions() {
    std::size_t count = additions_.size();
    while (count != 0 && !is_present(additions_[count - 1])) --count;
    for (std::size_t i = 0; i < count; ++i) {
      const Addition& addition = additions_[i];
      if (!is_present(addition)) {
        put(codec_detail::kAbsent);
        continue;
      }
      put(std::uint32_t{0});
      const std::size_t begin = out_.size();
      path_ = addition.path;
      if (!read_present(types_.node(addition.node), addition.token) || !check_size()) return false;
      store_le(out_.data() + begin - 4, static_cast<std::uint32_t>(out_.size() - begin));
    }
    return true;
  }
  bool is_present(const Addition& addition) const {
    return addition.token != kMissing && tokens_[addition.token].kind != JsonKind::kNull;
  }

  const TypeDescription& types_;
  std::vector<std::byte>& out_;
  std::size_t bytes_max_;
  JsonTokens tokens_;
  unsigned depth_ = 0;
  std::uint64_t empty_elements_left_ = CodecLimits::kEmptyElementsMax;
  std::vector<Step> path_;
  /// Tokens of the members of the objects that are being read.
  std::vector<std::uint32_t> members_;
  std::vector<Addition> additions_;
  KeyCheck keys_;
  Status failure_;
};

}  // namespace

Status from_json(const TypeDescription& types, std::string_view json, std::vector<std::byte>& out,
                 std::size_t bytes_max) {
  JsonReader reader{types, out, bytes_max};
  return reader.read(json);
}

}  // namespace weft::detail
