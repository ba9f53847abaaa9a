// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "perf/measurement.hpp"
#include "perf/payload_types.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// The four ways in which a payload travels. Each is one coroutine's: `call(tag)` makes the call to be
/// awaited, `intact(answer, tag)` looks at what came back. Nothing is allocated for a call.

inline bool matches(const SeenPayload& answer, const load::ClientOptions& options, std::uint64_t tag) {
  const std::uint64_t tag_bytes = std::min(options.size_bytes, options.answer_bytes());
  return answer.pattern_intact && answer.bytes == options.answer_bytes() &&
         answer.tag == load::truncated_tag(tag, tag_bytes);
}

class EchoBody {
 public:
  EchoBody(Measurement& measurement, Client& client)
      : options_(measurement.options()), client_(client), request_{measurement.pattern()} {}

  auto call(std::uint64_t tag) {
    request_.tag = tag;
    return client_.call<remote<"perf/echo", SeenPayload(TaggedPattern)>>(request_);
  }
  bool intact(const SeenPayload& answer, std::uint64_t tag) const { return matches(answer, options_, tag); }

 private:
  const load::ClientOptions& options_;
  Client& client_;
  TaggedPattern request_;
};

class GeneratedBody {
 public:
  GeneratedBody(Measurement& measurement, Client& client)
      : options_(measurement.options()), client_(client), request_{measurement.pattern()} {}

  auto call(std::uint64_t tag) {
    request_.tag = tag;
    return client_.call<remote<"perf/generate", SeenPayload(TaggedPattern, std::uint64_t)>>(
        request_, options_.answer_bytes());
  }
  bool intact(const SeenPayload& answer, std::uint64_t tag) const { return matches(answer, options_, tag); }

 private:
  const load::ClientOptions& options_;
  Client& client_;
  TaggedPattern request_;
};

/// The tag and the shared pattern, gathered; and the buffer that answers land in, used again for each.
class AttachmentMemory {
 public:
  explicit AttachmentMemory(Measurement& measurement) : landing_(measurement.take_landing()) {
    const Bytes pattern = measurement.pattern();
    const std::size_t tag_bytes = std::min(pattern.size(), tag_.size());
    pieces_ = {Bytes{tag_}.first(tag_bytes), pattern.subspan(tag_bytes)};
    call_options_.landing = landing_;
    if (!pattern.empty()) call_options_.attachment = AttachmentView{std::span<const Bytes>{pieces_}};
  }
  AttachmentMemory(const AttachmentMemory&) = delete;
  AttachmentMemory& operator=(const AttachmentMemory&) = delete;

  const CallOptions& tagged(std::uint64_t tag) {
    load::write_tag(tag_, tag);
    return call_options_;
  }
  SeenPayload look_at_landing(std::size_t bytes) const { return look_at(Bytes{landing_}.first(bytes)); }

 private:
  std::array<std::byte, load::kTagBytes> tag_{};
  std::array<Bytes, 2> pieces_;
  MutableBytes landing_;
  CallOptions call_options_;
};

class EchoAttachment {
 public:
  EchoAttachment(Measurement& measurement, Client& client)
      : options_(measurement.options()), client_(client), memory_(measurement) {}

  auto call(std::uint64_t tag) {
    return client_.call<remote<"perf/echo_attachment", void()>>(memory_.tagged(tag)).with_attachment();
  }
  bool intact(const Answer<void>& answer, std::uint64_t tag) const {
    return matches(memory_.look_at_landing(answer.attachment_bytes), options_, tag);
  }

 private:
  const load::ClientOptions& options_;
  Client& client_;
  AttachmentMemory memory_;
};

class GeneratedAttachment {
 public:
  GeneratedAttachment(Measurement& measurement, Client& client)
      : options_(measurement.options()), client_(client), memory_(measurement) {}

  auto call(std::uint64_t tag) {
    return client_
        .call<remote<"perf/generate_attachment", std::uint64_t(std::uint64_t)>>(memory_.tagged(tag),
                                                                                options_.answer_bytes())
        .with_attachment();
  }
  bool intact(const Answer<std::uint64_t>& answer, std::uint64_t tag) const {
    const SeenPayload seen = memory_.look_at_landing(answer.attachment_bytes);
    return seen.pattern_intact && seen.bytes == options_.answer_bytes() &&
           seen.tag == load::truncated_tag(load::pattern_word(0), seen.bytes) &&
           answer.value == load::truncated_tag(tag, options_.size_bytes);
  }

 private:
  const load::ClientOptions& options_;
  Client& client_;
  AttachmentMemory memory_;
};

}  // namespace weft::perf
