// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "perf/measurement.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// Opens one stream of `measurement`, of the way that its options ask for, and counts its items until the
/// measurement is over or the stream fails. Items that follow each other without a wait are counted together
/// when the loop's time goes on. `first_tag` makes the items differ from those of other streams, where the
/// client writes them. Both outlive the task. Thread: the client's loop. Cancel: it ends.
Task<void> measure_stream(Measurement* measurement, Client* client, std::uint64_t first_tag);

}  // namespace weft::perf
