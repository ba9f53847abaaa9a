// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/hello_end.hpp"

#include <utility>

#include "transport/verbs/carrier_terms.hpp"

namespace weft::detail::verbs_carrier {

namespace {

// An address: the queue pair's, then the terms.
constexpr std::size_t kAddressBytes = verbs::AddressInfo::kEncodedBytes + CarrierTerms::kEncodedBytes;

}  // namespace

std::string HelloEnd::address() const {
  const auto encoded = carrier_->pair().queue_pair().address().encode();
  std::string text{as_text(encoded)};
  text.resize(kAddressBytes);
  carrier_->terms().encode(reinterpret_cast<std::byte*>(text.data()) + verbs::AddressInfo::kEncodedBytes);
  return text;
}

Status HelloEnd::connect(std::string_view peer_address) {
  if (peer_address.size() != kAddressBytes) {
    return {StatusCode::kInvalidArgument, Layer::kTransport, "the peer's RDMA address is of another length"};
  }
  const Bytes bytes = as_bytes(peer_address);
  const auto peer = verbs::AddressInfo::decode(bytes.first(verbs::AddressInfo::kEncodedBytes));
  if (!peer.ok()) return peer.status();
  const auto terms = CarrierTerms::decode(bytes.subspan(verbs::AddressInfo::kEncodedBytes));
  if (!terms.ok()) return terms.status();
  carrier_->sender().take_terms(*terms);
  if (!peer->ethernet) return connect_pair(*peer);
  LoopDevice& loop_device = carrier_->loop_device();
  auto search = loop_device.ways().look_for(carrier_->pair().way_to(*peer), loop_device.loop(),
                                            [this, to = *peer](const Status& found) {
                                              Status status = found.ok() ? connect_pair(to) : found;
                                              if (!status.ok()) return carrier_->fail(std::move(status));
                                              owner_.on_connected();
                                            });
  if (!search.ok()) return std::move(search).status();
  search_ = *std::move(search);
  return {};
}

Status HelloEnd::connect_pair(const verbs::AddressInfo& peer) {
  Status status = carrier_->pair().connect(peer);
  connected_ = status.ok();
  if (connected_) carrier_->sender().connected();
  return status;
}

void HelloEnd::shut() {
  search_ = {};
  carrier_->shut();
}

}  // namespace weft::detail::verbs_carrier
