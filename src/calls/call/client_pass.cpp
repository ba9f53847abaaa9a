// SPDX-License-Identifier: Apache-2.0
#include "calls/call/client_pass.hpp"

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "weft/detail/runtime/late_end.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

/// The failure of an interceptor that threw. Only inside a catch block.
Status status_of_interceptor() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::of<kOutOfMemory>();
  } catch (const std::exception& exception) {
    return {StatusCode::kUnknown, Layer::kUser,
            [&] { return std::string{"an interceptor threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kUnknown, Layer::kUser, "an interceptor threw something that is no std::exception"};
  }
}

}  // namespace

ClientPass::ClientPass(const ClientGate& gate, Loop& loop, const CallRequest& request, std::size_t body_bytes)
    : gate_(gate),
      loop_(loop),
      method_(request.method->name),
      began_(loop.read_clock()),
      request_bytes_(body_bytes) {}

Status ClientPass::begin(const ClientGate& gate, Loop& loop, CallRequest& request, MetadataView carried,
                         std::size_t body_bytes) noexcept {
  try {
    auto* const pass = new ClientPass(gate, loop, request, body_bytes);
    if (request.details == nullptr) request.details = &pass->own_;
    request.details->pass_by(*pass);
    return pass->ask(request, carried);
  } catch (...) {
    return status_of_interceptor();
  }
}

Status ClientPass::ask(CallRequest& request, MetadataView carried) {
  const LateEnd::Guard guard;
  CallOptions& options = request.details->options;
  OutgoingCall call{{.method = method_,
                     .target = gate_.target(),
                     .deadline = request.deadline,
                     .request_bytes = request_bytes_},
                    options.metadata.is_given() ? options.metadata : carried,
                    metadata_,
                    objects_};
  for (const auto& interceptor : gate_.interceptors()) {
    Status refusal = interceptor->before(call);
    if (!refusal.ok()) return refusal;
    ++asked_;
  }
  if (call.has_added()) options.metadata = metadata_.view();
  return {};
}

void ClientPass::end(const Status& outcome, const AnswerMetadata& metadata) noexcept {
  const LateEnd::Guard guard;
  const std::unique_ptr<ClientPass> self{this};
  // A copy: an interceptor may destroy the call, and `outcome` with it.
  const Status told = outcome;  // NOLINT(performance-unnecessary-copy-initialization)
  const EndedCall ended{.method = method_,
                        .remote_endpoint = gate_.target(),
                        .status = told,
                        .duration = loop_.read_clock() - began_,
                        .request_bytes = request_bytes_,
                        .answer_bytes = told.ok() ? answer_bytes_ : 0,
                        .objects = objects_,
                        .initial_metadata = metadata.initial(),
                        .trailing_metadata = metadata.trailing()};
  for (std::size_t i = asked_; i-- > 0;) gate_.interceptors()[i]->after(ended);
}

}  // namespace weft::detail
