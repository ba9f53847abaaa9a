// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <netinet/in.h>

#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "integration/raw_carrier_peer.hpp"
#include "integration/verbs/cm_testing.hpp"
#include "transport/message_header.hpp"
#include "transport/tcp/socket_address.hpp"
#include "transport/verbs/cm_address.hpp"
#include "weft/detail/verbs/cm_driver.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;

/// A client of verbs:// that connects by rdma_cm, as far as the base carrier goes.
class RawCmPeer final : public carrier_testing::RawCarrierPeer {
 public:
  explicit RawCmPeer(const std::string& url) : RawCarrierPeer(url, wire::CarrierKind::kVerbs) {}
  ~RawCmPeer() { base().close(); }

  bool greet() { return RawCarrierPeer::greet({static_cast<char>(kMessageVersion), 1}); }
  verbs_carrier::CmAddress server() {
    const auto said = hear(wire::CarrierStep::kAddress);
    EXPECT_TRUE(said.has_value());
    return verbs_carrier::CmAddress::decode(said.value_or("")).value();
  }
};

/// Asks the listener of a server, which runs on a thread of its own, for what a test says.
class Stranger {
 public:
  using Kind = verbs::CmEvent::Kind;

  Stranger(verbs::CmDriver& manager, const std::string& url)
      : manager_(manager), channel_(manager.create_event_channel()) {
    const auto addresses = tcp::addresses_of(Url::parse("tcp" + url.substr(url.find("://"))).value());
    std::memcpy(&to_, &addresses.value().front().storage, sizeof to_);
    ::fcntl(manager_.fd(channel_), F_SETFL, O_NONBLOCK);
  }
  ~Stranger() {
    for (const auto& [id, asked] : asked_) manager_.destroy_id(id);
    manager_.destroy_event_channel(channel_);
  }

  /// Returns when the request has left.
  void ask(std::uint16_t port, const verbs::CmParameters& parameters) {
    to_.sin_port = htons(port);
    verbs::CmId* const id = manager_.create_id(channel_);
    Asked& asked = asked_[id];
    asked.parameters = parameters;
    EXPECT_EQ(manager_.resolve_addr(id, reinterpret_cast<const sockaddr*>(&to_), 2000), 0);
    EXPECT_TRUE(eventually([&] { return take(), asked.left; }));
  }
  /// Returns the server's answer to the oldest request that it has not answered yet.
  Kind answer() {
    EXPECT_TRUE(eventually([&] { return take(), !answers_.empty(); }));
    const Kind first = answers_.front();
    answers_.pop_front();
    return first;
  }

 private:
  struct Asked {
    verbs::CmParameters parameters;
    bool left = false;
  };

  void take() {
    verbs::CmEvent event;
    while (manager_.get_event(channel_, &event) == 0) {
      Asked& asked = asked_[event.id];
      if (event.kind == Kind::kAddressResolved) {
        EXPECT_EQ(manager_.resolve_route(event.id, 2000), 0);
      } else if (event.kind == Kind::kRouteResolved) {
        EXPECT_EQ(manager_.connect(event.id, asked.parameters), 0);
        asked.left = true;
      } else {
        EXPECT_TRUE(std::exchange(asked.left, true)) << "rdma_cm finds no way: " << event.words;
        answers_.push_back(event.kind);
      }
    }
  }

  verbs::CmDriver& manager_;
  verbs::CmChannel* const channel_;
  sockaddr_in to_{};
  std::map<verbs::CmId*, Asked> asked_;
  std::deque<Kind> answers_;
};

inline verbs::CmParameters asking(const verbs_carrier::CmToken& token) {
  verbs::CmParameters made;
  made.queue_pair = 0x99;
  made.reads_served = made.reads_asked = 2;
  const auto content = verbs_carrier::encode_request(token);
  std::memcpy(made.private_data.data(), content.data(), content.size());
  made.private_bytes = content.size();
  return made;
}

}  // namespace weft::verbs_testing
