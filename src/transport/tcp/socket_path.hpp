// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "transport/tcp/socket.hpp"
#include "transport/tcp/socket_address.hpp"
#include "weft/detail/base/fork_mark.hpp"

namespace weft::detail::tcp {

/// File of a Unix socket that listens. The destructor removes the file if it is still the same one: a server
/// that took the path over meanwhile stays reachable. A lock on the folder, held for moments, keeps servers
/// that begin or end at once from removing each other's file.
class SocketPath {
 public:
  SocketPath() = default;
  SocketPath(const SocketPath&) = delete;
  SocketPath& operator=(const SocketPath&) = delete;
  ~SocketPath();

  /// Has `fd` listen at `address`, and removes a socket file there that nothing listens on. With `take_over`
  /// a socket that another server listens on is replaced in one step, so that connecting never fails in
  /// between. Anything that is no socket stays. Errors: of the system (errno).
  Status listen(int fd, const SocketAddress& address, int backlog, bool take_over);

 private:
  bool is_ours() const noexcept;
  Status own(const std::string& path);

  std::string path_;  ///< empty without a file
  std::string folder_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  const ForkMark made_in_;
};

}  // namespace weft::detail::tcp
