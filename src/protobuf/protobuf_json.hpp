// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/type_resolver.h>

#include <memory>

#include "weft/detail/calls/terms/message_json.hpp"

namespace weft::protobuf::detail {

/// JSON of a method's messages by protobuf's own mapping (https://protobuf.dev/programming-guides/json):
/// fields without presence are left out when they have their default value, names are in lowerCamelCase, and
/// both spellings are read. Unknown fields are refused. Thread: any.
class ProtobufJson final : public weft::detail::MessageJson {
 public:
  /// `method` outlives it. Throws std::bad_alloc.
  explicit ProtobufJson(const google::protobuf::MethodDescriptor& method);
  ~ProtobufJson();

  bool has(weft::detail::CallPart part) const override { return type_of(part) != nullptr; }
  std::string_view no_arguments() const override { return "{}"; }
  Status from_json(weft::detail::CallPart part, std::string_view json, std::vector<std::byte>& message,
                   std::size_t bytes_max) const override;
  Status to_json(weft::detail::CallPart part, Bytes message, std::string& json,
                 std::size_t bytes_max) const override;

 private:
  void prepare() const;
  /// Returns the type of this part of a call; null if the method has no such part.
  const google::protobuf::Descriptor* type_of(weft::detail::CallPart part) const noexcept;

  const google::protobuf::MethodDescriptor& method_;
  const std::unique_ptr<google::protobuf::util::TypeResolver> types_;
  /// Message to check answers with; null if no answer can lack a required field.
  const google::protobuf::Message* checked_ = nullptr;
};

}  // namespace weft::protobuf::detail
