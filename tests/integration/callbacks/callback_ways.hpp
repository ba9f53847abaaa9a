// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#if WEFT_HAVE_TLS
#include "support/test_ca.hpp"
#endif
#if WEFT_HAVE_VERBS
#include "support/rdma_devices.hpp"
#include "weft/detail/transport/tcp.hpp"
#include "weft/detail/transport/verbs.hpp"
#endif

namespace weft::testing {

/// A carrier over which callbacks are tested.
struct Way {
  const char* name;
  const char* url;
  bool checksums = false;
  /// Its connections can be lost by a shutdown of their sockets.
  bool sockets = false;
  /// Each connection costs much: fewer states of the connection.
  bool few = false;
  /// Step between the callbacks that are tested, in a long sequence of callbacks; an offset is added.
  int sample = 3;
};

inline void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

inline std::vector<Way> callback_ways() {
  std::vector<Way> all{{.name = "memory", .url = "memory://callbacks#", .sample = 1},
                       {.name = "memoryChecked", .url = "memory://callbacks#", .checksums = true},
                       {.name = "tcp", .url = "tcp://127.0.0.1:0", .sockets = true, .sample = 1},
                       {.name = "unix", .url = "unix:///tmp/weft-callbacks-#", .sockets = true}};
#if WEFT_HAVE_TLS
  all.push_back({.name = "tls", .url = "tls://127.0.0.1:0", .sockets = true});
#endif
#if WEFT_HAVE_UCX
  all.push_back({.name = "ucx", .url = "ucx://127.0.0.1:0", .few = true, .sample = 7});
#endif
#if WEFT_HAVE_VERBS
  all.push_back({.name = "verbs", .url = "verbs://127.0.0.1:0", .sockets = true});
#endif
  return all;
}

/// Transports of a server and its clients.
inline Transports transports_of([[maybe_unused]] const Way& way) {
#if WEFT_HAVE_VERBS
  if (std::string_view{way.url}.starts_with("verbs")) {
    VerbsOptions verbs;
    verbs.driver = &rdma_devices();
    Transports only;
    only.add(detail::make_verbs_transport(detail::make_tcp_transport(), verbs));
    return only;
  }
#endif
  TransportOptions options;
#if WEFT_HAVE_TLS
  static const TestCa authority;
  static const TlsCertificate certificate = authority.issue();
  options.tls.certificates = {certificate};
  options.tls.ca_pem = authority.pem();
#endif
  return make_transports(std::move(options));
}

/// URL that no server of this machine listens on.
inline std::string unused_url(const Way& way) {
  static int number = 0;
  std::string its = way.url;
  if (const std::size_t place = its.find('#'); place != std::string::npos) {
    its.replace(place, 1, std::to_string(::getpid()) + "-" + std::to_string(++number));
  }
  return its;
}

/// The connected sockets that this process opened after the object was made.
class NewSockets {
 public:
  /// All of them that are open now.
  std::vector<int> list() const {
    std::vector<int> found = connected();
    std::erase_if(found, [this](int its) { return std::ranges::count(before_, its) != 0; });
    return found;
  }

 private:
  static std::vector<int> connected() {
    std::vector<int> found;
    for (int descriptor = 3; descriptor < 256; ++descriptor) {
      sockaddr_storage address{};
      socklen_t size = sizeof(address);
      if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0)
        found.push_back(descriptor);
    }
    return found;
  }

  const std::vector<int> before_ = connected();
};

/// Both sides of the connections find them lost.
inline void shut(const std::vector<int>& sockets) {
  for (const int descriptor : sockets) ::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace weft::testing
