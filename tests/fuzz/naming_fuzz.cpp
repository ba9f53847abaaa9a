// SPDX-License-Identifier: Apache-2.0
// Everything that naming reads from others: lines of files, answers of DNS servers and of etcd. The first
// byte says which; an endpoint that is accepted can be written and read back.
#include <cstdint>
#include <string_view>

#include "naming/endpoint_text.hpp"
#include "naming/etcd_json.hpp"
#include "naming/srv_answer.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft {

using namespace weft::detail;
namespace {

void check_endpoint_lines(std::string_view text) {
  constexpr std::size_t kEndpointsMax = 100;
  const auto endpoints = parse_lines(text, kEndpointsMax);
  if (!endpoints.ok()) return;
  WEFT_ASSERT(endpoints->size() <= kEndpointsMax, "more endpoints than allowed were accepted");
  for (const Endpoint& endpoint : *endpoints) {
    const auto again = parse_endpoint(to_text(endpoint));
    WEFT_ASSERT(again.ok() && *again == endpoint, "an endpoint does not survive being written");
  }
}

void check_srv_answer(std::string_view message) {
  const auto answer =
      read_srv_answer({reinterpret_cast<const unsigned char*>(message.data()), message.size()});
  if (!answer.ok()) return;
  // The shortest record has a compressed name of two bytes on either side.
  WEFT_ASSERT(answer->records.size() * 18 <= message.size(), "there are more records than bytes for them");
}

void check_etcd_range(std::string_view text) {
  const auto range = read_range(text);
  if (!range.ok()) return;
  WEFT_ASSERT(range->revision > 0, "a range without a revision was accepted");
  for (const EtcdEntry& entry : range->entries) WEFT_ASSERT(!entry.key.empty(), "an entry has no key");
}

void check_etcd_watch(std::string_view line) {
  const auto entries = read_watch(line);
  if (!entries.ok()) return;
  for (const EtcdEntry& entry : *entries) WEFT_ASSERT(!entry.key.empty(), "an entry has no key");
}

void check_etcd_leases(std::string_view text) {
  const auto granted = read_grant(text);
  WEFT_ASSERT(!granted.ok() || granted->id != 0, "a lease without an id was accepted");
  static_cast<void>(read_keep_alive(text));
}

void check(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  switch (static_cast<unsigned char>(input.front()) % 5) {
    case 0:
      return check_endpoint_lines(rest);
    case 1:
      return check_srv_answer(rest);
    case 2:
      return check_etcd_range(rest);
    case 3:
      return check_etcd_watch(rest);
    default:
      return check_etcd_leases(rest);
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
