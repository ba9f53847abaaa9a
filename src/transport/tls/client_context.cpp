// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/client_context.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "transport/tls/openssl.hpp"
#include "transport/tls/ticket_keys.hpp"

namespace weft::detail::tls {

namespace {

int target_index() noexcept {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

}  // namespace

ClientContext::ClientContext(Owned<SSL_CTX> context, std::size_t each) noexcept
    : context_(std::move(context)), each_(each) {
  if (each_ > 0) ClientTarget::keep_sessions_of(*context_);
}

Owned<SSL_SESSION> ClientContext::take(const std::string& target) noexcept {
  const std::lock_guard lock{mutex_};
  while (true) {
    const auto found = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                    [&](const Entry& one) { return one.target == target; });
    if (found == sessions_.rend()) return nullptr;
    Owned<SSL_SESSION> session = std::move(found->session);
    sessions_.erase(std::next(found).base());
    if (!peer_has_expired(*session)) return session;
  }
}

void ClientContext::put(const std::string& target, Owned<SSL_SESSION>&& session) {
  const std::lock_guard lock{mutex_};
  Entry entry{target, nullptr};
  sessions_.reserve(std::min(sessions_.size() + each_, kSessionsMax));
  const auto is_of_target = [&](const Entry& one) { return one.target == target; };
  const auto of_target = std::ranges::count_if(sessions_, is_of_target);
  if (static_cast<std::size_t>(of_target) >= each_) {
    sessions_.erase(std::ranges::find_if(sessions_, is_of_target));
  } else if (sessions_.size() >= kSessionsMax) {
    sessions_.erase(sessions_.begin());
  }
  entry.session = std::move(session);
  sessions_.push_back(std::move(entry));
}

ClientTarget::ClientTarget(std::shared_ptr<ClientContext> context, std::string target) noexcept
    : context_(std::move(context)), target_(std::move(target)) {}

bool ClientTarget::begin(SSL& ssl) noexcept {
  const Owned<SSL_SESSION> session = context_->take(target_);
  // One that OpenSSL does not want is a handshake with certificates.
  if (session != nullptr && SSL_set_session(&ssl, session.get()) != 1) ERR_clear_error();
  if (SSL_set_ex_data(&ssl, target_index(), this) == 1) return true;
  ERR_clear_error();
  return false;
}

void ClientTarget::keep_sessions_of(SSL_CTX& context) noexcept {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(&context, on_session);
}

// Returns 1: the session is ours. Sessions of TLS 1.2 are reported before the handshake is over, and have no
// forward secrecy of their own: these are not resumed.
int ClientTarget::on_session(SSL* ssl, SSL_SESSION* session) noexcept {
  auto* const target = static_cast<ClientTarget*>(SSL_get_ex_data(ssl, target_index()));
  if (target == nullptr || SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION) return 0;
  Owned<SSL_SESSION> owned{session};
  try {
    target->context_->put(target->target_, std::move(owned));
    return 1;
  } catch (const std::bad_alloc&) {
    static_cast<void>(owned.release());  // NOLINT(bugprone-unused-return-value): OpenSSL has it still
    return 0;
  }
}

}  // namespace weft::detail::tls
