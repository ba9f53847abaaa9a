// SPDX-License-Identifier: Apache-2.0
#include "services/ask.hpp"

namespace weft::services {

Result<std::string> blocking_ask(Question, const Options&) {
  return Status{StatusCode::kUnimplemented, Layer::kRpc,
                "this build has no protobuf (on Debian, install libprotobuf-dev libprotoc-dev "
                "protobuf-compiler and build again)"};
}

}  // namespace weft::services
