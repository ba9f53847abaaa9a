// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/naming/endpoint.hpp"
#include "weft/detail/naming/name_options.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

namespace detail {
class NameBoard;
class NameSource;
}  // namespace detail

/// The servers behind a name, now and as they change; created by watch_name(). Keeps the last good list when
/// the source fails. Answers with more than some two thousand servers are parsed, sorted and compared on a
/// thread of the watch's own, so that the loop continues meanwhile; a static list is read where it is
/// watched. Thread: the loop's. Its destructor waits only for an answer that this thread is just parsing; it
/// ends before its loop does. Destroying a watch on another thread than its loop's aborts the process.
class NameWatch {
  struct Private {
    explicit Private() = default;
  };

 public:
  NameWatch(Private, std::shared_ptr<detail::NameBoard> board, std::unique_ptr<detail::NameSource> source);
  NameWatch(NameWatch&&) noexcept;
  NameWatch& operator=(NameWatch&&) = delete;
  ~NameWatch();

  /// Returns the current list, never null; its version is zero when there was none yet.
  NameSnapshot list() const noexcept;
  /// Waits until there is a list newer than version `seen` and returns it; at once when there is one already.
  /// `changed(0)` waits for the first. Any number of coroutines may wait. Cancel: total.
  /// Errors: to_status(reason) when cancelled, kCancelled when the watch ended meanwhile, kFailedPrecondition
  /// on another thread than the loop's.
  Task<Result<NameSnapshot>> changed(std::uint64_t seen) const;
  /// Returns why the last attempt or answer was not good; ok when it was, or when there was none yet.
  Status last_failure() const noexcept;
  NameWatchStats stats() const noexcept;

 private:
  friend Result<NameWatch> watch_name(Loop& loop, std::string_view name, const NameOptions& options);

  std::shared_ptr<detail::NameBoard> board_;
  std::unique_ptr<detail::NameSource> source_;
};

/// Begins to watch `name`, one of
///
///   static:tcp://10.0.0.7:9000,tcp://10.0.0.8:9000 weight=2
///   file:/etc/servers.txt                     one endpoint a line, '#' begins a comment
///   dns://kv.example.org:9000                 its A and AAAA addresses
///   dns:_kv._tcp.example.org                  its SRV records of the best priority, and their addresses
///   etcd://10.0.0.1:2379,10.0.0.2:2379/services/kv     the values of the keys below /services/kv/
///
/// A source that cannot be reached is no error here: it is tried again. `loop` outlives the watch.
/// Errors: kInvalidArgument for a name or options that mean nothing, kResourceExhausted for a static list
/// beyond the limits, kUnimplemented when this build lacks the scheme's library, kFailedPrecondition on
/// another thread than the loop's, the system's with errno. Thread: the loop's.
Result<NameWatch> watch_name(Loop& loop, std::string_view name, const NameOptions& options);
inline Result<NameWatch> watch_name(Loop& loop, std::string_view name) {
  const NameOptions options;
  return watch_name(loop, name, options);
}

}  // namespace weft
