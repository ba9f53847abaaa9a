// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Services and stubs of protobuf over calls. Its target is weft::protobuf.

#include "weft/detail/protobuf/call.hpp"             // IWYU pragma: export
#include "weft/detail/protobuf/channel.hpp"          // IWYU pragma: export
#include "weft/detail/protobuf/client_stream.hpp"    // IWYU pragma: export
#include "weft/detail/protobuf/controller.hpp"       // IWYU pragma: export
#include "weft/detail/protobuf/message.hpp"          // IWYU pragma: export
#include "weft/detail/protobuf/message_items.hpp"    // IWYU pragma: export
#include "weft/detail/protobuf/method.hpp"           // IWYU pragma: export
#include "weft/detail/protobuf/remote_services.hpp"  // IWYU pragma: export
#include "weft/detail/protobuf/service.hpp"          // IWYU pragma: export
#include "weft/detail/protobuf/stream.hpp"           // IWYU pragma: export

#pragma GCC diagnostic pop
