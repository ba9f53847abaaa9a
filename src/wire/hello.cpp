// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/hello.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::wire {

namespace {

constexpr std::size_t kCarriersAt = 56;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kCarrierHeadBytes = 4;
constexpr std::size_t kStreamsBytes = 8;
constexpr std::string_view kMagic{"\xF7WFT", 4};

// The beginnings by which other protocols are known.
struct Foreign {
  std::string_view beginning;
  std::string_view name;
};
constexpr Foreign kForeign[] = {
    {"PRI * HTTP/2", "HTTP/2"},
    {"GET ", "HTTP/1"},
    {"POST ", "HTTP/1"},
    {"PUT ", "HTTP/1"},
    {"HEAD ", "HTTP/1"},
    {"DELETE ", "HTTP/1"},
    {"OPTIONS ", "HTTP/1"},
    {"CONNECT ", "HTTP/1"},
    {"HTTP/", "HTTP/1"},
    {"\x16\x03", "TLS: use tls:// at both ends"},
    {"\x15\x03", "TLS: use tls:// at both ends"},
    {"PRPC", "baidu_std"},
    {"SSH-", "SSH"},
};

Status malformed_hello(std::string message, StatusCode code = StatusCode::kInvalidArgument) {
  return {code, Layer::kWire, "hello: " + std::move(message)};
}

// Names the protocol as soon as its beginning is there; "P" alone may become several.
std::string_view foreign_name(std::string_view text) {
  for (const Foreign& foreign : kForeign) {
    if (text.starts_with(foreign.beginning)) return foreign.name;
  }
  return {};
}

std::string feature_names(std::uint64_t features) {
  std::string names;
  if ((features & Features::kChecksum) != 0) names += "checksum ";
  if ((features & Features::kPieces) != 0) names += "attachments in pieces ";
  if ((features & Features::kContinue) != 0) names += "attachments that wait to be asked for ";
  if ((features & Features::kStreams) != 0) names += "streams ";
  if ((features & Features::kItemAttachments) != 0) names += "attachments of items ";
  if ((features & Features::kDetails) != 0) names += "details of failures ";
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t feature = std::uint64_t{1} << bit;
    if ((features & feature & ~Features::kAll) != 0) names += "bit " + std::to_string(bit) + " ";
  }
  names.pop_back();
  return names;
}

bool known_carrier(std::uint8_t number) {
  return number <= static_cast<std::uint8_t>(CarrierKind::kSharedMemory);
}

// Reads the list of carriers that begins at the start of `rest`, which is what follows the list then.
Result<std::vector<CarrierOffer>> decode_carriers(Bytes& rest, std::size_t count) {
  std::vector<CarrierOffer> carriers;
  std::uint64_t seen[4] = {};
  for (; count > 0; --count) {
    if (rest.size() < kCarrierHeadBytes) return malformed_hello("the list of carriers is cut short");
    const auto number = load_le<std::uint8_t>(rest.data());
    const std::size_t bytes = load_le<std::uint16_t>(rest.data() + 2);
    if (rest[1] != std::byte{0}) return malformed_hello("a reserved byte of a carrier is not zero");
    rest = rest.subspan(kCarrierHeadBytes);
    if (rest.size() < bytes) return malformed_hello("the parameters of a carrier are cut short");
    std::uint64_t& word = seen[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    if ((word & bit) != 0) return malformed_hello("carrier " + std::to_string(number) + " is offered twice");
    word |= bit;
    if (known_carrier(number)) {
      carriers.push_back({static_cast<CarrierKind>(number), std::string{as_text(rest.first(bytes))}});
    }
    rest = rest.subspan(bytes);
  }
  return carriers;
}

Status check_envelope(Bytes bytes) {
  const std::size_t end = bytes.size() - kChecksumBytes;
  if (load_le<std::uint64_t>(bytes.data() + end) != crc32c(bytes.first(end))) {
    return malformed_hello("wrong checksum", StatusCode::kDataLoss);
  }
  if (load_le<std::uint16_t>(bytes.data() + 6) != 0 || load_le<std::uint32_t>(bytes.data() + 12) != 0) {
    return malformed_hello("reserved bytes are not zero");
  }
  return {};
}

}  // namespace

std::string_view to_string(CarrierKind kind) {
  switch (kind) {
    case CarrierKind::kStream:
      return "stream";
    case CarrierKind::kUcx:
      return "ucx";
    case CarrierKind::kVerbs:
      return "verbs";
    case CarrierKind::kSharedMemory:
      return "shared memory";
  }
  return "unknown";
}

std::string encode_hello(const Hello& hello) {
  std::size_t size = kCarriersAt;
  for (const CarrierOffer& offer : hello.carriers) size += kCarrierHeadBytes + offer.parameters.size();
  const bool streams = (hello.features_supported & Features::kStreams) != 0;
  const std::size_t additions = padded(size);
  size = additions + (streams ? kStreamsBytes : 0) + kChecksumBytes;
  WEFT_ASSERT(size <= kHelloBytesMax, "what a hello offers must fit into it");
  std::string text(size, '\0');
  auto* at = reinterpret_cast<std::byte*>(text.data());
  std::memcpy(at, kMagic.data(), kMagic.size());
  store_le(at + 4, hello.version);
  store_le(at + 8, static_cast<std::uint32_t>(size - kHelloPrefixBytes));
  store_le(at + 16, hello.features_supported);
  store_le(at + 24, hello.features_required);
  store_le(at + 32, hello.attachment_bytes_max);
  store_le(at + 40, hello.body_bytes_max);
  store_le(at + 44, hello.calls_in_flight_max);
  store_le(at + 48, static_cast<std::uint16_t>(hello.carriers.size()));
  std::byte* carrier = at + kCarriersAt;
  for (const CarrierOffer& offer : hello.carriers) {
    store_le(carrier, offer.kind);
    store_le(carrier + 2, static_cast<std::uint16_t>(offer.parameters.size()));
    std::memcpy(carrier + kCarrierHeadBytes, offer.parameters.data(), offer.parameters.size());
    carrier += kCarrierHeadBytes + offer.parameters.size();
  }
  if (streams) store_le(at + additions, hello.stream_window_bytes);
  const std::size_t end = size - kChecksumBytes;
  store_le<std::uint64_t>(at + end, crc32c({at, end}));
  return text;
}

Result<std::size_t> hello_length(Bytes beginning) {
  const std::string_view text = as_text(beginning);
  const std::size_t magic = std::min(text.size(), kMagic.size());
  if (text.substr(0, magic) != kMagic.substr(0, magic)) {
    const std::string_view name = foreign_name(text);
    if (name.empty()) return malformed_hello("the peer does not speak this protocol");
    return malformed_hello("the peer speaks " + std::string{name});
  }
  if (beginning.size() < kHelloPrefixBytes) return std::size_t{0};
  const std::uint64_t length =
      std::uint64_t{load_le<std::uint32_t>(beginning.data() + 8)} + kHelloPrefixBytes;
  if (length > kHelloBytesMax) {
    return malformed_hello(std::to_string(length) + " bytes of at most " + std::to_string(kHelloBytesMax));
  }
  if (length < kCarriersAt + kChecksumBytes || length % 8 != 0) {
    return malformed_hello(std::to_string(length) + " bytes cannot be a hello's length");
  }
  return static_cast<std::size_t>(length);
}

Result<Hello> decode_hello(Bytes bytes) {
  auto length = hello_length(bytes);
  if (!length) return std::move(length).status();
  if (*length == 0 || *length != bytes.size()) return malformed_hello("cut short or followed by more");
  Status envelope = check_envelope(bytes);
  if (!envelope.ok()) return envelope;
  Hello hello;
  const std::byte* at = bytes.data();
  hello.version = load_le<std::uint16_t>(at + 4);
  if (hello.version != kVersion) {
    return malformed_hello("the peer speaks version " + std::to_string(hello.version) +
                               ", this build version " + std::to_string(kVersion),
                           StatusCode::kFailedPrecondition);
  }
  hello.features_supported = load_le<std::uint64_t>(at + 16);
  hello.features_required = load_le<std::uint64_t>(at + 24);
  hello.attachment_bytes_max = load_le<std::uint64_t>(at + 32);
  hello.body_bytes_max = load_le<std::uint32_t>(at + 40);
  hello.calls_in_flight_max = load_le<std::uint32_t>(at + 44);
  if ((hello.features_required & ~hello.features_supported) != 0) {
    return malformed_hello("requires a feature that it does not support");
  }
  const std::uint64_t unknown = hello.features_required & ~Features::kAll;
  if (unknown != 0) {
    return malformed_hello("the peer requires " + feature_names(unknown) + ", which this build lacks",
                           StatusCode::kFailedPrecondition);
  }
  if (load_le<std::uint64_t>(at + 48) >> 16 != 0) return malformed_hello("reserved bytes are not zero");
  Bytes rest = bytes.subspan(kCarriersAt, bytes.size() - kCarriersAt - kChecksumBytes);
  auto carriers = decode_carriers(rest, load_le<std::uint16_t>(at + 48));
  if (!carriers) return std::move(carriers).status();
  hello.carriers = *std::move(carriers);
  if ((hello.features_supported & Features::kStreams) != 0) {
    // The size of the hello is a multiple of 8, so the rest after the zeros is too.
    rest = rest.last(rest.size() / 8 * 8);
    if (rest.size() < kStreamsBytes) return malformed_hello("the window of streams is missing");
    hello.stream_window_bytes = load_le<std::uint32_t>(rest.data());
  }
  return hello;
}

Result<std::uint64_t> agree_features(const Hello& ours, const Hello& theirs) {
  const std::uint64_t they_lack = ours.features_required & ~theirs.features_supported;
  if (they_lack != 0) {
    return malformed_hello("we require " + feature_names(they_lack) + ", which the peer lacks",
                           StatusCode::kFailedPrecondition);
  }
  const std::uint64_t we_lack = theirs.features_required & ~ours.features_supported;
  if (we_lack != 0) {
    return malformed_hello("the peer requires " + feature_names(we_lack) + ", which we lack",
                           StatusCode::kFailedPrecondition);
  }
  return ours.features_supported & theirs.features_supported;
}

}  // namespace weft::detail::wire
