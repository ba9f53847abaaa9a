// SPDX-License-Identifier: Apache-2.0
#include "naming/srv_answer.hpp"

#include <ares.h>

#include <algorithm>
#include <utility>

#include "naming/endpoint_text.hpp"

namespace weft::detail {

namespace {

constexpr std::uint16_t kSrvType = 33;

/// Walks through a DNS message; after a step beyond its end every further one fails too.
class MessageCursor {
 public:
  explicit MessageCursor(std::span<const unsigned char> message) : message_(message) {}

  bool ok() const noexcept { return ok_; }
  std::size_t at() const noexcept { return at_; }
  void skip(std::size_t bytes) { ok_ = ok_ && bytes <= message_.size() - at_, at_ += ok_ ? bytes : 0; }

  std::uint32_t number(std::size_t bytes) {
    const std::size_t from = at_;
    skip(bytes);
    std::uint32_t value = 0;
    for (std::size_t i = 0; ok_ && i < bytes; ++i) value = value << 8 | message_[from + i];
    return value;
  }

  std::string name() {
    if (!ok_ || at_ >= message_.size()) {
      ok_ = false;
      return {};
    }
    char* text = nullptr;
    long bytes = 0;
    if (ares_expand_name(message_.data() + at_, message_.data(), static_cast<int>(message_.size()), &text,
                         &bytes) != ARES_SUCCESS) {
      ok_ = false;
      return {};
    }
    std::string name{text};
    ares_free_string(text);
    skip(static_cast<std::size_t>(bytes));
    return name;
  }

 private:
  std::span<const unsigned char> message_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

Result<SrvAnswer> read_srv_answer(std::span<const unsigned char> message) {
  const Status malformed = bad_name("the DNS server's answer is malformed");
  if (message.size() > 65535) return malformed;
  MessageCursor cursor{message};
  cursor.skip(4);
  const std::uint32_t questions = cursor.number(2);
  const std::uint32_t answers = cursor.number(2);
  cursor.skip(4);
  for (std::uint32_t i = 0; cursor.ok() && i < questions; ++i) {
    cursor.name();
    cursor.skip(4);
  }
  SrvAnswer answer{.ttl_seconds = 0xffffffffu};
  for (std::uint32_t i = 0; cursor.ok() && i < answers; ++i) {
    cursor.name();
    const std::uint32_t type = cursor.number(2);
    cursor.skip(2);
    const std::uint32_t ttl = cursor.number(4);
    const std::uint32_t bytes = cursor.number(2);
    const std::size_t end = cursor.at() + bytes;
    if (type != kSrvType) {
      cursor.skip(bytes);
      continue;
    }
    SrvRecord record;
    record.priority = static_cast<std::uint16_t>(cursor.number(2));
    record.weight = static_cast<std::uint16_t>(cursor.number(2));
    record.port = static_cast<std::uint16_t>(cursor.number(2));
    record.target = cursor.name();
    if (!cursor.ok() || cursor.at() != end) return malformed;
    // Above 2^31 a TTL means zero.
    answer.ttl_seconds = std::min(answer.ttl_seconds, ttl > 0x7fffffffu ? 0 : ttl);
    answer.records.push_back(std::move(record));
  }
  if (!cursor.ok()) return malformed;
  return answer;
}

}  // namespace weft::detail
