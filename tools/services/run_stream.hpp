// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "load/stop_signal.hpp"
#include "services/input_lines.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/weft.hpp"

/// Streams of JSON between a server and the standard streams. A `Stream` has the functions of
/// protobuf::RemoteStream.
namespace weft::services {

/// Prints each response as it comes. Returns a failure of this side; the stream's own end is reported by its
/// finish().
template <typename Stream>
Task<Status> print_all(Stream* stream, InputLines* lines) {
  Status outcome;
  for (;;) {
    const Result<std::optional<std::string>> text = co_await stream->next();
    if (!text.ok()) outcome = text.status();
    if (!text.ok() || !text->has_value()) break;
    std::fputs((**text + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  // The stream takes no more lines.
  if (lines != nullptr) lines->stop();
  co_return outcome;
}

/// Sends each line of standard input. A line that is no item ends the stream.
template <typename Stream>
Task<Status> send_all(Stream* stream, InputLines* lines) {
  std::size_t number = 0;
  while (const std::optional<std::string> line = co_await lines->next()) {
    const Result<bool> written = co_await stream->write(*line);
    ++number;
    if (!written.ok()) {
      stream->cancel();
      co_return Status{written.status()}.with_context("request " + std::to_string(number) +
                                                      " of standard input");
    }
    if (!*written) break;
  }
  stream->end_writing();
  co_return Status{};
}

/// Runs `work` on the loop when Ctrl-C comes, or SIGTERM.
class OnStop {
 public:
  /// `loop` outlives it.
  template <typename Work>
  OnStop(Loop& loop, Work work)
      : thread_([this, &loop, work] {
          signal_.blocking_wait();
          loop.post([ended = ended_, work] {
            if (!*ended) work();
          });
        }) {}
  ~OnStop() {
    *ended_ = true;
    // The thread waits for it, and it is blocked elsewhere.
    ::pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
    thread_.join();
  }
  OnStop(const OnStop&) = delete;
  OnStop& operator=(const OnStop&) = delete;

 private:
  load::StopSignal signal_;
  /// True once this object is gone. The loop's thread and posted functions share the flag.
  const std::shared_ptr<bool> ended_ = std::make_shared<bool>(false);
  std::thread thread_;
};

/// Runs a stream to its end: sends standard input and prints what arrives. Ctrl-C cancels it. Returns its
/// result.
template <typename Stream>
Task<Result<std::string>> run_stream(Stream* stream) {
  std::optional<InputLines> lines;
  const auto stop = [stream, &lines] {
    stream->cancel();
    if (lines) lines->stop();
  };
  const OnStop on_stop{*Loop::current(), stop};
  if (stream->writes()) lines.emplace(*Loop::current());
  Status wrong;
  if (stream->writes() && stream->reads()) {
    const auto [printed, sent] = co_await when_all(print_all(stream, &*lines), send_all(stream, &*lines));
    wrong = sent.ok() ? printed : sent;
  } else if (stream->writes()) {
    wrong = co_await send_all(stream, &*lines);
  } else {
    wrong = co_await print_all(stream, nullptr);
  }
  Result<std::string> end = co_await stream->finish();
  if (!wrong.ok()) co_return wrong;
  co_return end;
}

}  // namespace weft::services
