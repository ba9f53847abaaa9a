// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft::detail::memory {

class MemoryCarrier;

/// Name of an end of a link. An end sends into the pipe of its own number.
enum class End : std::uint8_t { kClient = 0, kServer = 1 };
constexpr End other(End end) {
  return end == End::kClient ? End::kServer : End::kClient;
}

/// A receiver's view of a pipe at some moment.
struct Arrived {
  std::uint64_t bytes = 0;  ///< since the beginning
  bool ended = false;
  bool broken = false;
  friend bool operator==(const Arrived&, const Arrived&) = default;
};

/// Two pipes between two ends; each end belongs to a loop. One lock guards everything except the pointer to
/// an end's carrier, which is used on that end's loop only.
class MemoryLink : public std::enable_shared_from_this<MemoryLink> {
 public:
  MemoryLink(const MemoryOptions& options, Url url);

  const Url& url() const { return url_; }
  bool peer_may_vanish() const { return peer_may_vanish_; }
  const MemoryFaults& faults_to(End end) const { return pipes_[index(other(end))].faults; }

  void attach(End end, Loop& loop, MemoryCarrier& carrier);
  /// The end sends and receives no more. Thread: its loop's.
  void detach(End end);

  /// Takes as many bytes as there is room for; 0 when the pipe is full (the end is notified when that
  /// changes), -1 when it is broken.
  std::int64_t send(End end, Bytes bytes);
  void end_sending(End end);

  Arrived arrived(End end);
  /// Copies out available bytes, up to `limit` bytes since the beginning.
  std::size_t receive(End end, MutableBytes into, std::uint64_t limit);

 private:
  struct Pipe {
    MemoryFaults faults;
    std::vector<std::byte> ring;
    std::uint64_t accepted = 0;  // from the sender, swallowed ones too
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    bool ended = false;
    bool silent = false;
    bool receiver_gone = false;
    bool sender_waits = false;
  };
  struct Side {
    Loop* loop = nullptr;
    MemoryCarrier* carrier = nullptr;
    bool notified = false;
  };

  static std::size_t index(End end) { return static_cast<std::size_t>(end); }
  Pipe& pipe_from(End end) { return pipes_[index(end)]; }
  Pipe& pipe_to(End end) { return pipes_[index(other(end))]; }
  static void write(Pipe& pipe, Bytes bytes);
  void notify(End end);

  const Url url_;
  const bool peer_may_vanish_;
  std::mutex mutex_;
  bool broken_ = false;
  Pipe pipes_[2];
  Side sides_[2];
};

}  // namespace weft::detail::memory
