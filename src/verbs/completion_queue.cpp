// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/completion_queue.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

namespace {

constexpr std::size_t kBatch = 32;
// Number of consecutive empty polls after which a device that flushes a queue counts as idle.
constexpr unsigned kIdleQuestions = 64;

// The id of a handler's work request; an operation's has the highest bit clear:
//   63: set | 62..44: generation of the place | 43..24: place | 23..0: cookie
constexpr std::uint64_t kHandlerBit = std::uint64_t{1} << 63;
constexpr unsigned kGenerationShift = 44;
constexpr unsigned kPlaceShift = 24;
constexpr std::uint32_t kGenerationMask = (1u << 19) - 1;
constexpr std::uint32_t kPlaceMask = (1u << 20) - 1;
constexpr std::uint32_t kCookieMask = (1u << 24) - 1;

}  // namespace

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::create(Loop& loop, std::shared_ptr<Device> device,
                                                                 const CompletionQueueOptions& options) {
  const int entries_max = device->attributes().max_cqe;
  if (options.entries == 0 || options.entries > static_cast<std::size_t>(entries_max)) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport, [&] {
                    return "CompletionQueueOptions::entries: from 1 to " + std::to_string(entries_max) +
                           " on " + std::string{device->name()};
                  }};
  }
  auto queue = std::make_unique<CompletionQueue>(Private{}, loop, std::move(device), options);
  if (Status failed = queue->start(options); !failed.ok()) return failed;
  return queue;
}

CompletionQueue::CompletionQueue(Private, Loop& loop, std::shared_ptr<Device> device,
                                 const CompletionQueueOptions& options)
    : loop_(loop),
      device_(std::move(device)),
      entries_(options.entries),
      table_(new detail::OperationTable(loop)) {}

Status CompletionQueue::start(const CompletionQueueOptions& options) {
  Driver& driver = device_->driver();
  if (options.event_channel) {
    channel_.handle = driver.create_comp_channel(device_->handle());
    if (channel_.handle == nullptr) return call_status(errno, "making a completion channel");
    const int flags = ::fcntl(channel_.handle->fd, F_GETFL);
    if (flags < 0 || ::fcntl(channel_.handle->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
      return call_status(errno, "a completion channel");
    }
  }
  handle_ =
      driver.create_cq(device_->handle(), static_cast<int>(entries_), this, channel_.handle, options.vector);
  if (handle_ == nullptr) return call_status(errno, "making a completion queue");
  auto added = loop_.add_poller(*this);
  added_ = added.ok();
  return std::move(added).status();
}

CompletionQueue::~CompletionQueue() {
  WEFT_ASSERT(reserved_ == leaving_,
              "queue pairs and shared receive queues end before their completion queue");
  if (added_) loop_.remove_poller(*this);
  Driver& driver = device_->driver();
  if (handle_ != nullptr) {
    if (channel_.handle != nullptr) take_event();
    driver.destroy_cq(handle_);
  }
  if (channel_.handle != nullptr) driver.destroy_comp_channel(channel_.handle);
  table_->close();
}

bool CompletionQueue::reserve(std::size_t entries) noexcept {
  // Completions of destroyed queues take room until they are polled.
  while (room() < entries && leaving_ > 0 && failed_ == 0) poll();
  if (room() < entries) return false;
  reserved_ += entries;
  return true;
}

void CompletionQueue::release(std::size_t entries) noexcept {
  leaving_ += entries;
}

Status CompletionQueue::no_room_for(std::size_t entries, std::string_view what) const {
  return {StatusCode::kResourceExhausted, Layer::kTransport, [&] {
            return std::string{what} + " of " + std::to_string(entries) +
                   " work requests: the completion queue has room for " + std::to_string(room()) +
                   " more of " + std::to_string(entries_) + "; give CompletionQueueOptions::entries more";
          }};
}

std::uint32_t CompletionQueue::add(CompletionHandler& handler) {
  std::uint32_t place = 0;
  while (place < places_.size() && places_[place].handler != nullptr) ++place;
  WEFT_ASSERT(place <= kPlaceMask, "so many handlers have no place in the ids");
  if (place == places_.size()) places_.emplace_back();
  places_[place].handler = &handler;
  return place;
}

void CompletionQueue::remove(std::uint32_t place) noexcept {
  places_[place].handler = nullptr;
  places_[place].generation = (places_[place].generation + 1) & kGenerationMask;
}

std::uint64_t CompletionQueue::id_for(std::uint32_t place, std::uint32_t cookie) const noexcept {
  WEFT_ASSERT(cookie <= kCookieMask, "a cookie has 24 bits");
  return kHandlerBit | std::uint64_t{places_[place].generation} << kGenerationShift |
         std::uint64_t{place} << kPlaceShift | cookie;
}

void CompletionQueue::handle_completion(const ibv_wc& completion) noexcept {
  const std::uint64_t id = completion.wr_id;
  if ((id & kHandlerBit) == 0) {
    if (detail::Operation* const operation = table_->find(id); operation != nullptr) {
      return operation->complete(completion);
    }
  } else {
    const auto place = static_cast<std::uint32_t>(id >> kPlaceShift) & kPlaceMask;
    const auto generation = static_cast<std::uint32_t>(id >> kGenerationShift) & kGenerationMask;
    const Place& of = places_[place];
    if (of.handler != nullptr && of.generation == generation) {
      return of.handler->on_completion(static_cast<std::uint32_t>(id) & kCookieMask, completion);
    }
  }
  ++strays_;
}

// Operations posted since the last poll are lost as well. Each handler is notified once.
std::size_t CompletionQueue::fail(int error) noexcept {
  const std::size_t given_up = table_->give_up();
  if (std::exchange(failed_, error) != 0) return given_up;
  for (const Place& place : places_) {
    if (place.handler != nullptr) place.handler->on_queue_failed();
  }
  return given_up + 1;
}

std::size_t CompletionQueue::poll() {
  std::array<ibv_wc, kBatch> completions;
  const int count = ibv_poll_cq(handle_, static_cast<int>(kBatch), completions.data());
  if (count < 0) [[unlikely]] {
    return fail(-count);
  }
  channel_.came = channel_.came || count > 0;
  for (int i = 0; i < count; ++i) handle_completion(completions[static_cast<std::size_t>(i)]);
  if (static_cast<std::size_t>(count) < kBatch) reserved_ -= std::exchange(leaving_, 0);
  return static_cast<std::size_t>(count);
}

// There are no more completions than there is room for, so they are all fetched first.
void CompletionQueue::drain() noexcept {
  std::size_t fetched = 0;
  for (unsigned idle = 0; idle < kIdleQuestions && fetched < entries_ && failed_ == 0;) {
    const std::size_t count = poll();
    fetched += count;
    idle = count > 0 ? 0 : idle + 1;
  }
}

// A device raises one event for each time that it was asked, so there is none to be looked for after that.
void CompletionQueue::take_event() noexcept {
  Driver& driver = device_->driver();
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (!channel_.asked || driver.get_cq_event(channel_.handle, &queue, &context) != 0) return;
  driver.ack_cq_events(handle_, 1);
  channel_.asked = false;
}

// Drain, arm, drain again: a completion in between raises no event. A raised event is consumed before the
// next one is requested, or the channel would stay readable. Each of both costs a system call.
bool CompletionQueue::arm() {
  if (channel_.handle == nullptr) return false;
  take_event();
  // Under memory pressure the kernel may lose the event of a completion, and then raises no other event.
  if ((!channel_.asked || channel_.came) && ibv_req_notify_cq(handle_, 0) != 0) return false;
  channel_.asked = true;
  channel_.came = false;
  return poll() == 0;
}

}  // namespace weft::verbs
