// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::neighbours {

/// Gives every TCP socket of this process the congestion control that `name` says, and connections that its
/// listening sockets accept later have it, too. It is for libraries that have no option for it. An empty name
/// changes nothing. Returns false, and says why on standard error, when the kernel refuses.
bool set_congestion(const std::string& name);

}  // namespace weft::neighbours
