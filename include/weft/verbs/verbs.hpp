// SPDX-License-Identifier: Apache-2.0
#pragma once

/// RDMA verbs as coroutines: everything of the binding.

#include "weft/verbs/address_info.hpp"
#include "weft/verbs/completion_queue.hpp"
#include "weft/verbs/device.hpp"
#include "weft/verbs/device_events.hpp"
#include "weft/verbs/driver.hpp"
#include "weft/verbs/memory.hpp"
#include "weft/verbs/queue_pair.hpp"
#include "weft/verbs/shared_receive_queue.hpp"
#include "weft/verbs/status.hpp"
