// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/call_objects.hpp"
#include "weft/detail/calls/metadata.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {

/// A call that a server has received and not begun to run, as interceptors and keys of callers see it. Valid
/// while they look at it, and so is all that it shows. Thread: the connection's loop.
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
  /// Unique in this process among the connections of all servers.
  std::uint64_t connection_id() const { return facts_.connection_id; }
  /// Its caller, as CallContext::identity() says.
  const Identity& identity() const { return facts_.identity; }
  Deadline deadline() const { return facts_.deadline; }
  /// Bytes of the arguments, which are here unless they are over a chunk.
  std::uint64_t request_bytes() const { return facts_.request_bytes; }
  /// Bytes of the attachment, which may be still to come.
  std::uint64_t attachment_bytes() const { return facts_.attachment_bytes; }

  /// Gives the call an object, which its handler finds by CallContext::attached<T>(), and what comes later
  /// here by attached<T>(). It replaces one of the same type, and is gone when the call has ended. Throws
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

/// A call whose outcome is decided, as interceptors see it. Valid while they look at it.
struct EndedCall {
  std::string_view method{};
  /// URL of the other side; of a client, where the call was to go. Empty when there was no connection.
  std::string_view remote_endpoint{};
  const Status& status;
  /// Time from when the call was received to its answer; of a client, from its beginning to its end.
  Duration duration{};
  /// Bytes of the arguments and of the result, attachments not counted. The result of a failure has none.
  std::uint64_t request_bytes = 0;
  std::uint64_t answer_bytes = 0;
  const detail::CallObjects& objects;

  /// Null when no such object was attached.
  template <typename T>
  T* attached() const {
    return static_cast<T*>(objects.find(typeid(T)));
  }
};

}  // namespace weft
