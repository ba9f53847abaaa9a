// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "describe/json_numbers.hpp"
#include "describe/key_check.hpp"
#include "weft/detail/base/base64.hpp"
#include "weft/detail/base/utf8.hpp"
#include "weft/detail/codec/choices.hpp"
#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/trailer.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::detail {

namespace {

using Node = TypeDescription::Node;

/// Characters of a string that JSON escapes.
constexpr std::array<bool, 256> kEscaped = [] {
  std::array<bool, 256> escaped{};
  for (std::size_t c = 0; c < 0x20; ++c) escaped[c] = true;
  escaped['"'] = escaped['\\'] = true;
  return escaped;
}();

void append_escape(std::string& out, char c) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '\\';
  if (const std::size_t at = kSpecial.find(c); at != std::string_view::npos) {
    out += kLetters[at];
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto number = static_cast<unsigned char>(c);
  out += "u00";
  out += kDigits[number >> 4];
  out += kDigits[number & 15];
}

/// Appends `text`, which is UTF-8, as a string.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!kEscaped[static_cast<unsigned char>(text[at])]) continue;
    out.append(text, plain, at - plain);
    append_escape(out, text[at]);
    plain = at + 1;
  }
  out.append(text, plain, text.size() - plain);
  out += '"';
}

/// Writes the JSON of one message. Functions that return bool have stored a failure if they return false.
class JsonWriter {
 public:
  JsonWriter(const TypeDescription& types, Bytes message, std::string& out, std::size_t bytes_max)
      : types_(types), message_(message), from_(message, arena_), out_(out), bytes_max_(bytes_max) {}

  Status write() {
    out_.clear();
    if (!write_value(types_.root()) || !write_additions() || !check_size()) return failure();
    return {};
  }
  /// A key of a map is no UTF-8, so no name of a member.
  bool needs_pairs() const { return needs_pairs_; }
  /// Writes maps with keys of text as arrays of pairs.
  void use_pairs() { pairs_ = true; }

 private:
  /// The place in the text for an addition, which comes behind all values of the message.
  struct Hole {
    std::size_t at;
    std::uint32_t node;
  };

  Status failure() const {
    if (!failure_.ok()) return failure_;
    return codec_detail::decode_failure(from_.fault(), from_.offset(), message_.size(), 0);
  }
  bool fail(StatusCode code, std::string_view reason) {
    failure_ = Status{code, Layer::kCodec, [&] {
                        return std::string{types_.title()} + ": " + std::string{reason} + ", at byte " +
                               std::to_string(from_.offset()) + " of " + std::to_string(message_.size());
                      }};
    return false;
  }
  bool check_size() {
    return out_.size() <= bytes_max_ || fail(StatusCode::kResourceExhausted, "its JSON is too long");
  }

  bool write_value(std::uint32_t index) {
    if (depth_ == JsonBounds::kDepthMax) {
      return fail(StatusCode::kInvalidArgument, "values are nested too deeply");
    }
    if (!check_size()) return false;
    ++depth_;
    const bool good = write_shape(index, types_.node(index));
    --depth_;
    return good;
  }
  const Node& part_node(const Node& node, std::uint32_t place) const {
    return types_.node(types_.part(node, place).node);
  }
  bool write_part(const Node& node, std::uint32_t place) {
    return write_value(types_.part(node, place).node);
  }

  bool write_shape(std::uint32_t index, const Node& node) {
    switch (node.shape) {
      case Shape::kBool:
        return write_bool();
      case Shape::kChar:
        return write_char();
      case Shape::kUnsigned:
      case Shape::kSigned:
      case Shape::kFloat:
        return write_number(node);
      case Shape::kText:
        return write_text();
      case Shape::kSequence:
        return write_sequence(node);
      case Shape::kSet:
      case Shape::kMultiset:
        return write_elements(node);
      case Shape::kMap:
      case Shape::kMultimap:
        return write_map(node);
      case Shape::kArray:
        return write_array(node);
      case Shape::kMembers:
        return write_members(index, node);
      case Shape::kAddition:
        out_ += "null";
        holes_.push_back({out_.size(), index});
        return true;
      case Shape::kOptional:
        return write_optional(node);
      case Shape::kVariant:
        return write_variant(node);
      case Shape::kResult:
      case Shape::kExpected:
        return write_outcome(node);
      case Shape::kDuration:
      case Shape::kTime:
      case Shape::kOtherTime:
        return write_time(node);
    }
    return false;
  }

  bool write_bool() {
    bool value;
    if (!from_.read_flag(value)) return false;
    out_ += value ? "true" : "false";
    return true;
  }
  bool write_char() {
    std::uint8_t value;
    if (!from_.read_number(value)) return false;
    const char character = static_cast<char>(value);
    if (value < 0x80)
      append_string(out_, {&character, 1});
    else
      out_ += std::to_string(value);
    return true;
  }
  bool write_number(const Node& node) {
    const std::byte* bytes;
    if (!from_.take(node.width, bytes)) return false;
    if (node.shape == Shape::kFloat)
      append_float(out_, bytes, node.width);
    else
      append_integer(out_, bytes, node.width, node.shape == Shape::kSigned);
    return true;
  }

  bool read_text(std::string_view& text) {
    std::uint32_t size;
    const std::byte* bytes;
    if (!from_.read_number(size) || !from_.take(size, bytes)) return false;
    text = as_text({bytes, size});
    return true;
  }
  bool write_text() {
    std::string_view text;
    if (!read_text(text)) return false;
    if (valid_utf8(as_bytes(text)) == text.size()) {
      append_string(out_, text);
      return true;
    }
    out_ += "{\"base64\":";
    write_base64(as_bytes(text));
    out_ += '}';
    return true;
  }
  void write_base64(Bytes bytes) {
    out_ += '"';
    append_base64(out_, bytes);
    out_ += '"';
  }

  static bool is_byte(const Node& node) {
    return node.width == 1 && (node.shape == Shape::kUnsigned || node.shape == Shape::kChar);
  }
  bool write_sequence(const Node& node) {
    if (!is_byte(part_node(node, 0))) return write_elements(node);
    std::uint32_t count;
    return from_.read_count(count, 1, 1) && write_bytes(count);
  }
  bool write_array(const Node& node) {
    if (is_byte(part_node(node, 0))) return write_bytes(node.number);
    if (node.size_min == 0 && !take_empty_elements(node.number)) return false;
    return write_list(node, node.number);
  }
  bool write_bytes(std::uint64_t count) {
    const std::byte* bytes;
    if (!from_.take(count, bytes)) return false;
    write_base64({bytes, count});
    return true;
  }
  /// Elements that take no bytes must not make a long text of a short message.
  bool take_empty_elements(std::uint64_t count) {
    if (count > empty_elements_left_) return from_.fail(DecodeFault::kEmptyElements);
    empty_elements_left_ -= count;
    return true;
  }
  bool write_elements(const Node& node) {
    std::uint32_t count;
    return from_.read_count(count, node.element_min, node.element_alignment) && write_list(node, count);
  }
  bool write_list(const Node& node, std::uint64_t count) {
    out_ += '[';
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i != 0) out_ += ',';
      if (!write_part(node, 0)) return false;
    }
    out_ += ']';
    return true;
  }

  bool write_map(const Node& node) {
    std::uint32_t count;
    if (!from_.read_count(count, node.element_min, node.element_alignment)) return false;
    const Shape key = part_node(node, 0).shape;
    const bool text = key == Shape::kText;
    const bool integer = key == Shape::kUnsigned || key == Shape::kSigned;
    if (node.shape == Shape::kMultimap || !(integer || (text && !pairs_))) return write_pairs(node, count);
    KeyCheck::Mark mark = keys_.begin();
    out_ += '{';
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != 0) out_ += ',';
      const std::size_t key_at = from_.offset();
      if (!(text ? write_text_name() : write_integer_name(part_node(node, 0)))) return false;
      keys_.add(mark, message_.data(), {key_at, from_.offset() - key_at});
      out_ += ':';
      if (!write_part(node, 1)) return false;
    }
    out_ += '}';
    return keys_.end(mark, message_.data()) || from_.fail(DecodeFault::kDuplicateKey);
  }
  bool write_text_name() {
    std::string_view text;
    if (!read_text(text)) return false;
    if (valid_utf8(as_bytes(text)) != text.size()) {
      needs_pairs_ = true;
      return fail(StatusCode::kInvalidArgument, "a key is no UTF-8");
    }
    append_string(out_, text);
    return true;
  }
  bool write_integer_name(const Node& key) {
    out_ += '"';
    const bool good = write_number(key);
    out_ += '"';
    return good;
  }
  bool write_pairs(const Node& node, std::uint32_t count) {
    out_ += '[';
    for (std::uint32_t i = 0; i < count; ++i) {
      out_ += i == 0 ? "[" : ",[";
      if (!write_part(node, 0)) return false;
      out_ += ',';
      if (!write_part(node, 1)) return false;
      out_ += ']';
    }
    out_ += ']';
    return true;
  }

  /// An object by names, or an array where there are none; the values of a message are an array.
  bool write_members(std::uint32_t index, const Node& node) {
    const bool names = types_.has_names(node) && index != 0;
    out_ += names ? '{' : '[';
    for (std::uint32_t place = 0; place < node.count; ++place) {
      if (place != 0) out_ += ',';
      const TypeDescription::Part& part = types_.part(node, place);
      if (names) {
        out_ += '"';
        out_ += types_.name(part);  // letters, digits and the like
        out_ += "\":";
      }
      if (!write_value(part.node)) return false;
    }
    out_ += names ? '}' : ']';
    return true;
  }

  /// A value that may be null itself is put into an array, so that null is the empty optional alone.
  bool write_present(const Node& node) {
    const bool wraps = part_node(node, 0).shape == Shape::kOptional;
    if (wraps) out_ += '[';
    if (!write_part(node, 0)) return false;
    if (wraps) out_ += ']';
    return true;
  }
  bool write_optional(const Node& node) {
    bool present;
    if (!from_.read_flag(present)) return false;
    if (present) return write_present(node);
    out_ += "null";
    return true;
  }
  bool write_variant(const Node& node) {
    std::uint8_t index;
    if (!from_.read_number(index)) return false;
    if (index >= node.count) return from_.fail(DecodeFault::kVariant);
    out_ += "{\"";
    out_ += std::to_string(index);
    out_ += "\":";
    if (!write_part(node, index)) return false;
    out_ += '}';
    return true;
  }

  bool write_outcome(const Node& node) {
    bool ok;
    if (!from_.read_flag(ok)) return false;
    const bool expected = node.shape == Shape::kExpected;
    out_ += ok ? "{\"value\":" : "{\"error\":";
    if (ok && node.count == (expected ? 1U : 0U))
      out_ += "null";
    else if (!(ok || expected ? write_part(node, ok ? 0 : node.count - 1) : write_failure()))
      return false;
    out_ += '}';
    return true;
  }
  bool write_failure() {
    std::uint8_t code, layer, retry;
    std::int32_t native;
    if (!from_.read_number(code) || !from_.read_number(layer) || !from_.read_number(retry) ||
        !from_.read_number(native)) {
      return false;
    }
    const bool has_wait = (retry & codec_detail::kFailureHasWait) != 0;
    const bool has_details = (retry & codec_detail::kFailureHasDetails) != 0;
    retry &= static_cast<std::uint8_t>(~(codec_detail::kFailureHasWait | codec_detail::kFailureHasDetails));
    if (code == 0 || !is_status_code(code) || layer > static_cast<unsigned>(Layer::kRpc) ||
        retry > static_cast<unsigned>(Retry::kReconnect)) {
      return from_.fail(DecodeFault::kStatus);
    }
    out_ += "{\"code\":";
    append_string(out_, to_string(StatusCode{code}));
    out_ += ",\"layer\":";
    append_string(out_, to_string(Layer{layer}));
    out_ += ",\"retry\":";
    append_string(out_, to_string(Retry{retry}));
    out_ += ",\"native\":";
    out_ += std::to_string(native);
    out_ += ",\"message\":";
    if (!write_text()) return false;
    if (has_wait) {
      std::uint32_t wait;
      if (!from_.read_number(wait)) return false;
      out_ += ",\"retry_after_ms\":";
      out_ += std::to_string(wait);
    }
    if (has_details) {
      std::string_view details;
      if (!read_text(details)) return false;
      if (details.size() > kStatusDetailsMax) return from_.fail(DecodeFault::kStatus);
      out_ += ",\"details\":";
      write_base64(as_bytes(details));
    }
    out_ += '}';
    return true;
  }

  /// The integer or floating-point number that a duration or time consists of.
  const Node& rep_of(const Node& node) const {
    const Node& inside = part_node(node, 0);
    return node.shape == Shape::kDuration ? inside : part_node(inside, 0);
  }
  bool write_time(const Node& node) {
    const Node& rep = rep_of(node);
    if (node.number == 0) return write_number(rep);
    const std::byte* bytes;
    if (!from_.take(rep.width, bytes)) return false;
    const Int128 ticks = load_integer(bytes, rep.width, rep.shape == Shape::kSigned);
    out_ += '"';
    if (node.shape == Shape::kTime)
      append_time(out_, ticks, node.number);
    else
      append_duration(out_, ticks, node.number);
    out_ += '"';
    return true;
  }

  /// Reads what follows the values, and puts the additions that are present into their holes.
  bool write_additions() {
    if (holes_.empty()) {
      return from_.remaining() == 0 || codec_detail::is_trailer(from_.rest()) ||
             from_.fail(DecodeFault::kTrailer);
    }
    std::vector<std::uint32_t> nodes(types_.additions());
    for (const Hole& hole : holes_) nodes[types_.node(hole.node).number] = hole.node;
    std::string values;
    std::vector<std::pair<std::size_t, std::size_t>> ends(types_.additions());
    std::swap(values, out_);
    for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
      ends[slot].first = out_.size();
      if (from_.remaining() != 0 && !write_addition(types_.node(nodes[slot]))) return false;
      ends[slot].second = out_.size();
    }
    if (from_.remaining() != 0 && !codec_detail::is_trailer(from_.rest())) {
      return from_.fail(DecodeFault::kTrailer);
    }
    std::swap(values, out_);
    fill_holes(values, ends);
    return true;
  }
  bool write_addition(const Node& node) {
    std::uint32_t size;
    if (!from_.read_number(size)) return false;
    if (size == codec_detail::kAbsent) return true;
    if (size > from_.remaining()) return from_.fail(DecodeFault::kTrailer);
    const std::byte* const end = from_.narrow(size);
    if (!write_present(node)) return false;
    if (from_.remaining() != 0) return from_.fail(DecodeFault::kTrailer);
    from_.widen(end);
    return true;
  }
  void fill_holes(const std::string& values, const std::vector<std::pair<std::size_t, std::size_t>>& ends) {
    constexpr std::size_t kNull = 4;
    std::string filled;
    filled.reserve(out_.size() + values.size());
    std::size_t done = 0;
    for (const Hole& hole : holes_) {
      const auto& [begin, end] = ends[types_.node(hole.node).number];
      if (begin == end) continue;
      filled.append(out_, done, hole.at - kNull - done);
      filled.append(values, begin, end - begin);
      done = hole.at;
    }
    filled.append(out_, done);
    out_ = std::move(filled);
  }

  const TypeDescription& types_;
  Bytes message_;
  DecodeArena arena_;
  Decoder from_;
  std::string& out_;
  std::size_t bytes_max_;
  unsigned depth_ = 0;
  std::uint64_t empty_elements_left_ = CodecLimits::kEmptyElementsMax;
  bool pairs_ = false;
  bool needs_pairs_ = false;
  std::vector<Hole> holes_;
  KeyCheck keys_;
  Status failure_;
};

}  // namespace

Status to_json(const TypeDescription& types, Bytes message, std::string& out, std::size_t bytes_max) {
  JsonWriter writer{types, message, out, bytes_max};
  Status written = writer.write();
  if (!writer.needs_pairs()) return written;
  JsonWriter again{types, message, out, bytes_max};
  again.use_pairs();
  return again.write();
}

void append_json_string(std::string& out, std::string_view text) {
  if (valid_utf8(as_bytes(text)) == text.size()) return append_string(out, text);
  std::string replaced;
  while (!text.empty()) {
    const std::size_t plain = valid_utf8(as_bytes(text));
    replaced.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    replaced += "\xEF\xBF\xBD";
    text.remove_prefix(1);
  }
  append_string(out, replaced);
}

}  // namespace weft::detail
