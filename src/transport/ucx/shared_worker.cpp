// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/shared_worker.hpp"

#include <string>
#include <utility>

#include "transport/ucx/limits.hpp"
#include "transport/ucx/ucx_carrier.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::detail::ucx_carrier {

namespace {

constexpr Duration kStrayInterval = std::chrono::seconds{1};

}  // namespace

Result<std::shared_ptr<SharedWorker>> SharedWorker::make(Loop& loop, std::shared_ptr<ucx::Context> context,
                                                         const UcxOptions& options) {
  auto worker = ucx::Worker::create(loop, std::move(context));
  if (!worker.ok()) return std::move(worker).status();
  auto address = (*worker)->address();
  if (!address.ok()) return std::move(address).status();
  auto shared = std::make_shared<SharedWorker>(loop, *std::move(worker), options);
  shared->address_ = *std::move(address);
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kActiveMessageId;
  handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
  handler.cb = &SharedWorker::on_message;
  handler.arg = shared.get();
  const ucs_status_t status =
      ucx::detail::library.ucp_worker_set_am_recv_handler(shared->worker().handle(), &handler);
  if (status != UCS_OK) return ucx::to_status(status, "set the handler of active messages");
  return shared;
}

SharedWorker::SharedWorker(Loop& loop, std::unique_ptr<ucx::Worker> worker, const UcxOptions& options)
    : loop_(loop),
      log_(loop, *options.logger),
      lent_max_(options.error_mode == UcxErrorMode::kPeer ? kLentMessagesMax : 0),
      worker_(std::move(worker)),
      random_(std::random_device{}()) {}

SharedWorker::~SharedWorker() {
  give_up();
}

Place SharedWorker::enter(UcxCarrier& carrier) {
  if (free_.empty()) {
    free_.reserve(entries_.size() + 1);  // leave() needs no memory then
    entries_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
  }
  const Place place{free_.back(), static_cast<std::uint32_t>(random_())};
  free_.pop_back();
  entries_[place.slot] = {&carrier, place.key};
  return place;
}

void SharedWorker::leave(const Place& place, bool peer_may_be_dead) noexcept {
  entries_[place.slot] = {};
  free_.push_back(place.slot);
  if (peer_may_be_dead && alive() && !Timer::armed()) loop_.arm(*this, loop_.now() + kWatchInterval);
}

bool SharedWorker::progress() {
  return worker_ != nullptr && worker_->progress();
}

ChunkRef SharedWorker::lend(MutableBytes memory) noexcept {
  if (lent_ >= lent_max_) return {};
  ChunkRef chunk = loop_.chunks().lend(memory, *this);
  if (chunk && lent_++ == 0) self_ = shared_from_this();
  return chunk;
}

void SharedWorker::on_chunk_returned(MutableBytes memory) noexcept {
  release(memory.data());
  if (--lent_ > 0) return;
  resting_.reset();
  self_.reset();
}

// Reads of a peer's memory by UCX itself (cma) continue after their landing has failed, and UCX asserts if
// the worker ends before them. Operations that depend on a peer are not waited for.
void SharedWorker::let_copies_end() {
  const TimePoint give_up_at = steady_clock_source().now() + kReclaimAtMost;
  unsigned idle = 0;
  while (idle < kIdleQuestions && steady_clock_source().now() < give_up_at) idle = progress() ? 0 : idle + 1;
}

// When UCX finds nothing to do, a queue is empty or begins with a place that its sender has not filled yet,
// and in the second case UCX refuses to arm. A living sender fills it within the microsecond, or when it is
// its turn to run again.
bool SharedWorker::seems_stuck() noexcept {
  unsigned quiet = 0;
  for (unsigned i = 0; i < kWatchQuestions; ++i) {
    if (progress()) continue;
    ++quiet;
    if (ucx::detail::library.ucp_worker_arm(worker_->handle()) != UCS_ERR_BUSY) return false;
  }
  return quiet > kWatchQuestions / 2;
}

void SharedWorker::on_timer() {
  if (worker_ == nullptr) return;
  const std::shared_ptr<SharedWorker> self = shared_from_this();
  seemed_stuck_ = seems_stuck() ? seemed_stuck_ + 1 : 0;
  if (seemed_stuck_ == 0) return;
  if (seemed_stuck_ >= kStuckAfter) {
    log_.write(LogLevel::kWarning, [] {
      return std::string{
          "ucx: a peer has left a message unfinished in shared memory, behind which nothing can be received: "
          "the connections of this worker end and are made again by another one"};
    });
    return give_up();
  }
  loop_.arm(*this, loop_.now() + kWatchInterval);
}

void SharedWorker::give_up() {
  if (worker_ == nullptr) return;
  let_copies_end();
  if (lent_ > 0) {
    worker_->rest();
    resting_ = std::move(worker_);
  }
  worker_.reset();
  for (const Entry& entry : entries_) {
    if (entry.carrier != nullptr) entry.carrier->on_worker_gone();
  }
}

UcxCarrier* SharedWorker::find(const ActiveMessageHeader& header) const noexcept {
  const Entry& entry = entries_[header.slot];
  return entry.key == header.key ? entry.carrier : nullptr;
}

// Called inside ucp_worker_progress, so it only records the message.
ucs_status_t SharedWorker::on_message(void* shared, const void* header, std::size_t header_bytes, void* data,
                                      std::size_t bytes, const ucp_am_recv_param_t* param) noexcept {
  auto& self = *static_cast<SharedWorker*>(shared);
  const auto loaded = load_active_message_header({static_cast<const std::byte*>(header), header_bytes});
  if (!loaded || loaded->slot >= self.entries_.size()) [[unlikely]] {
    self.note_stray(header_bytes);
    return UCS_OK;
  }
  // A message that was under way when its carrier was shut is not an error.
  UcxCarrier* const carrier = self.find(*loaded);
  if (carrier == nullptr) return UCS_OK;
  return carrier->inbox().arrived(loaded->message, data, bytes, param->recv_attr) ? UCS_INPROGRESS : UCS_OK;
}

void SharedWorker::note_stray(std::size_t header_bytes) noexcept {
  ++strays_;
  const TimePoint now = loop_.clock().now();
  if (now < quiet_until_) return;
  quiet_until_ = now + kStrayInterval;
  const char* what = header_bytes == kActiveMessageHeaderBytes
                         ? "no connection of this process, or another version"
                         : "another protocol";
  log_.write(LogLevel::kWarning, [&] {
    return "ucx: dropped an active message of " + std::string{what} + " (" + std::to_string(strays_) +
           " so far)";
  });
}

}  // namespace weft::detail::ucx_carrier
