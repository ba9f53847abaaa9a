// SPDX-License-Identifier: Apache-2.0
#pragma once

/// RDMA verbs as coroutines: everything of the binding.

#include "weft/detail/verbs/address_info.hpp"
#include "weft/detail/verbs/completion_queue.hpp"
#include "weft/detail/verbs/device.hpp"
#include "weft/detail/verbs/device_events.hpp"
#include "weft/detail/verbs/driver.hpp"
#include "weft/detail/verbs/memory.hpp"
#include "weft/detail/verbs/queue_pair.hpp"
#include "weft/detail/verbs/shared_receive_queue.hpp"
#include "weft/detail/verbs/status.hpp"
