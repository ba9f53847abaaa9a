// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/calls/terms/method_key.hpp"

namespace weft::protobuf {

/// Sides of a method that send streams of messages.
enum class Streams : std::uint8_t { kNone, kRequests, kResponses, kBoth };

namespace detail {

constexpr std::uint32_t schema_of(std::string_view input, std::string_view output) {
  const std::uint64_t mixed = (weft::detail::hash_name(input) * 0x9e3779b97f4a7c15u) ^
                              (weft::detail::hash_name(output) * 0xff51afd7ed558ccdu);
  return static_cast<std::uint32_t>(mixed >> 32);
}
/// A method of one kind is not called as one of another.
constexpr std::uint32_t schema_of(Streams streams, std::uint32_t messages) {
  return messages ^ static_cast<std::uint32_t>(streams) * 0x9e3779b1u;
}
/// "protobuf demo.EchoRequest -> demo.EchoResponse", with "stream of " before a stream.
template <Streams kStreams>
std::string schema_text(const weft::detail::MethodKey& self) {
  const auto side = [](Streams its, std::string_view name) {
    const bool streams = kStreams == its || kStreams == Streams::kBoth;
    return std::string{streams ? "stream of " : ""}.append(name);
  };
  return "protobuf " + side(Streams::kRequests, self.takes) + " -> " + side(Streams::kResponses, self.gives);
}
constexpr auto schema_text_of(Streams streams) {
  switch (streams) {
    case Streams::kRequests:
      return &schema_text<Streams::kRequests>;
    case Streams::kResponses:
      return &schema_text<Streams::kResponses>;
    case Streams::kBoth:
      return &schema_text<Streams::kBoth>;
    case Streams::kNone:
      break;
  }
  return &schema_text<Streams::kNone>;
}

}  // namespace detail

/// The key of a service's method: its id is derived from the full name, "package.Service/Method", and its
/// schema from the full names of its two messages, so that a call with other messages is refused with that
/// reason. `idempotent`: its idempotency_level in the .proto is NO_SIDE_EFFECTS or IDEMPOTENT. The views must
/// outlive the key and its copies: literals in generated code, a Descriptor's own strings elsewhere.
constexpr weft::detail::MethodKey make_method(std::string_view name, std::string_view input,
                                              std::string_view output, bool idempotent = false,
                                              Streams streams = Streams::kNone) {
  return {weft::detail::hash_name(name),
          detail::schema_of(streams, detail::schema_of(input, output)),
          name,
          detail::schema_text_of(streams),
          input,
          output,
          false,
          idempotent,
          streams != Streams::kNone};
}

}  // namespace weft::protobuf
