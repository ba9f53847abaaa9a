// SPDX-License-Identifier: Apache-2.0
// What peers send to bring RDMA up and over it: addresses of queue pairs, names of remote memory, the heads
// of messages, and addresses and requests of rdma_cm. The first byte of the input says which.
#include <algorithm>
#include <cstring>

#include "transport/message_header.hpp"
#include "transport/verbs/cm_address.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/verbs/address_info.hpp"
#include "weft/detail/verbs/memory.hpp"

namespace weft {

using namespace weft::detail;
namespace {

void check_address(Bytes input) {
  const auto address = verbs::AddressInfo::decode(input);
  if (!address.ok()) {
    WEFT_ASSERT(!address.status().message().empty(), "a refusal says why");
    return;
  }
  WEFT_ASSERT(std::ranges::equal(address->encode(), input), "what was read does not survive being written");
}

void check_remote_memory(Bytes input) {
  const auto memory = verbs::RemoteMemory::decode(input);
  if (!memory) return;
  WEFT_ASSERT(memory->address + memory->bytes >= memory->address, "memory beyond the end of all");
  WEFT_ASSERT(std::ranges::equal(memory->encode(), input), "what was read does not survive being written");
}

void check_message(Bytes input) {
  const auto header = load_message_header(input);
  if (!header) return;
  WEFT_ASSERT(header->kind >= MessageKind::kProbe && header->kind <= kLastMessageKind,
              "an unknown kind was accepted");
  std::array<std::byte, kMessageHeaderBytes> again{};
  store_message_header(again.data(), *header);
  WEFT_ASSERT(std::ranges::equal(again, input.first(again.size())),
              "what was read does not survive being written");
}

void check_cm_address(Bytes input) {
  const auto address = verbs_carrier::CmAddress::decode(as_text(input));
  if (!address.ok()) {
    WEFT_ASSERT(!address.status().message().empty(), "a refusal says why");
    return;
  }
  WEFT_ASSERT(address->encode() == as_text(input), "what was read does not survive being written");
}

void check_cm_request(Bytes input) {
  const auto token = verbs_carrier::decode_request(input);
  if (!token) return;
  WEFT_ASSERT(
      std::ranges::equal(verbs_carrier::encode_request(*token), input.first(verbs_carrier::kCmRequestBytes)),
      "what was read does not survive being written");
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const weft::Bytes input{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  switch (data[0] % 5) {
    case 0:
      weft::check_address(input);
      break;
    case 1:
      weft::check_remote_memory(input);
      break;
    case 2:
      weft::check_message(input);
      break;
    case 3:
      weft::check_cm_address(input);
      break;
    default:
      weft::check_cm_request(input);
  }
  return 0;
}
