// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::testing {

/// Counts how often a program that links kernel_calls.cpp has asked the kernel to send, to receive, to ring a
/// device, or for what has happened, over all its connections. For programs of one thread.
std::size_t kernel_calls() noexcept;

}  // namespace weft::testing
