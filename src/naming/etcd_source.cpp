// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "naming/etcd_hosts.hpp"
#include "naming/etcd_json.hpp"
#include "naming/etcd_table.hpp"
#include "naming/first_turn.hpp"
#include "naming/http_client.hpp"
#include "naming/long_answers.hpp"
#include "naming/name_source.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/limits/backoff.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::detail {

namespace {

/// Reads the keys below a prefix, then hears of each change from that revision on. Any failure begins anew,
/// so nothing is missed. So does a silence of watch_silence_max, and in any case ttl_max: neither an etcd
/// that is stopped nor a proxy that loses its state ends a watch.
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
      // An answer that is too large, or not etcd's, is still an answer.
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
    const auto table = std::make_shared<EtcdTable>(std::string{hosts_.prefix()}, board_.limits(), bytes_max_);
    const std::size_t listed_bytes = listed->size();
    Task<Result<EtcdNews>> beginning =
        long_answers_.read(listed_bytes, &EtcdSource::begin, table, std::move(*listed), board_.list());
    Result<EtcdNews> range = co_await std::move(beginning);
    if (Status told = tell(range); !told.ok()) co_return told;

    const TimePoint begun = loop_.now();
    HttpRequest request{client_, hosts_.url("watch"), watch_request(hosts_.prefix(), range->revision + 1),
                        bytes_max_, kNoTimeout};
    const Deadline look_again = Deadline::after(begun, board_.options().ttl_max);
    std::string text;
    while (!request.done()) {
      const Deadline silent = Deadline::after(loop_.now(), board_.options().watch_silence_max);
      auto waited = co_await with_deadline(look_again.earlier(silent), request.more());
      if (!waited.ok()) {
        if (waited.status().code() == StatusCode::kDeadlineExceeded) co_return Status{};
        co_return std::move(waited).status();
      }
      text += request.take();
      std::string lines = take_lines(text);
      if (text.size() > bytes_max_) co_return too_much();
      if (!lines.empty()) {
        const std::size_t bytes = lines.size() + table->bytes();
        Task<Result<EtcdNews>> following =
            long_answers_.read(bytes, &EtcdSource::follow, table, std::move(lines), board_.list());
        Result<EtcdNews> news = co_await std::move(following);
        if (Status told = tell(news); !told.ok()) co_return told;
      }
      // One that ends again and again is not to be asked again and again.
      if (loop_.now() - begun >= board_.options().backoff_max) backoff_.reset();
    }
    if (!request.outcome().ok()) co_return request.outcome();
    co_return Status{StatusCode::kUnavailable, Layer::kRuntime, "etcd ended the watch; it is begun anew"};
  }

  // The worker's call owns the arguments: the watch may end before it.
  static EtcdNews begin(const std::shared_ptr<EtcdTable>& table, const std::string& range,
                        const NameSnapshot& before) {
    return table->begin(range, before);
  }
  static EtcdNews follow(const std::shared_ptr<EtcdTable>& table, const std::string& lines,
                         const NameSnapshot& before) {
    return table->follow(lines, before);
  }

  /// Takes the whole lines out of `text`.
  static std::string take_lines(std::string& text) {
    const std::size_t end = text.rfind('\n');
    if (end == text.npos) return {};
    std::string rest = text.substr(end + 1);
    text.resize(end + 1);
    return std::exchange(text, std::move(rest));
  }

  Status tell(Result<EtcdNews>& news) {
    if (!news.ok()) return news.status();
    if (!news->failure.ok()) return news->failure;
    if (news->changed) board_.take(std::move(news->list));
    return {};
  }

  static Status too_much() {
    return {StatusCode::kResourceExhausted, Layer::kRuntime,
            "etcd tells of more at once than NameOptions allows; raise endpoints_max if that is right"};
  }

  Loop& loop_;
  NameBoard& board_;
  EtcdHosts hosts_;
  Backoff backoff_;
  const std::size_t bytes_max_;
  HttpClient client_;
  LongAnswers long_answers_;
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
