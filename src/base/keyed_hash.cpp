// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/keyed_hash.hpp"

#include <bit>

#include "weft/detail/base/random_numbers.hpp"

namespace weft::detail {

namespace {

struct State {
  std::uint64_t a, b, c, d;

  void mix() noexcept {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32) + d;
    c += b;
    b = std::rotl(b, 17) ^ c;
    d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  }
  void take(std::uint64_t word) noexcept {
    d ^= word;
    mix();
    mix();
    a ^= word;
  }
};

}  // namespace

KeyedHash KeyedHash::of_system() noexcept {
  RandomNumbers low = RandomNumbers::of_system();
  RandomNumbers high = RandomNumbers::of_system();
  return {low.next(), high.next()};
}

std::uint64_t KeyedHash::operator()(Bytes bytes) const noexcept {
  State state{low_ ^ 0x736f6d6570736575u, high_ ^ 0x646f72616e646f6du, low_ ^ 0x6c7967656e657261u,
              high_ ^ 0x7465646279746573u};
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state.take(load_le<std::uint64_t>(bytes.data()));
  for (std::size_t i = 0; i < bytes.size(); ++i) last |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  state.take(last);
  state.c ^= 0xFF;
  for (int i = 0; i < 4; ++i) state.mix();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace weft::detail
