// SPDX-License-Identifier: Apache-2.0
#include "describe/json_tokens.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "describe/json_path.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::detail {

/// Collects the tokens that the parser of nlohmann-json reports. Its functions return false to stop it.
class JsonTokenizer {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  JsonTokenizer(JsonTokens& to, std::size_t text_bytes, std::string_view title)
      : to_(to), title_(title), tokens_max_(text_bytes / 2 + kOpenMax + 2) {}

  bool null() { return add(JsonKind::kNull, 0, 0); }
  bool boolean(bool value) { return add(value ? JsonKind::kTrue : JsonKind::kFalse, 0, 0); }
  /// The parser reports numbers with a minus here.
  bool number_integer(number_integer_t value) {
    return add(JsonKind::kNegative, 0, static_cast<std::uint64_t>(value));
  }
  bool number_unsigned(number_unsigned_t value) { return add(JsonKind::kUnsigned, 0, value); }
  bool number_float(number_float_t, const string_t& text) { return add_text(JsonKind::kNumber, text); }
  bool string(string_t& text) { return add_text(JsonKind::kString, text); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(JsonKind::kObject); }
  bool key(string_t& name) {
    last_name_ = to_.tokens_.size();
    return put_text(JsonKind::kString, name);
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(JsonKind::kArray); }
  bool end_array() { return close(); }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& error) {
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) return fail("a number is too large for any type");
    return fail("no valid JSON at byte " + std::to_string(position));
  }

  const Status& failure() const { return failure_; }

 private:
  void put(const JsonToken& token) {
    std::vector<JsonToken>& tokens = to_.tokens_;
    if (tokens.size() == tokens.capacity()) {
      tokens.reserve(std::min(std::max(2 * tokens.capacity(), kTokensMin), tokens_max_));
    }
    tokens.push_back(token);
  }
  bool add(JsonKind kind, std::uint32_t size, std::uint64_t value) {
    if (!open_.empty()) ++to_.tokens_[open_.back()].size;
    put({kind, size, value});
    return true;
  }
  bool put_text(JsonKind kind, std::string_view text) {
    put({kind, static_cast<std::uint32_t>(text.size()), to_.texts_.size()});
    to_.texts_.append(text);
    return true;
  }
  bool add_text(JsonKind kind, std::string_view text) {
    if (!open_.empty()) ++to_.tokens_[open_.back()].size;
    return put_text(kind, text);
  }
  bool open(JsonKind kind) {
    if (open_.size() == kOpenMax) return fail("values are nested too deeply");
    add(kind, 0, 0);
    open_.push_back(static_cast<std::uint32_t>(to_.tokens_.size() - 1));
    return true;
  }
  bool close() {
    to_.tokens_[open_.back()].value = to_.tokens_.size();
    open_.pop_back();
    return true;
  }

  /// Always false.
  bool fail(const std::string& reason) {
    failure_ = Status{StatusCode::kInvalidArgument, Layer::kCodec, [&] { return path() + ": " + reason; }};
    return false;
  }
  /// The place where the text ended: below each open array or object.
  std::string path() const {
    std::string path{title_};
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const JsonToken& token = to_.tokens_[open_[i]];
      const bool last = i + 1 == open_.size();
      if (token.kind == JsonKind::kArray) {
        append_element(path, last ? token.size : token.size - 1);
      } else if (!last) {
        append_member(path, to_.text(to_.tokens_[open_[i + 1] - 1]));
      } else if (last_name_ > open_[i]) {
        append_member(path, to_.text(to_.tokens_[last_name_]));
      }
    }
    return path;
  }

  /// Each value of a type takes up to two levels of JSON.
  static constexpr std::size_t kOpenMax = 2 * JsonBounds::kDepthMax;
  static constexpr std::size_t kTokensMin = 16;

  JsonTokens& to_;
  std::string_view title_;
  /// A token takes two bytes of text or more, except brackets that are open.
  std::size_t tokens_max_;
  std::vector<std::uint32_t> open_;
  std::size_t last_name_ = 0;
  Status failure_;
};

Status JsonTokens::parse(std::string_view text, std::string_view title) {
  tokens_.clear();
  texts_.clear();
  // The parser takes a zero byte for the end, and skips a byte order mark.
  const bool foreign = text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos;
  if (foreign || text.size() > kTextBytesMax) {
    return {StatusCode::kInvalidArgument, Layer::kCodec, [&] {
              return std::string{title} + (foreign ? ": no valid JSON: a byte order mark or a zero byte"
                                                   : ": the text is too long");
            }};
  }
  JsonTokenizer tokenizer{*this, text.size(), title};
  nlohmann::json::sax_parse(text.begin(), text.end(), &tokenizer);
  return tokenizer.failure();
}

}  // namespace weft::detail
