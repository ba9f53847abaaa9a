// SPDX-License-Identifier: Apache-2.0
// Stands in for dns_source.cpp where c-ares is not installed.
#include "naming/name_source.hpp"

namespace weft::detail {

MadeSource make_dns_source(Loop&, NameBoard&, std::string_view) {
  return Status{StatusCode::kUnimplemented, Layer::kRuntime,
                "this build of Weft has no dns: names; install libc-ares-dev and build it anew"};
}

}  // namespace weft::detail
