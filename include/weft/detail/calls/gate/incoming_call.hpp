// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/call_objects.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {

/// A call that a server has received and not yet begun to run, as seen by interceptors and caller keys. The
/// call and everything it returns are valid while they examine it. Thread: the connection's loop.
class IncomingCall {
 public:
  struct Facts {
    std::string_view method{};
    MetadataView metadata{};
    std::string_view remote_endpoint{};
    std::uint64_t connection_id = 0;
    Deadline deadline{};
    std::uint64_t request_bytes = 0;
    std::uint64_t attachment_bytes = 0;
    Identity identity{};
  };
  /// `objects` outlives it.
  IncomingCall(const Facts& facts, detail::CallObjects& objects) : facts_(facts), objects_(objects) {}
  IncomingCall(const IncomingCall&) = delete;
  IncomingCall& operator=(const IncomingCall&) = delete;

  /// Name of the method as it was registered.
  std::string_view method() const { return facts_.method; }
  MetadataView metadata() const { return facts_.metadata; }
  /// Returns the peer as a URL.
  std::string_view remote_endpoint() const { return facts_.remote_endpoint; }
  /// Unique among the connections of all servers in this process.
  std::uint64_t connection_id() const { return facts_.connection_id; }
  /// Identity of the caller, like CallContext::identity().
  const Identity& identity() const { return facts_.identity; }
  Deadline deadline() const { return facts_.deadline; }
  /// Size of the arguments in bytes. They have arrived, unless they are larger than a chunk.
  std::uint64_t request_bytes() const { return facts_.request_bytes; }
  /// Size of the attachment in bytes; it may not have arrived yet.
  std::uint64_t attachment_bytes() const { return facts_.attachment_bytes; }

  /// Attaches an object to the call. The handler finds it by CallContext::attached<T>(), later interceptors
  /// by attached<T>(). Replaces an object of the same type, and is destroyed when the call has ended. Throws
  /// std::bad_alloc, which refuses the call.
  template <typename T>
  void attach(std::shared_ptr<T> object) {
    objects_.set(typeid(T), std::move(object));
  }
  /// Null when no such object was attached.
  template <typename T>
  T* attached() const {
    return static_cast<T*>(objects_.find(typeid(T)));
  }

 private:
  Facts facts_;
  detail::CallObjects& objects_;
};

/// A call with a decided outcome, as seen by interceptors. Valid while they examine it.
struct EndedCall {
  std::string_view method{};
  /// URL of the other side; on a client, the target of the call. Empty without a connection.
  std::string_view remote_endpoint{};
  const Status& status;
  /// Time from the arrival of the call to its answer; on a client, from the beginning of the call to its end.
  Duration duration{};
  /// Size of the arguments and of the result in bytes, without attachments. A failure has no result.
  std::uint64_t request_bytes = 0;
  std::uint64_t answer_bytes = 0;
  const detail::CallObjects& objects;
  /// Metadata of the answer or failure, as far as they arrived or were given. Empty for a call that was
  /// refused.
  MetadataView initial_metadata{};
  MetadataView trailing_metadata{};

  /// Null when no such object was attached.
  template <typename T>
  T* attached() const {
    return static_cast<T*>(objects.find(typeid(T)));
  }
};

}  // namespace weft
