// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/client_stream.hpp"

#include <cstring>

namespace weft::protobuf::detail {

void MessageStreamRecord::start(const google::protobuf::Message* request) {
  std::size_t bytes = 0;
  if (request != nullptr) {
    if (!request->IsInitialized()) {
      static_cast<void>(refuse(incomplete(*request)));
      return;
    }
    bytes = request->ByteSizeLong();
    if (bytes > kMessageBytesMax) bytes = weft::detail::kUnencodable;
  }
  kept_bytes_ = bytes;
  const weft::detail::Begun begun = OpenedStream::open(bytes);
  if (begun.body != nullptr) {
    if (request != nullptr) write_message(*request, begun.body);
    opened(begun);
  } else if (begun.waits() && bytes != 0) {
    kept_ = std::make_unique<std::byte[]>(bytes);
    write_message(*request, kept_.get());
  }
}

void MessageStreamRecord::encode_body(std::byte* to) const {
  if (kept_bytes_ != 0) std::memcpy(to, kept_.get(), kept_bytes_);
  const_cast<MessageStreamRecord*>(this)->on_sent();
}

void MessageStreamRecord::decode_answer(Bytes body, Status& failure) noexcept {
  if (response_ != nullptr) read_answer(*response_, body, failure);
}

}  // namespace weft::protobuf::detail
