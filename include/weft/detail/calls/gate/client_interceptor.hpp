// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/gate/incoming_call.hpp"
#include "weft/detail/calls/terms/call_objects.hpp"
#include "weft/detail/calls/terms/metadata.hpp"

namespace weft {

/// A call that a client is about to make, as interceptors see it. Valid while they look at it. Thread: the
/// client's loop.
class OutgoingCall {
 public:
  struct Facts {
    std::string_view method{};
    std::string_view target{};
    Deadline deadline{};
    std::uint64_t request_bytes = 0;
  };
  /// All outlive it.
  OutgoingCall(const Facts& facts, MetadataView given, Metadata& more, detail::CallObjects& objects)
      : facts_(facts), given_(given), more_(more), objects_(objects) {}
  OutgoingCall(const OutgoingCall&) = delete;
  OutgoingCall& operator=(const OutgoingCall&) = delete;

  std::string_view method() const { return facts_.method; }
  /// Returns where the call is to go: ClientOptions::connect.
  std::string_view target() const { return facts_.target; }
  Deadline deadline() const { return facts_.deadline; }
  /// Bytes of the arguments.
  std::uint64_t request_bytes() const { return facts_.request_bytes; }

  /// The caller's metadata, or that of the request that the caller serves, with additions. Valid until set().
  MetadataView metadata() const { return added_ ? more_.view() : given_; }
  /// Adds a pair to the metadata, or replaces what its key had. Errors: as Metadata::set(). Throws
  /// std::bad_alloc, which refuses the call.
  Result<void> set(std::string_view key, std::string_view value) {
    if (!added_) more_ = Metadata{given_};
    added_ = true;
    return more_.set(key, value);
  }
  bool has_added() const { return added_; }

  /// Gives the call an object for after(), as IncomingCall::attach().
  template <typename T>
  void attach(std::shared_ptr<T> object) {
    objects_.set(typeid(T), std::move(object));
  }
  template <typename T>
  T* attached() const {
    return static_cast<T*>(objects_.find(typeid(T)));
  }

 private:
  Facts facts_;
  MetadataView given_;
  Metadata& more_;
  detail::CallObjects& objects_;
  bool added_ = false;
};

/// Something that sees every call of a client before it is sent and after it has ended: adds a token or the
/// ids of a trace, counts, logs. Made in `main`, and listed in ClientOptions::interceptors: calls pass the
/// list in its order on their way out, and in reverse when they have ended. Thread: the client's loop; of an
/// object that several clients share, that of each.
class ClientInterceptor {
 public:
  virtual ~ClientInterceptor() = default;

  /// Called before the call is sent, or waits for a connection. A failure refuses the call, and is its
  /// outcome. Throwing refuses it too.
  virtual Status before([[maybe_unused]] OutgoingCall& call) { return {}; }
  /// Called once for each call that passed this interceptor's before(), when the call has ended: answered,
  /// refused by a later one, or given up (kCancelled), and before its waiter continues. It may do anything
  /// that code on the loop may do, except destroy this very call.
  virtual void after([[maybe_unused]] const EndedCall& call) noexcept {}

 protected:
  ClientInterceptor() = default;
  ClientInterceptor(const ClientInterceptor&) = default;
  ClientInterceptor& operator=(const ClientInterceptor&) = default;
};

}  // namespace weft
