// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "weft/base/time.hpp"
#include "weft/transport/data_path.hpp"
#include "weft/transport/transport.hpp"

namespace weft {

/// Parameters of a transport over a stream and one kind of data path.
struct PathTransportParts {
  /// URLs of it mean tcp:// with the data path.
  std::string scheme;
  std::shared_ptr<const DataPathProvider> provider;
  /// For URLs of the stream's own schemes.
  PathPolicy connecting = PathPolicy::kForbid;
  PathPolicy listening = PathPolicy::kForbid;
  Duration bring_up_timeout{};
  /// Fault of the options: every attempt to use the transport fails with it.
  Status misuse;
};

/// A transport whose connections begin on `stream` and move to the data path as the policies say. What
/// `stream` offers by itself stays offered, so that such transports can be put over one another.
std::unique_ptr<Transport> make_path_transport(std::unique_ptr<Transport> stream, PathTransportParts parts);

}  // namespace weft
