// SPDX-License-Identifier: Apache-2.0
#include "weft/protobuf/message.hpp"

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>
#include <vector>

#include "protobuf/find_fault.hpp"
#include "weft/protobuf/method.hpp"

namespace weft::protobuf::detail {

Status undecodable(const google::protobuf::Message& message, Bytes body) {
  return {StatusCode::kInvalidArgument, Layer::kCodec, find_fault(*message.GetDescriptor(), body)};
}

namespace {

/// So many are named: a peer may send millions of messages that lack one.
constexpr std::size_t kMissingNamed = 3;

/// Names of required fields that are missing in `message`, whose own path is `path`. Goes as deep as messages
/// may be nested.
void name_missing(const google::protobuf::Message& message, const std::string& path,
                  std::vector<std::string>& names) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& look = *message.GetReflection();
  for (int i = 0; i < type.field_count() && names.size() < kMissingNamed; ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_required() && !look.HasField(message, &field)) names.push_back(path + field.name());
    if (field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const auto within = [&](const google::protobuf::Message& part, const std::string& place) {
      if (!part.IsInitialized()) name_missing(part, path + field.name() + place + ".", names);
    };
    if (!field.is_repeated()) {
      if (look.HasField(message, &field)) within(look.GetMessage(message, &field), "");
      continue;
    }
    const int size = look.FieldSize(message, &field);
    for (int n = 0; n < size && names.size() < kMissingNamed; ++n) {
      within(look.GetRepeatedMessage(message, &field, n), "[" + std::to_string(n) + "]");
    }
  }
}

}  // namespace

Status incomplete(const google::protobuf::Message& message) {
  std::vector<std::string> names;
  name_missing(message, {}, names);
  std::string text = message.GetTypeName() + ": required fields are missing: ";
  for (std::size_t i = 0; i < names.size(); ++i) text.append(i == 0 ? "" : ", ").append(names[i]);
  if (names.empty()) text.append("in an extension");
  if (names.size() == kMissingNamed) text.append(", and maybe more");
  return {StatusCode::kInvalidArgument, Layer::kCodec, std::move(text)};
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
