// SPDX-License-Identifier: Apache-2.0
#include "weft/protobuf/message.hpp"

#include <string>

#include "protobuf/find_fault.hpp"
#include "weft/protobuf/method.hpp"

namespace weft::protobuf::detail {

Status undecodable(const google::protobuf::Message& message, Bytes body) {
  return {StatusCode::kInvalidArgument, Layer::kCodec, find_fault(*message.GetDescriptor(), body)};
}

Status incomplete(const google::protobuf::Message& message) {
  return {StatusCode::kInvalidArgument, Layer::kCodec,
          message.GetTypeName() + ": required fields are missing: " + message.InitializationErrorString()};
}

Status out_of_memory(const google::protobuf::Message& message) {
  return {StatusCode::kResourceExhausted, Layer::kCodec, "out of memory for a " + message.GetTypeName()};
}

Status too_large(const google::protobuf::Message& message, std::size_t bytes) {
  return {StatusCode::kResourceExhausted, Layer::kCodec,
          message.GetTypeName() + ": protobuf cannot parse " + std::to_string(bytes) +
              " bytes: 2 GiB are its limit",
          0, Retry::kNever};
}

std::string schema_text(const MethodKey& self) {
  return "protobuf " + std::string{self.takes} + " -> " + std::string{self.gives};
}

}  // namespace weft::protobuf::detail
