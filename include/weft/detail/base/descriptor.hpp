// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

namespace weft::detail {

/// Owns a file descriptor, or none.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const noexcept { return fd_; }
  /// Gives the descriptor to the caller, who closes it.
  int release() noexcept { return std::exchange(fd_, -1); }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A few descriptors in order. Allocates nothing, so that none is lost for want of memory.
class Descriptors {
 public:
  static constexpr std::size_t kMost = 8;

  Descriptors() noexcept = default;
  Descriptors(Descriptors&& other) noexcept
      : all_(std::move(other.all_)), size_(std::exchange(other.size_, 0)) {}
  Descriptors& operator=(Descriptors&& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// `index` is below size().
  Descriptor& operator[](std::size_t index) noexcept { return all_[index]; }
  const Descriptor& operator[](std::size_t index) const noexcept { return all_[index]; }
  /// Adds one behind the others; false when there are kMost, and then it is closed.
  bool add(Descriptor descriptor) noexcept {
    if (size_ == kMost) return false;
    all_[size_++] = std::move(descriptor);
    return true;
  }
  /// Closes all of them.
  void clear() noexcept { *this = Descriptors{}; }

 private:
  std::array<Descriptor, kMost> all_{};
  std::size_t size_ = 0;
};

}  // namespace weft::detail
