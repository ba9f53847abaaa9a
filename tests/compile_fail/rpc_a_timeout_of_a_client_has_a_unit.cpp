// SPDX-License-Identifier: Apache-2.0
// LATER: a number does not convert to a std::chrono::duration
// EXPECT: duration
#include <chrono>

#include "weft/client.hpp"

using namespace std::chrono_literals;
#ifdef WEFT_COMPILE_FAIL_CONTROL
const weft::ClientOptions options{.connect = "tcp://localhost:1", .call_timeout = 5s};
#else
const weft::ClientOptions options{.connect = "tcp://localhost:1", .call_timeout = 5};
#endif
