// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "info/carrier_facts.hpp"
#include "info/tls/kernel_tls.hpp"

namespace weft::info {

/// The connection's base carrier, TCP or a Unix socket: every machine has it, and there is nothing to ask but
/// what the kernel has of TLS. `kernel` is its answer, if that is known before look().
std::unique_ptr<CarrierFacts> stream_carrier(std::optional<KernelAnswer> kernel = {});

}  // namespace weft::info
