// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/etcd_hosts.hpp"
#include "naming/etcd_json.hpp"
#include "naming/first_turn.hpp"
#include "naming/http_client.hpp"
#include "naming/name_source.hpp"
#include "weft/coro/scope.hpp"
#include "weft/limits/backoff.hpp"
#include "weft/runtime/sleep.hpp"
#include "weft/runtime/with_deadline.hpp"

namespace weft::detail {

namespace {

/// Reads the keys below a prefix, then hears of each change from that revision on. Any failure begins anew,
/// so nothing is missed; and so does every ttl_max, for an etcd that is stopped ends no watch.
class EtcdSource final : public NameSource {
 public:
  EtcdSource(Loop& loop, NameBoard& board, EtcdHosts hosts)
      : loop_(loop),
        board_(board),
        hosts_(std::move(hosts)),
        backoff_(board.options().backoff_min, board.options().backoff_max),
        // Base64 and JSON around it take less than three times as much, and each entry some 300 bytes.
        bytes_max_(board.options().bytes_max * 3 + board.options().endpoints_max * 300 + 65536),
        client_(loop),
        first_turn_(loop, [this] { scope_.spawn(&EtcdSource::run, this); }) {}
  ~EtcdSource() override { scope_.drop_all(); }

 private:
  static Task<void> run(EtcdSource* self) {
    for (;;) {
      const Status ended = co_await self->list_and_watch();
      if (ended.ok()) continue;
      // What is too large or no etcd at all is an answer; the rest is none.
      if (ended.code() == StatusCode::kUnavailable) {
        self->board_.fail(ended);
      } else {
        self->board_.refuse(ended);
      }
      self->hosts_.next();
      auto slept = co_await sleep_for(self->backoff_.next(self->loop_.random().next()));
      if (!slept.ok()) co_return;
    }
  }

  /// Returns ok when it is time to look again.
  Task<Status> list_and_watch() {
    const std::size_t entries_max = board_.options().endpoints_max;
    auto listed =
        co_await client_.post(hosts_.url("kv/range"), range_request(hosts_.prefix(), entries_max + 1),
                              bytes_max_, board_.options().request_timeout);
    if (!listed.ok()) co_return std::move(listed).status();
    auto range = read_range(*listed);
    if (!range.ok()) co_return std::move(range).status();
    entries_.clear();
    bytes_ = 0;
    if (Status changed = apply(std::move(range->entries)); !changed.ok()) co_return changed;
    publish();

    const TimePoint begun = loop_.now();
    HttpRequest request{client_, hosts_.url("watch"), watch_request(hosts_.prefix(), range->revision + 1),
                        bytes_max_, kNoTimeout};
    const Deadline look_again = Deadline::after(begun, board_.options().ttl_max);
    std::string text;
    while (!request.done()) {
      auto waited = co_await with_deadline(look_again, request.more());
      if (!waited.ok()) {
        if (waited.status().code() == StatusCode::kDeadlineExceeded) co_return Status{};
        co_return std::move(waited).status();
      }
      const std::size_t looked_at = text.size();
      text += request.take();
      if (Status read = read_lines(text, looked_at); !read.ok()) co_return read;
      // One that ends again and again is not to be asked again and again.
      if (loop_.now() - begun >= board_.options().backoff_max) backoff_.reset();
    }
    if (!request.outcome().ok()) co_return request.outcome();
    co_return Status{StatusCode::kUnavailable, Layer::kRuntime, "etcd ended the watch; it is begun anew"};
  }

  /// The first `looked_at` bytes of `text` hold no end of a line.
  Status read_lines(std::string& text, std::size_t looked_at) {
    std::size_t from = 0;
    bool changed = false;
    for (std::size_t end; (end = text.find('\n', std::max(from, looked_at))) != text.npos; from = end + 1) {
      auto entries = read_watch(std::string_view{text}.substr(from, end - from));
      if (!entries.ok()) return std::move(entries).status();
      changed = changed || !entries->empty();
      if (Status applied = apply(std::move(*entries)); !applied.ok()) return applied;
    }
    text.erase(0, from);
    if (text.size() > bytes_max_) return too_much();
    if (changed) publish();
    return {};
  }

  Status apply(std::vector<EtcdEntry> entries) {
    for (EtcdEntry& entry : entries) {
      if (!entry.key.starts_with(hosts_.prefix()))
        return bad_name("etcd tells of a key that was not asked for");
      const auto found = entries_.find(entry.key);
      if (found != entries_.end()) {
        bytes_ -= found->second.size();
        entries_.erase(found);
      }
      if (entry.deleted) continue;
      bytes_ += entry.value.size();
      entries_.insert_or_assign(std::move(entry.key), std::move(entry.value));
      if (entries_.size() > board_.options().endpoints_max || bytes_ > bytes_max_) return too_much();
    }
    return {};
  }

  static Status too_much() {
    return {
        StatusCode::kResourceExhausted, Layer::kRuntime,
        "etcd has more servers under the name than NameOptions allows; raise endpoints_max if that is right"};
  }

  // One server that registers garbage takes no other one with it.
  void publish() {
    std::vector<Endpoint> endpoints;
    for (const auto& [key, value] : entries_) {
      auto endpoint = parse_endpoint(value);
      if (endpoint.ok()) {
        endpoints.push_back(std::move(*endpoint));
      } else {
        board_.skip(endpoint.status());
      }
    }
    if (endpoints.empty() && !entries_.empty()) {
      return board_.refuse(bad_name("no key of etcd under the name holds an endpoint"));
    }
    board_.answer(std::move(endpoints));
  }

  Loop& loop_;
  NameBoard& board_;
  EtcdHosts hosts_;
  Backoff backoff_;
  const std::size_t bytes_max_;
  std::map<std::string, std::string> entries_;
  std::size_t bytes_ = 0;
  HttpClient client_;
  Scope scope_;
  FirstTurn first_turn_;
};

}  // namespace

MadeSource make_etcd_source(Loop& loop, NameBoard& board, std::string_view rest) {
  auto hosts = EtcdHosts::parse(rest);
  if (!hosts.ok()) return std::move(hosts).status();
  return std::make_unique<EtcdSource>(loop, board, std::move(*hosts));
}

}  // namespace weft::detail
