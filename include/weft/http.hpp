// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/detail/base/time.hpp"

namespace weft {

namespace detail {
class Protocol;
}  // namespace detail

/// Connections on which a server shows its pages for operators.
enum class HttpPages : std::uint8_t {
  kOff,    ///< none
  kLocal,  ///< connections from the same host: to a loopback address, or over a Unix socket
  kAll,    ///< all connections
};

/// Options for HTTP. Options that make no sense are refused by Server::start() with kInvalidArgument, which
/// names the option.
struct HttpOptions {
  /// Time from the first byte of a request to the end of its head, and then for each 16 KiB of its body, or
  /// for the rest of it. A request that is slower is answered with 408. Above zero.
  Duration request_timeout = std::chrono::seconds{10};
  /// Time that a connection may be open between two requests. Above zero.
  Duration idle_timeout = std::chrono::seconds{60};
  /// Largest body of a request, in bytes of JSON; a longer one is answered with 413. Above zero. A loop reads
  /// JSON at 20 to 100 MB/s and serves no other connection meanwhile.
  std::size_t body_bytes_max = std::size_t{1} << 20;
  /// Largest JSON of an answer in bytes; a longer one fails its call with kResourceExhausted. Above zero.
  std::size_t answer_bytes_max = std::size_t{16} << 20;
  /// Origins with pages that may call this server from a browser, such as "https://console.example.com".
  /// Requests of pages from other origins are answered with 403. The server's own origin is always allowed if
  /// the browser names it by an address or as localhost. List it if it has another name: a page of a
  /// stranger's may give its own name the address of this server (DNS rebinding).
  std::vector<std::string> allowed_origins{};
  /// Connections on which pages for operators are answered: /metrics, /health, /methods, /calls,
  /// /connections, /loops, /memory, /log, and /console, which shows them in a browser. Requests on other
  /// connections get 404. An Authorizer of the server is asked for each page but /console by its path. A
  /// proxy on the same host that passes on the requests of strangers passes on these too: choose kOff then,
  /// or an Authorizer.
  HttpPages pages = HttpPages::kLocal;
};

/// Returns HTTP/1.1 with JSON for ServerOptions::protocols: `POST /functions/<name>` calls the function of
/// that name, with a JSON array of its arguments as the body. See docs/guide/http.md.
std::shared_ptr<const detail::Protocol> http(HttpOptions options = {});

}  // namespace weft

#pragma GCC diagnostic pop
