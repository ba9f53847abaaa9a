// SPDX-License-Identifier: Apache-2.0
#include "transport/descriptor_exchange.hpp"

#include <utility>

#include "weft/detail/transport/descriptor_passing.hpp"

namespace weft::detail {

DescriptorExchange::DescriptorExchange(BaseCarrier& base, std::size_t most) noexcept
    : passing_(base.descriptor_passing()) {
  if (passing_ != nullptr) passing_->look(most);
}

Status DescriptorExchange::pass(CarrierEnd& end, std::size_t ahead) {
  Descriptors ours = end.descriptors();
  if (ours.empty()) return {};
  if (passing_ == nullptr) {
    return {StatusCode::kUnavailable, Layer::kTransport,
            "it needs a Unix socket, by which descriptors can be passed"};
  }
  passing_->pass(std::move(ours), ahead);
  return {};
}

Status DescriptorExchange::hand_to(CarrierEnd& end) {
  return end.take_descriptors(passing_ != nullptr ? passing_->take() : Descriptors{});
}

void DescriptorExchange::drop() noexcept {
  if (passing_ != nullptr) passing_->take();
}

Status DescriptorExchange::check() const {
  if (passing_ == nullptr || !passing_->unasked()) return {};
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          "the peer passed descriptors that nobody asked for"};
}

void DescriptorExchange::end() noexcept {
  if (passing_ != nullptr) passing_->look_no_more();
}

}  // namespace weft::detail
