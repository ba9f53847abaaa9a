// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/message.hpp"

#include <execinfo.h>
#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "protobuf/find_fault.hpp"
#include "weft/detail/protobuf/method.hpp"

namespace weft::protobuf::detail {

namespace {

/// Loads the unwinder of the C library while there is memory. protobuf builds the type descriptors of a file
/// inside std::call_once when the failure of a message first names them. Without memory an exception leaves
/// pthread_once(), for which the C library loads its unwinder, and ends the process if it cannot.
[[maybe_unused]] const int unwinder_frames = [] {
  void* frame = nullptr;
  return ::backtrace(&frame, 1);
}();

}  // namespace

Status undecodable(const google::protobuf::Message& message, Bytes body) noexcept {
  return {StatusCode::kInvalidArgument, Layer::kCodec,
          [&] { return find_fault(*message.GetDescriptor(), body); }};
}

namespace {

/// Looks for required fields that are missing. A peer may send millions of messages that lack one, or that
/// lack none in front of one that does, so it names few and looks at not too many.
class Missing {
 public:
  /// Looks into the fields of `message`, whose own path is `path`. Goes as deep as messages may be nested.
  void look_in(const google::protobuf::Message& message, const std::string& path) {
    const google::protobuf::Descriptor& type = *message.GetDescriptor();
    const google::protobuf::Reflection& look = *message.GetReflection();
    for (int i = 0; i < type.field_count() && !enough(); ++i) {
      const google::protobuf::FieldDescriptor& field = *type.field(i);
      if (field.is_required() && !look.HasField(message, &field)) names_.push_back(path + field.name());
      if (field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field.is_repeated()) {
        if (look.HasField(message, &field))
          look_in(look.GetMessage(message, &field), path + field.name() + ".");
        continue;
      }
      const int size = look.FieldSize(message, &field);
      for (int n = 0; n < size && !enough(); ++n) {
        look_in(look.GetRepeatedMessage(message, &field, n),
                path + field.name() + "[" + std::to_string(n) + "].");
      }
    }
    ++looked_at_;
  }

  std::string text() const {
    std::string text;
    for (const std::string& name : names_) text.append(text.empty() ? "" : ", ").append(name);
    if (names_.empty()) return "deep inside, or in an extension";
    return enough() ? text + ", and maybe more" : text;
  }

 private:
  static constexpr std::size_t kNamed = 3;
  static constexpr std::size_t kLookedAt = 1000;

  bool enough() const { return names_.size() >= kNamed || looked_at_ >= kLookedAt; }

  std::vector<std::string> names_;
  std::size_t looked_at_ = 0;
};

}  // namespace

Status incomplete(const google::protobuf::Message& message) noexcept {
  return {StatusCode::kInvalidArgument, Layer::kCodec, [&] {
            Missing missing;
            missing.look_in(message, {});
            return message.GetTypeName() + ": required fields are missing: " + missing.text();
          }};
}

Status bad_answer(const Status& why) noexcept {
  return {StatusCode::kInternal, Layer::kCodec,
          [&] { return "the server's answer cannot be read: " + std::string{why.message()}; }};
}

Status too_large(const google::protobuf::Message& message, std::size_t bytes) noexcept {
  const auto text = [&] {
    return message.GetTypeName() + ": protobuf cannot parse " + std::to_string(bytes) +
           " bytes: 2 GiB are its limit";
  };
  return {StatusCode::kResourceExhausted, Layer::kCodec, text, 0, Retry::kNever};
}

}  // namespace weft::protobuf::detail
