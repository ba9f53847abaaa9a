// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/queue_pair.hpp"

#include <arpa/inet.h>

#include <cerrno>
#include <utility>

#include "verbs/posting.hpp"
#include "verbs/queue_pair_queues.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

using detail::Posted;
using detail::Request;

namespace {

Status refused_options(const char* why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

Status check(const QueuePairOptions& options) {
  if (options.sends_max == 0) return refused_options("QueuePairOptions::sends_max: from 1 on is possible");
  if (options.segments_max == 0 || options.segments_max > detail::kSegmentsMax) {
    return refused_options("QueuePairOptions::segments_max: from 1 to 32 are possible");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::create(std::shared_ptr<ProtectionDomain> domain,
                                                     CompletionQueue& completions,
                                                     const QueuePairOptions& options) {
  if (Status wrong = check(options); !wrong.ok()) return wrong;
  if (options.shared_receives != nullptr && &options.shared_receives->completions() != &completions) {
    return refused_options("QueuePairOptions::shared_receives complete into another completion queue");
  }
  auto pair = std::make_unique<QueuePair>(Private{}, std::move(domain), completions, options);
  if (Status failed = pair->start(options); !failed.ok()) return failed;
  return pair;
}

Status QueuePair::start(const QueuePairOptions& options) {
  if (Status failed = device_.choose_address(options); !failed.ok()) return failed;
  const std::size_t completions = options.sends_max + receives_->capacity();
  if (!completions_.reserve(completions)) return completions_.no_room_for(completions, "a queue pair");
  reserved_ = completions;
  return device_.make(options, completions_.handle(), receives_->capacity());
}

QueuePair::QueuePair(Private, std::shared_ptr<ProtectionDomain> domain, CompletionQueue& completions,
                     const QueuePairOptions& options)
    : device_(std::move(domain), options.port),
      completions_(completions),
      segments_max_(options.segments_max),
      sends_(std::make_unique<SendQueue>(*this, options.sends_max)),
      receives_(std::make_unique<ReceiveQueue>(
          *this, options.shared_receives != nullptr ? 0 : options.receives_max)) {}

// A destroyed queue pair accesses no memory, and later completions find no operation. Some devices drop
// pending completions on destruction, and their shared receives would be lost, so these are polled first.
QueuePair::~QueuePair() {
  if (handle() != nullptr) {
    static_cast<void>(fail());
    completions_.drain();
    device_.destroy();
  }
  sends_->close();
  receives_->close();
  completions_.release(reserved_);
}

std::size_t QueuePair::sends_posted() const noexcept {
  return sends_->posted();
}

std::size_t QueuePair::receives_posted() const noexcept {
  return receives_->posted();
}

Posted<detail::Send> QueuePair::send(std::span<const Memory> memory) {
  return detail::post<detail::Send>(completions_.operations(), *sends_,
                                    {*device_.domain(), memory, segments_max_, {.opcode = IBV_WR_SEND}});
}

Posted<detail::Send> QueuePair::send_with_immediate(std::span<const Memory> memory, std::uint32_t immediate) {
  const Request request{.opcode = IBV_WR_SEND_WITH_IMM, .immediate = htonl(immediate)};
  return detail::post<detail::Send>(completions_.operations(), *sends_,
                                    {*device_.domain(), memory, segments_max_, request});
}

Posted<detail::Receive> QueuePair::receive(std::span<const Memory> memory) {
  if (receives_->capacity() == 0) return Posted<detail::Receive>{detail::NotPosted::kSharedReceives};
  return detail::post<detail::Receive>(completions_.operations(), *receives_,
                                       {*device_.domain(), memory, segments_max_});
}

Posted<detail::Write> QueuePair::write(std::span<const Memory> memory, const RemoteMemory& to) {
  const Request request{.opcode = IBV_WR_RDMA_WRITE, .remote = to};
  return detail::post<detail::Write>(completions_.operations(), *sends_,
                                     {*device_.domain(), memory, segments_max_, request});
}

Posted<detail::Write> QueuePair::write_with_immediate(std::span<const Memory> memory, const RemoteMemory& to,
                                                      std::uint32_t immediate) {
  const Request request{.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .immediate = htonl(immediate), .remote = to};
  return detail::post<detail::Write>(completions_.operations(), *sends_,
                                     {*device_.domain(), memory, segments_max_, request});
}

Posted<detail::Read> QueuePair::read(std::span<const Memory> memory, const RemoteMemory& from) {
  const Request request{.opcode = IBV_WR_RDMA_READ, .remote = from};
  return detail::post<detail::Read>(completions_.operations(), *sends_,
                                    {*device_.domain(), memory, segments_max_, request});
}

Posted<detail::Atomic> QueuePair::fetch_add(const RemoteMemory& word, std::uint64_t add) {
  return atomic({.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .remote = word, .operand = add});
}

Posted<detail::Atomic> QueuePair::compare_swap(const RemoteMemory& word, std::uint64_t expected,
                                               std::uint64_t desired) {
  return atomic({.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .remote = word, .operand = expected, .swap = desired});
}

Posted<detail::Atomic> QueuePair::atomic(const Request& request) {
  if (request.remote.address % sizeof(std::uint64_t) != 0) {
    return Posted<detail::Atomic>{detail::NotPosted::kUnaligned};
  }
  const Memory word = sends_->words->take();
  if (word.empty()) return Posted<detail::Atomic>{detail::NotPosted::kNoWord};
  return detail::post<detail::Atomic>(completions_.operations(), *sends_,
                                      {*device_.domain(), {&word, 1}, 1, request});
}

int QueuePair::SendQueue::post(detail::Operation& operation) noexcept {
  // Some devices keep a request that they refuse before the connection exists, and send it later.
  if (!pair.device_.is_connected()) return ENOTCONN;
  if (pair.failed_) return ESHUTDOWN;
  const Request& asked = operation.request;
  std::array<ibv_sge, detail::kSegmentsMax> segments;
  std::size_t bytes = 0;
  ibv_send_wr request{};
  request.num_sge = static_cast<int>(operation.write_segments(segments, bytes));
  request.wr_id = operation.id();
  request.sg_list = segments.data();
  request.opcode = asked.opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = asked.immediate;
  if (asked.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || asked.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    request.wr.atomic.remote_addr = asked.remote.address;
    request.wr.atomic.rkey = asked.remote.rkey;
    request.wr.atomic.compare_add = asked.operand;
    request.wr.atomic.swap = asked.swap;
  } else {
    request.wr.rdma.remote_addr = asked.remote.address;
    request.wr.rdma.rkey = asked.remote.rkey;
    const bool leaves = asked.opcode != IBV_WR_RDMA_READ;
    if (leaves && bytes <= pair.device_.inline_bytes_max()) request.send_flags |= IBV_SEND_INLINE;
  }
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(pair.handle(), &request, &refused);
}

Status QueuePair::fail() {
  if (Status failed = device_.fail(); !failed.ok()) return failed;
  failed_ = true;
  return {};
}

}  // namespace weft::verbs
