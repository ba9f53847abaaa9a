// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "weft/untyped.hpp"

namespace weft::python {

/// A stream that Python opened, and which of its ends are in use.
struct OpenStream {
  template <typename... Arguments>
  explicit OpenStream(std::shared_ptr<void> its_owner, Arguments&&... arguments)
      : owner(std::move(its_owner)), stream(std::forward<Arguments>(arguments)...) {}

  /// The options of the stream, which outlive it.
  std::shared_ptr<void> owner;
  UntypedStream stream;
  bool reading = false;
  bool writing = false;
};

/// The open streams of a client, by numbers. Thread: the loop's.
class Streams {
 public:
  /// Null for a number whose stream was closed.
  OpenStream* find(std::uint64_t number) const {
    const auto found = streams_.find(number);
    return found == streams_.end() ? nullptr : found->second.get();
  }
  void add(std::uint64_t number, std::unique_ptr<OpenStream> stream) { streams_[number] = std::move(stream); }
  /// Cancels it if it has not ended. Coroutines that wait on it go on.
  void drop(std::uint64_t number) noexcept { streams_.erase(number); }
  void drop_all() noexcept { streams_.clear(); }

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<OpenStream>> streams_;
};

}  // namespace weft::python
