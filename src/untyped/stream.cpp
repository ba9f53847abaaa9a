// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/untyped/stream.hpp"

namespace weft {

namespace detail {

UntypedRecord::UntypedRecord(CallTarget& target, const MethodKey& method, Buffer request,
                             const CallOptions& options)
    : OpenedStream(target, method, std::make_unique<CallDetails>(options, false)),
      request_(std::move(request)) {}

void UntypedRecord::start() {
  const Begun begun = OpenedStream::open(request_.size());
  if (begun.body == nullptr) return;
  std::ranges::copy(request_.bytes(), begun.body);
  OpenedStream::opened(begun);
}

void UntypedRecord::encode_body(std::byte* to) const {
  std::ranges::copy(request_.bytes(), to);
  const_cast<UntypedRecord*>(this)->on_sent();
}

Result<Buffer> UntypedRecord::take_result() {
  if (!status().ok()) return Status{status()};
  if (std::exchange(given_, true)) return result_was_given();
  return std::move(answer_);
}

}  // namespace detail

UntypedStream::UntypedStream(Caller& client, const UntypedMethod& method, Bytes request,
                             const CallOptions& options)
    : method_(method),
      record_(std::make_unique<detail::UntypedRecord>(client.target(), method_.key(),
                                                      Buffer::copy_of(request), options)) {
  record_->start();
}

}  // namespace weft
