// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/credentials.hpp"

#include <utility>

#include "transport/tls/context.hpp"
#include "weft/detail/transport/tls_credentials.hpp"

namespace weft {

namespace detail::tls {
namespace {

// Returns what is there, or reads and keeps it.
template <typename Role, typename Make>
Result<std::shared_ptr<Role>> get_or_make(std::mutex& reading, std::mutex& mutex, std::shared_ptr<Role>& kept,
                                          const Make& make) {
  const auto look = [&] {
    const std::lock_guard lock{mutex};
    return kept;
  };
  if (auto there = look()) return there;
  const std::lock_guard once{reading};
  if (auto there = look()) return there;
  Result<std::shared_ptr<Role>> made = make();
  if (!made.ok()) return made;
  const std::lock_guard lock{mutex};
  kept = *made;
  return made;
}

}  // namespace

Result<std::shared_ptr<ServerNames>> Credentials::server(TimePoint now) {
  look(now);
  auto names = get_or_make(reading_, mutex_, server_, [this] {
    if (marks_.empty()) marks_ = FileMarks{options_};
    return make_server_contexts(options_);
  });
  if (names.ok()) (*names)->ticket_keys().see(now);
  return names;
}

Result<std::shared_ptr<ClientContext>> Credentials::client(TimePoint now) {
  look(now);
  return get_or_make(reading_, mutex_, client_, [this] {
    if (marks_.empty()) marks_ = FileMarks{options_};
    return make_client_context(options_);
  });
}

bool Credentials::look_is_due(TimePoint now) {
  if (options_.reload_interval == kNoTimeout) return false;
  const std::lock_guard lock{mutex_};
  if ((server_ == nullptr && client_ == nullptr) || now < next_look_) return false;
  next_look_ = now + options_.reload_interval;
  return true;
}

void Credentials::look(TimePoint now) {
  if (!look_is_due(now)) return;
  const std::unique_lock once{reading_, std::try_to_lock};
  if (!once.owns_lock() || FileMarks{options_} == marks_) return;
  const Status status = load();
  if (status.ok() || options_.logger == nullptr) return;
  write_line(*options_.logger, LogLevel::kError, [&] {
    return "TLS: files have changed and are not good, so the last good ones stay: " + status.to_string();
  });
}

Status Credentials::reload() {
  const std::lock_guard once{reading_};
  return load();
}

// The marks are from before the reading: a change meanwhile is seen by the next look.
Status Credentials::load() {
  FileMarks marks{options_};
  std::shared_ptr<ServerNames> server;
  std::shared_ptr<ClientContext> client;
  {
    const std::lock_guard lock{mutex_};
    server = server_;
    client = client_;
  }
  Status status;
  if (server != nullptr) {
    auto made = make_server_contexts(options_);
    if (made.ok()) {
      server = *std::move(made);
    } else {
      status = std::move(made).status();
    }
  }
  if (client != nullptr && status.ok()) {
    auto made = make_client_context(options_);
    if (made.ok()) {
      client = *std::move(made);
    } else {
      status = std::move(made).status();
    }
  }
  marks_ = std::move(marks);
  Tally::count(status.ok() ? tally_.reloads : tally_.reloads_failed);
  if (!status.ok()) return status;
  const std::lock_guard lock{mutex_};
  server_.swap(server);
  client_.swap(client);
  return {};
}

}  // namespace detail::tls

TlsCredentials::TlsCredentials(TlsOptions options)
    : state_(std::make_shared<detail::tls::Credentials>(std::move(options))) {}

TlsCredentials::~TlsCredentials() = default;

Status TlsCredentials::reload() {
  return state_->reload();
}

TlsStats TlsCredentials::stats() const noexcept {
  return state_->tally().stats();
}

}  // namespace weft
