// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

/// Work that was handed to a loop: a node of its mailbox, which gives it back by run() or drop(), once.
class Posted {
 public:
  Posted(const Posted&) = delete;
  Posted& operator=(const Posted&) = delete;

  /// Does the work. Thread: the loop's, in a turn.
  virtual void run() = 0;
  /// Replaces run() when the loop ends first. Thread: the one that ends the loop; for a late post, the
  /// posting one.
  virtual void drop() noexcept = 0;

 protected:
  explicit Posted(bool is_errand = false) noexcept : is_errand_(is_errand) {}
  ~Posted() = default;

 private:
  friend class Mailbox;

  Posted* next_ = nullptr;
  const bool is_errand_;
};

struct ErrandTag;

/// Work of another thread with a waiter, which is notified of its end even if the loop ends. Exactly one of
/// two functions is called:
///
/// - begin(), which may have the mailbox keep it until it unlinks itself, or receives end_now();
/// - refuse(), when the loop was stopped or has ended before. The node may still be in the mailbox.
///
/// The mailbox returns its node by discard() in any case, after begin() or later than refuse().
class Errand : public Posted, public ListHook<ErrandTag> {
 public:
  void run() final {
    if (claim()) begin();
    discard();
  }
  void drop() noexcept final {
    if (claim()) refuse();
    discard();
  }

  /// Ends what begin() began: the loop was stopped or ends, or the object that it is `of` does. It has left
  /// the mailbox. Thread: the loop's, or the one that ends the loop.
  virtual void end_now() noexcept = 0;
  virtual bool is_of(const void* whom) const noexcept = 0;

 protected:
  Errand() noexcept : Posted(true) {}
  ~Errand() = default;

 private:
  friend class Mailbox;

  /// Thread: the loop's, in a turn.
  virtual void begin() = 0;
  /// Thread: any.
  virtual void refuse() noexcept = 0;
  virtual void discard() noexcept = 0;

  bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }

  std::atomic<bool> claimed_{false};
};

}  // namespace weft::detail
