// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/tcp/host_names.hpp"
#include "weft/detail/transport/tcp.hpp"

namespace weft::detail::tcp {

/// The same as make_tcp_transport(), with names that `names` knows.
std::unique_ptr<Transport> make_transport(TcpOptions options, std::shared_ptr<HostNames> names);

}  // namespace weft::detail::tcp
