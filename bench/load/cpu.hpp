// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"

namespace weft::load {

/// Reads "0", "0,2" or "0-3,6". Errors: kInvalidArgument with an example of what is right.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

/// Pins the calling thread to `cpus[index % cpus.size()]`; does nothing when `cpus` is empty.
/// Errors: kInvalidArgument when this machine does not have or does not grant that processor.
Status pin_this_thread(const std::vector<int>& cpus, std::size_t index);

/// Processor time of this process so far, user and system, in nanoseconds.
std::int64_t process_cpu_ns();

/// The monotonic clock in nanoseconds.
std::int64_t now_ns();

/// Lets this process open as many files as the system grants; a server of 10,000 connections needs it.
void raise_file_limit();

}  // namespace weft::load
