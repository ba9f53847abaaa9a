// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/credentials.hpp"

#include <new>
#include <utility>

#include "transport/tls/context.hpp"
#include "transport/tls/fitness.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/tls_credentials.hpp"

namespace weft {

namespace detail::tls {
namespace {

// Returns the cached context, or reads and caches it.
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

Status fitness(const std::shared_ptr<ServerNames>& names) {
  for (const auto& context : names->contexts()) {
    if (Status fitness = fitness_of(*context, Side::kServer); !fitness.ok()) return fitness;
  }
  return {};
}

Status fitness(const std::shared_ptr<ClientContext>& client) {
  return fitness_of(client->context(), Side::kClient);
}

// Replaces `kept`, if there is one, by the result of `make`. Readable but unusable files replace only
// unusable ones; `doubt` then holds their fault.
template <typename Role, typename Make>
Status renew(std::shared_ptr<Role>& kept, const Make& make, Status& doubt) {
  if (kept == nullptr) return {};
  Result<std::shared_ptr<Role>> made = make();
  if (!made.ok()) return std::move(made).status();
  if (Status judged = fitness(*made); !judged.ok()) {
    if (fitness(kept).ok()) return judged;
    doubt = std::move(judged);
  }
  kept = *std::move(made);
  return {};
}

constexpr Duration kBetweenReads = std::chrono::seconds{1};
constexpr Duration kBetweenFaultLines = std::chrono::seconds{1};
constexpr Duration kBetweenReminders = std::chrono::hours{1};

}  // namespace

Result<std::shared_ptr<ServerNames>> Credentials::server(TimePoint now) {
  LogLines lines;
  look(now, lines);
  auto names = get_or_make(reading_, mutex_, server_, [&] {
    if (marks_.empty()) marks_ = FileMarks{options_};
    auto made = make_server_contexts(options_);
    if (made.ok()) warn(fitness(*made), lines);
    return made;
  });
  if (names.ok()) (*names)->ticket_keys().see(now);
  write(std::move(lines));
  return names;
}

Result<std::shared_ptr<ClientContext>> Credentials::client(TimePoint now) {
  LogLines lines;
  look(now, lines);
  auto context = get_or_make(reading_, mutex_, client_, [&] {
    if (marks_.empty()) marks_ = FileMarks{options_};
    auto made = make_client_context(options_);
    if (made.ok()) warn(fitness(*made), lines);
    return made;
  });
  write(std::move(lines));
  return context;
}

bool Credentials::look_is_due(TimePoint now) {
  if (options_.reload_interval == kNoTimeout) return false;
  const std::lock_guard lock{mutex_};
  if ((server_ == nullptr && client_ == nullptr) || now < next_look_) return false;
  next_look_ = Deadline::after(now, options_.reload_interval).at();
  return true;
}

void Credentials::look(TimePoint now, LogLines& lines) {
  if (!look_is_due(now)) return;
  const std::unique_lock once{reading_, std::try_to_lock};
  if (!once.owns_lock()) return;
  FileMarks marks{options_};
  const bool changed = marks != marks_;
  if (changed && marks != seen_ && marks.may_be_half_written_since(marks_)) {
    seen_ = std::move(marks);
  } else if (changed || now >= retry_at_) {
    const bool mends = load(lines).retry() == Retry::kBackoff;
    retry_at_ = mends ? now + kBetweenReads : TimePoint::max();
  }
  say(now, lines);
}

void Credentials::say(TimePoint now, LogLines& lines) {
  const Status failure = last_failure();
  if (failure.ok()) return said_.clear();
  if (options_.logger == nullptr || (said_at_ != TimePoint{} && now - said_at_ < kBetweenFaultLines)) return;
  std::string text = failure.to_string();
  if (text == said_ && now - said_at_ < kBetweenReminders) return;
  lines.add(LogLevel::kError,
            [&] { return "TLS: files have changed and are not good, so the last good ones stay: " + text; });
  said_ = std::move(text);
  said_at_ = now;
}

void Credentials::warn(const Status& fitness, LogLines& lines) {
  if (fitness.ok()) return;
  lines.add(LogLevel::kWarning, [&] { return "TLS: connections will fail: " + fitness.to_string(); });
}

// Lines that a loop has not yet written when the last user of the credentials ends are dropped, since the
// logger needs to live no longer.
void Credentials::write(LogLines lines) noexcept {
  if (options_.logger == nullptr || lines.empty()) return;
  Loop* const loop = Loop::current();
  if (loop == nullptr || !loop->in_turn()) return lines.write_to(*options_.logger);
  try {
    loop->post([weak = weak_from_this(), lines = std::move(lines)]() mutable {
      if (const auto self = weak.lock()) lines.write_to(*self->options_.logger);
    });
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): last_failure() still tells it
  }
}

Status Credentials::last_failure() noexcept {
  const std::lock_guard lock{mutex_};
  return failure_;
}

Status Credentials::reload() {
  LogLines lines;
  Status status;
  {
    const std::lock_guard once{reading_};
    status = load(lines);
  }
  write(std::move(lines));
  return status;
}

// The marks are from before the reading: a change meanwhile is seen by the next look.
Status Credentials::load(LogLines& lines) {
  FileMarks marks{options_};
  std::shared_ptr<ServerNames> server;
  std::shared_ptr<ClientContext> client;
  {
    const std::lock_guard lock{mutex_};
    server = server_;
    client = client_;
  }
  Status doubt;
  Status status = renew(server, [this] { return make_server_contexts(options_); }, doubt);
  if (status.ok()) status = renew(client, [this] { return make_client_context(options_); }, doubt);
  if (status.ok()) warn(doubt, lines);
  marks_ = std::move(marks);
  Tally::count(status.ok() ? tally_.reloads : tally_.reloads_failed);
  const std::lock_guard lock{mutex_};
  failure_ = status;
  if (!status.ok()) return status;
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

Status TlsCredentials::last_failure() const noexcept {
  return state_->last_failure();
}

TlsStats TlsCredentials::stats() const noexcept {
  return state_->tally().stats();
}

}  // namespace weft
