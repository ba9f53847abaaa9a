// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.hpp"
#include "weft/memory/chunk_pool.hpp"

namespace weft {

/// Memory that a connection reads from until it gives it back. The object is an operation record: it, and the
/// bytes it stands for, stay where they are until on_released was called, exactly once per lease.
class SendLease {
 public:
  /// `sent`: the bytes left for the peer; otherwise the connection ended or the outbox made its own copy.
  virtual void on_released(bool sent) noexcept = 0;

 protected:
  ~SendLease() = default;
};

/// What a connection is to send, in order: frames encoded straight into chunks, and leased memory between them.
/// A concrete class, so that queueing a frame is no virtual call. Thread: the connection's loop.
///
/// The transport drains it from the front: segments() gathers, consume() gives back.
class Outbox {
 public:
  explicit Outbox(ChunkPool& chunks);
  ~Outbox();  // releases every lease with sent = false
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Room for exactly `bytes` contiguous bytes, 8-aligned, to be filled before anything else is called; they are
  /// queued by this call. `bytes` is a multiple of 8. Null when memory is out.
  std::byte* append(std::size_t bytes);
  /// Gives back the last `bytes` of the latest append, before anything else was appended; a multiple of 8.
  void trim(std::size_t bytes);
  /// Queues `bytes` of leased memory after what is queued. Small pieces are copied (the lease is then released at
  /// once, sent = false is never reported for it).  Returns false when memory is out; nothing was queued then.
  bool append_leased(Bytes bytes, SendLease& lease);
  /// Copies what is unsent of `lease`, so that its owner may go; on_released(false) is called before this returns.
  /// Returns false, and keeps the lease, when memory is out.
  bool take_over(SendLease& lease);

  std::size_t queued_bytes() const { return queued_bytes_; }
  bool empty() const { return queued_bytes_ == 0; }

  // for the transport; see src: segments(iovec-like array), consume(bytes), release_all()
 private:
  std::size_t queued_bytes_ = 0;
};

}  // namespace weft
