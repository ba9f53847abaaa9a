// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "info/carrier_facts.hpp"

namespace weft::info {

/// The connection's own stream, TCP or a Unix socket: every machine has it, and there is nothing to ask.
std::unique_ptr<CarrierFacts> stream_carrier();

}  // namespace weft::info
