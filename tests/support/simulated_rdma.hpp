// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/simulated_cm.hpp"
#include "support/simulated_rdma/description.hpp"
#include "weft/detail/verbs/driver.hpp"

namespace weft::testing {

namespace simulated {
struct Network;
}

/// RDMA devices that share one network and exist only in this process: reliable connections between any two
/// of their queue pairs, in the semantics of libibverbs and of the InfiniBand specification. The memory of a
/// work request is read and written when it executes, so that a sanitizer sees memory that was given back too
/// early; it is never touched after the queue pair was destroyed or reset.
///
/// Nothing here takes time. Work executes when it is posted, as far as it can, or when the test says so
/// (hold()). What waits for the other side (a receive, a port that is down) waits until that comes, or until
/// the test lets the retries expire.
///
/// Misuse that real devices answer with undefined behaviour or by blocking for ever is refused where it can
/// be, and kept in faults(). Not simulated: SQD, memory windows, XRC, UD, alternate paths, loss.
///
/// Thread: any. The test's own calls too.
class SimulatedRdma final : public verbs::Driver {
 public:
  /// One of them is enough for loopback.
  explicit SimulatedRdma(std::vector<SimulatedDevice> devices);
  ~SimulatedRdma() override;

  /// Returns what connects them by rdma_cm.
  SimulatedCm& manager() { return *manager_; }

  // What the test sees.

  SimulatedRdmaObjects live() const;
  /// Returns those of all devices, or of the one of this name.
  SimulatedRdmaCounters counters(std::string_view device = {}) const;
  /// Bytes in memory regions now.
  std::size_t registered_bytes() const;
  /// Returns the faults in the use of the devices, in words; empty in a good test.
  std::vector<std::string> faults() const;
  /// All of a device, in the order in which they were made. Whoever made them owns them.
  std::vector<ibv_qp*> queue_pairs(std::string_view device = {}) const;
  std::vector<ibv_cq*> completion_queues(std::string_view device = {}) const;
  std::vector<ibv_context*> contexts(std::string_view device = {}) const;
  /// The state the device has it in, which differs from ibv_qp::state after an error.
  ibv_qp_state state_of(const ibv_qp* pair) const;
  /// Work requests to its send queue that did not execute yet; receives posted to it and not used yet.
  std::size_t sends_waiting(const ibv_qp* pair) const;
  std::size_t receives_waiting(const ibv_qp* pair) const;
  std::size_t receives_waiting(const ibv_srq* queue) const;

  // When work executes.

  /// Nothing executes any more unless it is told to. Flushes of a queue pair in error still come at once.
  void hold();
  /// The same for the send queue of one queue pair. step(pair) still executes its work.
  void hold(ibv_qp* pair);
  /// Executes what was held; from now on everything executes at once.
  void release();
  void release(ibv_qp* pair);
  /// Executes the work request that was posted first of all that can. False: there is none.
  bool step();
  /// Executes the next work request of this queue pair. False: there is none, or it has to wait.
  bool step(ibv_qp* pair);
  /// Steps until nothing is left that can execute, and says how many it were.
  std::size_t run();
  /// Completions come to exist, but stay out of sight of the completion queue until they are released.
  void hold_completions(ibv_qp* pair);
  void hold_completions(ibv_cq* queue);
  void release_completions(ibv_qp* pair);
  void release_completions(ibv_cq* queue);
  /// Fails work that waits for a receive with RNR_RETRY_EXC_ERR (not with rnr_retry 7), and work that waits
  /// for the other side with RETRY_EXC_ERR.
  void expire_retries();
  /// Lets retries expire as soon as work would wait, for tests that also run on real devices. What waits
  /// already is not changed.
  void expire_retries_at_once(bool at_once);
  /// Work for a queue pair that does not exist, is in error or not yet ready to receive waits for it, until
  /// expire_retries(). Without this it fails at once.
  void wait_for_peers(bool wait);

  // What the machine is like.

  /// The NUMA node that all threads run on from now on, -1 at first; and how far which is from which: one
  /// that is not in there is of a distance that is not known.
  void run_on_node(int node);
  void set_distances(std::vector<std::vector<int>> distances);

  /// Flags of ibv_access_flags that `region` was registered with.
  static int access_of(const ibv_mr* region);

  // What goes wrong.

  /// The `nth` call from now on (1 = the next), of any device or of the one of this name, fails with this
  /// errno; poll_cq with -1. One such order per call: a later one replaces it.
  void fail(Call call, int error, std::uint64_t nth = 1, std::string_view device = {});
  void fail_every(Call call, int error, std::string_view device = {});
  void heal(Call call);
  /// The `nth` work request that is posted to a send queue from now on is refused, with ENOMEM, and with it
  /// those behind it in its list.
  void refuse_request(std::uint64_t nth);
  enum class Effect : std::uint8_t { kNone, kDone };
  /// The `nth` work request of its send queue to execute from now on completes with this status, and the
  /// queue pair goes to error. Nothing moved before that (kNone), or all did (kDone).
  void complete_send_with(ibv_qp* pair, ibv_wc_status status, std::uint64_t nth = 1,
                          Effect effect = Effect::kNone);
  /// The `nth` receive that a message uses up; the sender gets REM_OP_ERR.
  void complete_receive_with(ibv_qp* pair, ibv_wc_status status, std::uint64_t nth = 1);
  /// Registering more than this many bytes, in whole pages, fails with ENOMEM, as RLIMIT_MEMLOCK does.
  void limit_registered_bytes(std::size_t bytes);
  /// CQEs of a destroyed queue pair stay (as with rxe, the default), or go (as with mlx5).
  void keep_completions_of_destroyed_pairs(bool keep);
  /// Raises PORT_ERR or PORT_ACTIVE on every context of the device. Work that needs the port waits.
  void set_port_state(std::string_view device, std::uint8_t port, ibv_port_state state);
  /// Puts every queue pair of the device into error and raises DEVICE_FATAL on every context.
  void raise_device_fatal(std::string_view device);
  /// Puts it into error and raises QP_FATAL.
  void raise_queue_pair_fatal(ibv_qp* pair);
  /// Puts it into error without an event, as a peer's or the administrator's reset does.
  void force_error(ibv_qp* pair);
  /// Any event, with no effect but itself.
  void raise(ibv_context* context, const ibv_async_event& event);

  // Driver

  ibv_device** get_device_list(int* count) noexcept override;
  void free_device_list(ibv_device** list) noexcept override;
  ibv_context* open_device(ibv_device* device) noexcept override;
  /// EBUSY while anything that was made of the context lives.
  int close_device(ibv_context* context) noexcept override;
  int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept override;
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept override;
  int query_gid(ibv_context* context, std::uint8_t port, std::uint32_t index,
                ibv_gid_entry* entry) noexcept override;
  int numa_node(const char* device) noexcept override;
  int current_numa_node() noexcept override;
  int numa_distance(int from, int to) noexcept override;
  int get_async_event(ibv_context* context, ibv_async_event* event) noexcept override;
  void ack_async_event(ibv_async_event* event) noexcept override;

  ibv_pd* alloc_pd(ibv_context* context) noexcept override;
  int dealloc_pd(ibv_pd* domain) noexcept override;
  ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept override;
  int dereg_mr(ibv_mr* region) noexcept override;

  ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* attributes) noexcept override;
  int destroy_ah(ibv_ah* handle) noexcept override;

  ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept override;
  int destroy_comp_channel(ibv_comp_channel* channel) noexcept override;
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                    int vector) noexcept override;
  /// EBUSY, and a fault, while events that were got are not acknowledged: libibverbs would block.
  int destroy_cq(ibv_cq* queue) noexcept override;
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept override;
  void ack_cq_events(ibv_cq* queue, unsigned count) noexcept override;

  ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept override;
  int modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask) noexcept override;
  int destroy_srq(ibv_srq* queue) noexcept override;

  ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept override;
  int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept override;
  int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask,
               ibv_qp_init_attr* made_with) noexcept override;
  int destroy_qp(ibv_qp* pair) noexcept override;

  verbs::CmDriver* cm() noexcept override { return has_manager_ ? manager_.get() : nullptr; }
  /// Makes it as in a build without librdmacm.
  void take_manager_away() { has_manager_ = false; }

 private:
  const std::unique_ptr<simulated::Network> network_;
  std::unique_ptr<SimulatedCm> manager_;
  bool has_manager_ = true;
};

}  // namespace weft::testing
