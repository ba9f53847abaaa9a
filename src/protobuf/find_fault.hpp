// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weft/detail/base/bytes.hpp"

namespace google::protobuf {
class Descriptor;
}

namespace weft::protobuf {

/// Explains why protobuf does not take `body` for a `type`: the path of the field, the offset, and the fault.
/// Reads untrusted bytes; nests as deep as protobuf itself, no deeper.
std::string find_fault(const google::protobuf::Descriptor& type, Bytes body);

}  // namespace weft::protobuf
