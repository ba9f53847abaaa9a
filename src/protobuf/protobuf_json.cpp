// SPDX-License-Identifier: Apache-2.0
#include "protobuf/protobuf_json.hpp"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <string>

#include "weft/detail/protobuf/message.hpp"

namespace weft::protobuf::detail {

namespace {

using google::protobuf::Descriptor;
using weft::detail::CallPart;

constexpr FixedFailure kNoSuchPart{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                   "the method has no stream in this direction"};
const char* const kTypeUrlPrefix = "type.googleapis.com";

Status too_long(const Descriptor& type, std::size_t bytes, std::size_t bytes_max) {
  return {StatusCode::kResourceExhausted, Layer::kCodec, [&] {
            return type.full_name() + ": " + std::to_string(bytes) + " bytes are more than the limit of " +
                   std::to_string(bytes_max);
          }};
}

std::string url_of(const Descriptor& type) {
  return std::string{kTypeUrlPrefix} + "/" + type.full_name();
}

/// Returns true if `type`, or a type within it, has a required field. Adds to `seen` the types looked at.
bool has_required(const Descriptor& type, std::vector<const Descriptor*>& seen) {
  if (std::ranges::find(seen, &type) != seen.end()) return false;
  seen.push_back(&type);
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_required()) return true;
    if (field.message_type() != nullptr && has_required(*field.message_type(), seen)) return true;
  }
  return false;
}

}  // namespace

ProtobufJson::ProtobufJson(const google::protobuf::MethodDescriptor& method)
    : method_(method),
      types_(google::protobuf::util::NewTypeResolverForDescriptorPool(kTypeUrlPrefix,
                                                                      method.service()->file()->pool())) {
  std::vector<const Descriptor*> seen;
  const Descriptor& answer = *method.output_type();
  if (has_required(answer, seen)) {
    checked_ = google::protobuf::MessageFactory::generated_factory()->GetPrototype(&answer);
  }
  prepare();
}

ProtobufJson::~ProtobufJson() = default;

// Protobuf builds the state of its JSON inside std::call_once when it is first used. An exception for missing
// memory leaves it there, so it is used once before a call does.
void ProtobufJson::prepare() const {
  for (const Descriptor* const type : {method_.input_type(), method_.output_type()}) {
    std::string text;
    std::string bytes;
    const std::string url = url_of(*type);
    if (!google::protobuf::util::BinaryToJsonString(types_.get(), url, {}, &text).ok()) continue;
    static_cast<void>(google::protobuf::util::JsonToBinaryString(types_.get(), url, text, &bytes));
  }
}

const Descriptor* ProtobufJson::type_of(CallPart part) const noexcept {
  switch (part) {
    case CallPart::kArguments:
      return method_.client_streaming() ? nullptr : method_.input_type();
    case CallPart::kItemIn:
      return method_.client_streaming() ? method_.input_type() : nullptr;
    case CallPart::kResult:
      return method_.server_streaming() ? nullptr : method_.output_type();
    default:
      return method_.server_streaming() ? method_.output_type() : nullptr;
  }
}

Status ProtobufJson::from_json(CallPart part, std::string_view json, std::vector<std::byte>& message,
                               std::size_t bytes_max) const {
  const Descriptor* const type = type_of(part);
  message.clear();
  if (type == nullptr) {
    // The arguments of a stream of requests are its items.
    return part == CallPart::kArguments ? Status{} : Status::of<kNoSuchPart>();
  }
  std::string bytes;
  const auto outcome = google::protobuf::util::JsonToBinaryString(types_.get(), url_of(*type),
                                                                  {json.data(), json.size()}, &bytes);
  if (!outcome.ok()) {
    return {StatusCode::kInvalidArgument, Layer::kCodec,
            [&] { return type->full_name() + ": " + std::string{outcome.message()}; }};
  }
  if (bytes.size() > bytes_max) return too_long(*type, bytes.size(), bytes_max);
  const Bytes made = as_bytes(std::string_view{bytes});
  message.assign(made.begin(), made.end());
  return {};
}

Status ProtobufJson::to_json(CallPart part, Bytes message, std::string& json, std::size_t bytes_max) const {
  const Descriptor* const type = type_of(part);
  json.clear();
  if (type == nullptr) {
    // A stream of answers ends without a message.
    if (part != CallPart::kResult) return Status::of<kNoSuchPart>();
    json = "null";
    return {};
  }
  if (checked_ != nullptr) {
    const std::unique_ptr<google::protobuf::Message> answer{checked_->New()};
    Status failure;
    read_answer(*answer, message, failure);
    if (!failure.ok()) return failure;
  }
  const auto outcome = google::protobuf::util::BinaryToJsonString(types_.get(), url_of(*type),
                                                                  std::string{as_text(message)}, &json);
  if (!outcome.ok()) {
    return {StatusCode::kInternal, Layer::kCodec,
            [&] { return type->full_name() + " has no JSON: " + std::string{outcome.message()}; }};
  }
  if (json.size() > bytes_max) return too_long(*type, json.size(), bytes_max);
  return {};
}

}  // namespace weft::protobuf::detail
