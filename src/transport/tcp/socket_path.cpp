// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/socket_path.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "weft/detail/base/descriptor.hpp"

namespace weft::detail::tcp {

namespace {

constexpr int kLockAttempts = 20;
constexpr std::chrono::microseconds kBetweenAttempts{100};

// A server holds the lock for some system calls, of some 10 us. Every user who may read a folder may hold its
// lock, and the loop stands still while this waits for it, so the wait ends after about 3 ms: then only
// servers that begin or end at the very same time are in each other's way.
Descriptor lock_folder(const std::string& folder) noexcept {
  Descriptor lock{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int attempt = 0; lock && attempt < kLockAttempts; ++attempt) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    std::this_thread::sleep_for(kBetweenAttempts);  // allow(no_sleep): a lock has no event without blocking
  }
  return lock;
}

bool is_socket(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

// A server with a full queue exists too: only a refusal means that there is no listener.
bool is_listened_on(const SocketAddress& address) {
  const auto probe = open_socket(AF_UNIX);
  return !probe.ok() || ::connect(probe->fd(), address.get(), address.length) == 0 || errno != ECONNREFUSED;
}

Status bind_and_listen(int fd, const SocketAddress& address, int backlog) {
  if (::bind(fd, address.get(), address.length) != 0) {
    const int error = errno;
    if (error != EADDRINUSE) return errno_status(Layer::kTransport, "bind", error);
    return errno_status(Layer::kTransport,
                        is_socket(url_of(address).host)
                            ? "bind: another server listens there (TcpOptions::take_over replaces it)"
                            : "bind: something that is no socket is there",
                        error);
  }
  if (::listen(fd, backlog) == 0) return {};
  const int error = errno;
  ::unlink(url_of(address).host.c_str());
  return errno_status(Layer::kTransport, "listen", error);
}

// Listens beside the path first, so that the path leads to a server that listens at every moment.
Status replace(int fd, const std::string& path, int backlog) {
  const std::string beside = path + ".new";
  auto address = addresses_of(Url{"unix", beside, 0});
  if (!address.ok()) return std::move(address).status();
  if (is_socket(beside)) ::unlink(beside.c_str());
  if (Status status = bind_and_listen(fd, address->front(), backlog); !status.ok()) return status;
  if (::rename(beside.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(beside.c_str());
  return errno_status(Layer::kTransport, "rename " + beside, error);
}

}  // namespace

Status SocketPath::listen(int fd, const SocketAddress& address, int backlog, bool take_over) {
  const std::string path = url_of(address).host;
  folder_ = path.substr(0, path.rfind('/') + 1);
  const Descriptor lock = lock_folder(folder_);
  const bool there = is_socket(path);
  const bool alive = there && is_listened_on(address);
  if (there && !alive) ::unlink(path.c_str());
  Status status = alive && take_over ? replace(fd, path, backlog) : bind_and_listen(fd, address, backlog);
  return status.ok() ? own(path) : status;
}

Status SocketPath::own(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return errno_status(Layer::kTransport, "look at " + path, errno);
  path_ = path;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
  return {};
}

bool SocketPath::is_ours() const noexcept {
  struct stat facts{};
  return ::lstat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
}

SocketPath::~SocketPath() {
  if (path_.empty() || made_in_.in_child()) return;
  const Descriptor lock = lock_folder(folder_);
  if (is_ours()) ::unlink(path_.c_str());
}

}  // namespace weft::detail::tcp
