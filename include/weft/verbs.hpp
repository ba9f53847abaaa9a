// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

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

#pragma GCC diagnostic pop
