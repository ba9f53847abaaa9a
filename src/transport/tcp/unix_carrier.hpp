// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tcp/tcp_carrier.hpp"
#include "weft/detail/transport/descriptor_passing.hpp"

struct msghdr;

namespace weft::detail::tcp {

/// Carries bytes over a Unix stream socket, and descriptors beside them while they are expected.
class UnixCarrier final : public TcpCarrier, private DescriptorPassing {
 public:
  UnixCarrier(Loop& loop, Socket socket, const SocketAddress& peer, const SocketAddress& local);

  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override {
    return looking_ ? receive_with_descriptors(into) : TcpCarrier::receive(into, landing);
  }
  Moved send(std::span<const iovec> from, std::size_t leased) override {
    return to_pass_.empty() ? TcpCarrier::send(from, leased) : send_with_descriptors(from);
  }
  DescriptorPassing* descriptor_passing() override { return this; }

 private:
  void look(std::size_t most) noexcept override;
  void look_no_more() noexcept override;
  bool unasked() const noexcept override { return unasked_; }
  Descriptors take() noexcept override { return std::move(came_); }
  void pass(Descriptors descriptors, std::size_t ahead) noexcept override {
    to_pass_ = std::move(descriptors);
    ahead_ = ahead;
  }

  Moved receive_with_descriptors(std::span<const iovec> into);
  Moved send_with_descriptors(std::span<const iovec> from);
  Moved send_ahead(iovec first);
  void take_in(msghdr& message) noexcept;

  Descriptors came_;
  Descriptors to_pass_;
  /// Bytes that are sent before them.
  std::size_t ahead_ = 0;
  std::size_t most_ = 0;
  bool looking_ = false;
  bool unasked_ = false;
};

}  // namespace weft::detail::tcp
