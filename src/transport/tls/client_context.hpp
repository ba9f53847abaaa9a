// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/tls/handles.hpp"
#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

/// State that connections to servers share: their context, and the sessions that may be resumed. A session
/// belongs to a target and to the certificates and CAs of this context, and so it is never resumed with
/// others. Thread: any.
class ClientContext {
 public:
  /// Sessions of all targets together.
  static constexpr std::size_t kSessionsMax = 1024;

  /// `each`: the most sessions of one target; zero: none is resumed.
  ClientContext(Owned<SSL_CTX> context, std::size_t each) noexcept;

  SSL_CTX& context() const noexcept { return *context_; }
  /// Takes the newest session of `target` out; null when there is none.
  Owned<SSL_SESSION> take(const std::string& target) noexcept;
  /// Throws std::bad_alloc, and has not taken `session` then.
  void put(const std::string& target, Owned<SSL_SESSION>&& session);

 private:
  struct Entry {
    std::string target;
    Owned<SSL_SESSION> session;
  };

  const Owned<SSL_CTX> context_;
  const std::size_t each_;
  std::mutex mutex_;
  std::vector<Entry> sessions_;  ///< the newest at the end
};

/// A connection's way to the sessions of its target. Must outlive `ssl` of begin().
class ClientTarget {
 public:
  ClientTarget(std::shared_ptr<ClientContext> context, std::string target) noexcept;

  SSL_CTX& context() const noexcept { return context_->context(); }
  /// Makes `ssl` resume a session, if there is one, and keep sessions that the server issues. Returns false
  /// when memory is exhausted.
  bool begin(SSL& ssl) noexcept;
  /// Has connections of `context` give their sessions to their targets.
  static void keep_sessions_of(SSL_CTX& context) noexcept;

 private:
  static int on_session(SSL* ssl, SSL_SESSION* session) noexcept;

  const std::shared_ptr<ClientContext> context_;
  const std::string target_;
};

}  // namespace weft::detail::tls
