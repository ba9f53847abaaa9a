// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/header_fields.hpp"

#include <array>
#include <chrono>
#include <string>

#include "calls/grpc/header_texts.hpp"
#include "weft/detail/base/base64.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::detail::grpc {

namespace {

/// Bytes of a failure's text that are sent: some clients take 8 KiB of headers altogether.
constexpr std::size_t kMessageBytesMax = 2048;

constexpr std::array<std::string_view, 17> kCodes = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                                     "9", "10", "11", "12", "13", "14", "15", "16"};

}  // namespace

void HeaderFields::clear() noexcept {
  fields_.clear();
  own_.clear();
  text_.clear();
}

void HeaderFields::add_constant(std::string_view name, std::string_view value) {
  fields_.push_back({name, value, true});
}

void HeaderFields::add_number(std::string_view name, std::uint64_t value) {
  const std::size_t begin = text_.size();
  text_ += std::to_string(value);
  add_own(name, begin);
}

void HeaderFields::add_answer_head() {
  add_constant(":status", "200");
  add_constant("content-type", "application/grpc");
  add_constant("grpc-accept-encoding", "identity,gzip");
}

void HeaderFields::add_outcome(const Status& outcome) {
  add_constant("grpc-status", kCodes[static_cast<std::size_t>(outcome.code())]);
  if (outcome.ok()) return;
  if (const std::string_view message = outcome.message(); !message.empty()) {
    const std::size_t begin = text_.size();
    append_percent_encoded(text_, message.substr(0, kMessageBytesMax));
    add_own("grpc-message", begin);
  }
  if (!outcome.details().empty()) add_base64("grpc-status-details-bin", outcome.details());
  if (outcome.retry_after() > Duration::zero()) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(outcome.retry_after());
    add_number("grpc-retry-pushback-ms", static_cast<std::uint64_t>(wait.count()));
  }
}

void HeaderFields::add_pairs(MetadataView pairs) {
  for (const auto& [key, value] : pairs) {
    if (is_binary_key(key)) {
      add_base64(key, value);
    } else {
      fields_.push_back({key, value, false});
    }
  }
}

void HeaderFields::add_own(std::string_view name, std::size_t begin) {
  own_.push_back({fields_.size(), begin, text_.size() - begin});
  fields_.push_back({name, {}, false});
}

void HeaderFields::add_base64(std::string_view name, std::string_view bytes) {
  const std::size_t begin = text_.size();
  append_base64(text_, as_bytes(bytes));
  while (text_.size() > begin && text_.back() == '=') text_.pop_back();
  add_own(name, begin);
}

std::span<const Field> HeaderFields::fields() noexcept {
  for (const OwnValue& own : own_) {
    fields_[own.field].value = std::string_view{text_}.substr(own.begin, own.size);
  }
  return fields_;
}

Status check_answer_pairs(MetadataView pairs) {
  for (const auto& [key, value] : pairs) {
    if (!is_metadata_key(key)) {
      return {StatusCode::kInvalidArgument, Layer::kRpc, [name = key] {
                return "gRPC carries no metadata with the key '" + std::string{name.substr(0, 40)} +
                       "': keys are lower-case letters, digits, '-', '_' and '.', and none begins with "
                       "'grpc-'";
              }};
    }
    if (!is_binary_key(key) && !is_plain_value(value)) {
      return {StatusCode::kInvalidArgument, Layer::kRpc, [name = key] {
                return "the value of '" + std::string{name.substr(0, 40)} +
                       "' is not printable ASCII: give the key the ending '-bin'";
              }};
    }
  }
  return {};
}

}  // namespace weft::detail::grpc
