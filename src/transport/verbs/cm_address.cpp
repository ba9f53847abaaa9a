// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/cm_address.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail::verbs_carrier {

namespace {

constexpr std::size_t kPortAt = CarrierTerms::kEncodedBytes;
constexpr std::size_t kTokenAt = 16;
constexpr std::size_t kListeningBytes = kTokenAt + sizeof(CmToken);
constexpr std::array<std::byte, 4> kMark{std::byte{'w'}, std::byte{'e'}, std::byte{'f'}, std::byte{1}};

bool all_zero(Bytes bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
}

}  // namespace

std::string CmAddress::encode() const {
  std::string text(listening ? kListeningBytes : CarrierTerms::kEncodedBytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(text.data());
  terms.encode(at);
  if (listening) {
    store_le(at + kPortAt, listening->port);
    std::memcpy(at + kTokenAt, listening->token.data(), sizeof(CmToken));
  }
  return text;
}

Result<CmAddress> CmAddress::decode(std::string_view from) {
  const Bytes bytes = as_bytes(from);
  if (bytes.size() != CarrierTerms::kEncodedBytes && bytes.size() != kListeningBytes) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                  "the peer's address for rdma_cm is of another length"};
  }
  const auto terms = CarrierTerms::decode(bytes);
  if (!terms.ok()) return terms.status();
  CmAddress address{.terms = *terms};
  if (bytes.size() == CarrierTerms::kEncodedBytes) return address;
  CmListening& listening = address.listening.emplace();
  listening.port = load_le<std::uint16_t>(bytes.data() + kPortAt);
  std::memcpy(listening.token.data(), bytes.data() + kTokenAt, sizeof(CmToken));
  if (listening.port == 0 || !all_zero(bytes.subspan(kPortAt + 2, kTokenAt - kPortAt - 2))) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                  "the peer's address for rdma_cm has no port, or bits that nobody knows"};
  }
  return address;
}

std::array<std::byte, kCmRequestBytes> encode_request(const CmToken& token) noexcept {
  std::array<std::byte, kCmRequestBytes> made{};
  std::copy(kMark.begin(), kMark.end(), made.begin());
  std::copy(token.begin(), token.end(), made.begin() + kMark.size());
  return made;
}

std::optional<CmToken> decode_request(Bytes private_data) noexcept {
  if (private_data.size() < kCmRequestBytes) return std::nullopt;
  if (!std::equal(kMark.begin(), kMark.end(), private_data.begin())) return std::nullopt;
  if (!all_zero(private_data.subspan(kCmRequestBytes))) return std::nullopt;
  CmToken token;
  std::memcpy(token.data(), private_data.data() + kMark.size(), sizeof token);
  return token;
}

}  // namespace weft::detail::verbs_carrier
