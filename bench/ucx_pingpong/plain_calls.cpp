// SPDX-License-Identifier: Apache-2.0
// The tests as a C program does them: calls of UCX, counters, and a loop around ucp_worker_progress().
#include <cstring>

#include "fail.hpp"
#include "station.hpp"

namespace weft::bench {
namespace {

class PlainCalls {
 public:
  PlainCalls(Station& station, std::uint64_t iterations, Stopwatch& watch)
      : station_(station),
        iterations_(iterations),
        watch_(watch),
        handle_(station.worker->handle()),
        peer_(station.peer.handle()),
        size_(station.plan.size) {
    send_.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    send_.user_data = this;
    send_.cb.send = &PlainCalls::sent;
    receive_ = send_;
    receive_.cb.recv = &PlainCalls::received;
    if (station.plan.test == Test::kAmLat) listen();
  }

  void run() {
    barrier();
    watch_.begin();
    side();
    wait_until_below(1);
    finish(ucp_worker_flush_nbx(handle_, &send_));
    wait_until_below(1);
    watch_.end();
    barrier();
  }

 private:
  void side() {
    switch (station_.plan.test) {
      case Test::kTagBw:
        return station_.serves ? windowed([this] { return receive(); }) : windowed([this] { return send(); });
      case Test::kPutBw:
        return station_.serves ? void() : windowed([this] { return put(); });
      case Test::kGetBw:
        return station_.serves ? void() : windowed([this] { return get(); });
      case Test::kAmLat:
        return pingpong([this](std::uint8_t) { finish(am_send()); },
                        [this](std::uint8_t) { take_message(); });
      case Test::kPutLat:
        return pingpong([this](std::uint8_t round) { put_round(round); },
                        [this](std::uint8_t round) { take_put(round); });
      case Test::kTagLat:
      case Test::kIdle:
        break;
    }
    pingpong([this](std::uint8_t) { finish(send()); },
             [this](std::uint8_t) {
               finish(receive());
               wait_until_below(1);
             });
  }

  template <typename Issue>
  void windowed(Issue issue) {
    for (std::uint64_t i = 0; i < iterations_; ++i) {
      wait_until_below(station_.plan.window);
      finish(issue());
      watch_.tick();
    }
  }

  template <typename Say, typename Hear>
  void pingpong(Say say, Hear hear) {
    std::uint8_t round = 0;
    for (std::uint64_t i = 0; i < iterations_; ++i, ++round) {
      if (!station_.serves) say(round);
      hear(round);
      if (station_.serves) say(round);
      watch_.tick();
    }
  }

  ucs_status_ptr_t send() { return ucp_tag_send_nbx(peer_, station_.out.data(), size_, kTag, &send_); }
  ucs_status_ptr_t receive() {
    return ucp_tag_recv_nbx(handle_, station_.in.data(), size_, kTag, ucx::kWholeTag, &receive_);
  }
  ucs_status_ptr_t put() {
    return ucp_put_nbx(peer_, station_.out.data(), size_, station_.peer_address, station_.key->handle(),
                       &send_);
  }
  ucs_status_ptr_t get() {
    return ucp_get_nbx(peer_, station_.in.data(), size_, station_.peer_address, station_.key->handle(),
                       &send_);
  }
  ucs_status_ptr_t am_send() {
    return ucp_am_send_nbx(peer_, kAmId, nullptr, 0, station_.out.data(), size_, &send_);
  }
  void take_message() {
    while (messages_ == 0) progress();
    --messages_;
  }
  void put_round(std::uint8_t round) {
    wait_until_below(1);
    station_.out.data()[size_ - 1] = std::byte{round};
    finish(put());
  }
  void take_put(std::uint8_t round) {
    const volatile std::byte* last = station_.region->memory().data() + size_ - 1;
    while (*last != std::byte{round}) progress();
  }

  void progress() { ucp_worker_progress(handle_); }
  void wait_until_below(std::uint64_t limit) {
    while (under_way_ >= limit) progress();
  }
  void finish(ucs_status_ptr_t answer) {
    if (UCS_PTR_IS_PTR(answer)) {
      ++under_way_;
    } else if (answer != nullptr) {
      fail(ucs_status_string(UCS_PTR_STATUS(answer)));
    }
  }
  void completed(void* request, ucs_status_t status) {
    if (status != UCS_OK) fail(ucs_status_string(status));
    --under_way_;
    ucp_request_free(request);
  }
  static void sent(void* request, ucs_status_t status, void* self) {
    static_cast<PlainCalls*>(self)->completed(request, status);
  }
  static void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* /*info*/, void* self) {
    static_cast<PlainCalls*>(self)->completed(request, status);
  }

  void listen() {
    ucp_am_handler_param_t params{};
    params.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    params.id = kAmId;
    params.arg = this;
    params.cb = [](void* self, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
      ++static_cast<PlainCalls*>(self)->messages_;
      return UCS_OK;
    };
    if (ucp_worker_set_am_recv_handler(handle_, &params) != UCS_OK) fail("no handler for active messages");
  }

  void barrier() {
    constexpr int kCallsPerLook = 64;
    station_.channel.arrive();
    while (!station_.channel.other_is_here()) {
      for (int i = 0; i < kCallsPerLook; ++i) progress();
    }
  }

  Station& station_;
  const std::uint64_t iterations_;
  Stopwatch& watch_;
  ucp_worker_h handle_;
  ucp_ep_h peer_;
  std::size_t size_;
  ucp_request_param_t send_{};
  ucp_request_param_t receive_{};
  std::uint64_t under_way_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace

void run_plain_calls(Station& station, std::uint64_t iterations, Stopwatch& watch) {
  if (station.region) std::memset(station.region->memory().data(), 0xFF, station.plan.size);
  PlainCalls{station, iterations, watch}.run();
}

}  // namespace weft::bench
