// SPDX-License-Identifier: Apache-2.0
// Any bytes as a message of many types. What is accepted must come back from its own encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weft/detail/codec/codec.hpp"

namespace {

struct Tree {
  std::uint8_t value = 0;
  std::vector<Tree> children;
  std::unique_ptr<Tree> other;
};
struct Point {
  float x = 0, y = 0;
};
struct Record {
  std::string name;
  weft::Compatible<std::vector<double>, 3> later;
  std::vector<Point> points;
  std::optional<std::variant<bool, std::string, std::vector<std::uint16_t>>> choice;
  std::map<std::string, std::list<std::tuple<bool, std::int16_t>>> table;
  weft::Compatible<std::string, 2> sooner;
};

/// The encoding of what was decoded must be decodable, to something of the same size.
template <typename T>
void check(weft::Bytes message) {
  weft::detail::DecodeArena arena;
  T first{};
  if (!weft::detail::decode_from(message, arena, first).ok()) return;
  std::vector<std::byte> once(weft::detail::encoded_size(first));
  weft::detail::encode_to(once.data(), once.size(), first);
  T second{};
  if (!weft::detail::decode_from(once, arena, second).ok()) std::abort();
  if (weft::detail::encoded_size(second) != once.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const weft::Bytes message{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  switch (data[0] % 8) {
    case 0:
      check<Record>(message);
      break;
    case 1:
      check<Tree>(message);
      break;
    case 2:
      check<std::tuple<std::string_view, std::span<const double>, std::span<const Point>>>(message);
      break;
    case 3:
      check<std::unordered_map<std::uint32_t, std::unordered_set<std::string>>>(message);
      break;
    case 4:
      check<std::vector<std::vector<std::monostate>>>(message);
      break;
    case 5:
      check<std::pair<std::multimap<std::uint8_t, std::deque<bool>>, std::multiset<std::int64_t>>>(message);
      break;
    case 6:
      check<std::vector<weft::Result<std::unique_ptr<std::array<long double, 2>>>>>(message);
      break;
    default:
      check<std::tuple<>>(message);
      break;
  }
  return 0;
}
