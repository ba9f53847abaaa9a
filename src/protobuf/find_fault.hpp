// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weft/detail/base/bytes.hpp"

namespace google::protobuf {
class Descriptor;
}

namespace weft::protobuf {

/// Says why protobuf does not take `body` for a `type`: the field by its path, the byte, and what is wrong
/// there. Reads bytes that nobody vouches for; as deep as protobuf itself does, no deeper.
std::string find_fault(const google::protobuf::Descriptor& type, Bytes body);

}  // namespace weft::protobuf
