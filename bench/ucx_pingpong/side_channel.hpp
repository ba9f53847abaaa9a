// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "weft/detail/base/bytes.hpp"

namespace weft::bench {

/// The TCP connection over loopback by which server and client agree on everything but the test itself.
/// Ends the program when the other side goes. Thread: one.
class SideChannel {
 public:
  /// Waits on a free port, or on `port`, which it prints as "listening on 127.0.0.1:PORT".
  static SideChannel accept_one(std::uint16_t port);
  static SideChannel connect(std::uint16_t port);
  SideChannel(SideChannel&& other) noexcept;
  SideChannel& operator=(SideChannel&&) = delete;
  ~SideChannel();

  void send(Bytes bytes) const;
  std::vector<std::byte> receive() const;
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void send_value(const T& value) const {
    write(&value, sizeof value);
  }
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T receive_value() const {
    T value;
    read(&value, sizeof value);
    return value;
  }

  /// A barrier: both say that they are there, and ask for the other until it is.
  void arrive() const { send_value(kHere); }
  bool other_is_here() const;

 private:
  static constexpr std::byte kHere{0x5A};
  explicit SideChannel(int fd) noexcept : fd_(fd) {}
  void write(const void* data, std::size_t size) const;
  void read(void* data, std::size_t size) const;

  int fd_;
};

}  // namespace weft::bench
