// SPDX-License-Identifier: Apache-2.0
// EXPECT: it returns a view, or a type that holds one, and a parameter
#include <array>
#include <span>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
std::span<const int> without_zeros(const std::array<int, 16>& numbers);
#else
std::span<const int> without_zeros(std::array<int, 16> numbers);
#endif

void serve(weft::Server& server) {
  server.register_handler<without_zeros>();
}
