// SPDX-License-Identifier: Apache-2.0
// Bodies that are no message: why is looked for in the same bytes that protobuf refused, and found within
// them.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/struct.pb.h>

#include <cstdint>
#include <string>

#include "protobuf/find_fault.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/utf8.hpp"
#include "weft/detail/protobuf/message.hpp"

namespace {

// How deep protobuf takes the entry of a map to nest depends on how its bytes were written. So it may read
// what is nested as deep as it allows, and write that in its own way, which it does not read.
bool is_read_when_it_may_nest_deeper(google::protobuf::Message& message, const std::string& text) {
  google::protobuf::io::CodedInputStream input{reinterpret_cast<const std::uint8_t*>(text.data()),
                                               static_cast<int>(text.size())};
  input.SetRecursionLimit(2 * google::protobuf::io::CodedInputStream::GetDefaultRecursionLimit());
  message.Clear();
  return message.ParseFromCodedStream(&input);
}

// proto3 with maps and recursion; proto2 with required fields, packed lists.
template <typename Message>
void parse(weft::Bytes body) {
  Message message;
  weft::Status failure;
  weft::protobuf::detail::read_message(message, body, failure);
  const std::string fault = weft::protobuf::find_fault(*Message::descriptor(), body);
  WEFT_ASSERT(fault.starts_with(Message::descriptor()->full_name()), "a fault says of which message it is");
  WEFT_ASSERT(fault.size() < 8192 + body.size(), "a path is as long as what is nested, and no longer");
  if (!failure.ok()) return;
  std::string text(message.ByteSizeLong(), '\0');
  weft::protobuf::detail::write_message(message, reinterpret_cast<std::byte*>(text.data()));
  Message again;
  weft::protobuf::detail::read_message(again, weft::as_bytes(text), failure);
  WEFT_ASSERT(failure.ok() || is_read_when_it_may_nest_deeper(again, text),
              "what was read is written so that it can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = (google::protobuf::SetLogHandler(nullptr), true);
  static_cast<void>(quiet);
  const weft::Bytes body{reinterpret_cast<const std::byte*>(data), size};
  WEFT_ASSERT(weft::detail::valid_utf8(body) <= size, "as many as there are");
  parse<google::protobuf::Struct>(body);
  parse<google::protobuf::FileDescriptorProto>(body);
  return 0;
}
