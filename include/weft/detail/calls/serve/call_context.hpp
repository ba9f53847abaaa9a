// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {

class Peer;
class TransferProgress;

namespace detail {
class PeerTarget;
class ServedCall;
}  // namespace detail

/// Handler's access to the call that it serves. A handler asks for it by a first parameter `CallContext&`
/// (after Reply<R>, if it has one); it is valid until the handler has ended. Thread: where the handler
/// runs.
class CallContext {
 public:
  explicit CallContext(detail::ServedCall& call) : call_(&call) {}
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  /// Unique in this process among the connections of all servers.
  std::uint64_t connection_id() const;
  /// Returns its number, as the peer numbers its calls; unique on this connection among the calls in flight.
  std::uint64_t call_id() const;
  std::string_view method() const;
  /// Returns both ends as URLs; empty when the connection is gone, but for a blocking handler, which knows
  /// them to its end.
  std::string local_endpoint() const;
  std::string remote_endpoint() const;

  /// Returns the caller: the one identified by the call's token, if it has one and the server has an
  /// Authenticator; otherwise the peer of its connection. Anonymous when neither identity was proven.
  Identity identity() const;
  /// Returns true if the server allows the call's caller to call `method`; always true for a server without
  /// an Authorizer.
  bool may_call(std::string_view method) const;

  Deadline deadline() const;
  /// Metadata that the caller sent beside the arguments; calls that this handler makes carry it on unless
  /// they are given their own. The token of a call is not among them where the server has an Authenticator.
  /// Valid until the handler has ended.
  MetadataView metadata() const;
  /// Adds a pair to the metadata that the caller receives with the answer, or with the failure; it may repeat
  /// a key, and its value may be any bytes. Errors: as Metadata::add(), and kFailedPrecondition after the
  /// answer, and in a blocking handler with a Reply. The call fails when the caller's body limit or the
  /// memory has no room for them. A caller of an earlier build gets none.
  Result<void> add_answer_metadata(std::string_view key, std::string_view value);
  /// Does the same for metadata that go ahead of the answer and of all items written later; they leave at
  /// once. Those of a blocking handler leave when it has ended.
  Result<void> add_initial_metadata(std::string_view key, std::string_view value);
  /// The object that an interceptor gave the call (IncomingCall::attach()); null when none did. Valid until
  /// the handler has ended.
  template <typename T>
  T* attached() const {
    return static_cast<T*>(find_attached(typeid(T)));
  }
  /// The caller gave up, its deadline passed, or it is gone. Any thread.
  bool cancelled() const;

  /// Attachment of the request; empty without.
  Bytes attachment() const;
  /// The same to keep. It counts in the server's memory until it ends, and may outlive the server. A short
  /// one may be copied for it: throws std::bad_alloc when there is no memory for that. Once: a second time
  /// gives an empty Buffer, and attachment() is empty then.
  Buffer take_attachment();
  /// Goes out behind the answer without being copied: a Buffer (a borrowed memory travels as
  /// Buffer::adopt(memory, ...)), or runs of memory in many places, `set_attachment({runs, owner})`.
  void set_attachment(Attachment attachment);
  /// The same for memory that others may write to until it has left: see AttachmentView::shared().
  void set_shared_attachment(Buffer attachment);
  /// Called on the loop once: `sent` when the answer and its attachment have left for the peer, false when
  /// they never will.
  void on_answer_sent(detail::UniqueFunction<void(bool sent)> callback);
  /// `progress` counts the bytes of the answer's attachment that leave, from the handler's end on. It
  /// receives its last update before on_answer_sent().
  void report_progress(std::shared_ptr<TransferProgress> progress);
  /// Limits the answer's attachment to this rate; zero: no limit. An attachment no longer than a piece is not
  /// held back (CallOptions::attachment_rate). The rate is raised to at least two pieces per frame_timeout of
  /// this side.
  void set_attachment_rate(std::uint64_t bytes_per_second);

  /// Handle of the caller, to call its functions: now, `co_await context.peer().call<f>(x)`, or later,
  /// through a copy; see Peer. In a blocking handler use it with weft::blocking(peer). Throws std::bad_alloc.
  Peer peer() const;
  /// The seam for it.
  std::shared_ptr<detail::PeerTarget> peer_target() const;

  /// The user's own object on this connection, shared by all its calls; null at first, gone with the
  /// connection. Thread: the connection's loop only.
  std::shared_ptr<void>& connection_tag();
  /// Ends the connection once this handler's answer is on its way.
  void close_connection();

 private:
  void* find_attached(const std::type_info& type) const noexcept;

  detail::ServedCall* call_;
};

}  // namespace weft
