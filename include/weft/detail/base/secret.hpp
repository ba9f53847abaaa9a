// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace weft::detail {

/// Text that others must not learn, such as a token: zeroed when it is dropped, and compared in a time that
/// does not depend on the position of a difference. Movable, not copyable.
class Secret {
 public:
  Secret() = default;
  /// Throws std::bad_alloc.
  explicit Secret(std::string_view text);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { wipe(); }

  bool empty() const noexcept { return size_ == 0; }
  /// Valid until it is moved or dropped.
  std::string_view view() const noexcept { return {bytes_.get(), size_}; }
  /// Takes as long for every text of one length.
  bool is(std::string_view text) const noexcept;

 private:
  void wipe() noexcept;

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

/// Zeroes memory that held a secret, even if the compiler considers the write unused.
void wipe_memory(void* memory, std::size_t bytes) noexcept;

}  // namespace weft::detail
