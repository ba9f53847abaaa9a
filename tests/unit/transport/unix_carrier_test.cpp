// SPDX-License-Identifier: Apache-2.0
// BU-6: descriptors beside the bytes of a Unix socket, byte by byte.
#include "transport/tcp/unix_carrier.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

using namespace weft::detail;
namespace {

/// The write ends of pipes, and what says when all copies of one are closed.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reads = Descriptor{ends[0]};
    writes = Descriptor{ends[1]};
  }
  Descriptors to_pass() {
    Descriptors all;
    all.add(std::move(writes));
    return all;
  }
  bool all_closed() const {
    char byte = 0;
    return ::read(reads.get(), &byte, 1) == 0;
  }
  Descriptor reads;
  Descriptor writes;
};

/// The process has no number left for a descriptor, as long as this lives.
class NoNumberLeft {
 public:
  NoNumberLeft() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const Descriptor lowest{::dup(STDERR_FILENO)};
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoNumberLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoNumberLeft(const NoNumberLeft&) = delete;
  NoNumberLeft& operator=(const NoNumberLeft&) = delete;

 private:
  rlimit before_{};
};

class UnixCarriers : public ::testing::Test {
 protected:
  struct Nobody final : CarrierOwner {
    bool receives() const override { return true; }
    void on_readable() override {}
    void on_writable() override {}
    void on_failed(Status) override {}
  };

  UnixCarriers() { connect(); }

  void connect() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    peer_ = Descriptor{ends[1]};
    tcp::SocketAddress address;
    address.storage.ss_family = AF_UNIX;
    address.length = sizeof(sa_family_t);
    carrier_ = std::make_unique<tcp::UnixCarrier>(*loop_, tcp::Socket{ends[0]}, address, address);
    carrier_->report_to(nobody_);
  }

  DescriptorPassing& passing() { return *carrier_->descriptor_passing(); }
  /// Sends all of `text` in as many steps as the carrier wants.
  void send(std::string text) {
    while (!text.empty()) {
      const iovec piece{text.data(), text.size()};
      const Moved moved = carrier_->send({&piece, 1}, 0);
      ASSERT_EQ(moved.kind, Moved::Kind::kSome);
      text.erase(0, moved.bytes);
    }
  }
  /// Receives once at the peer: the bytes, and how many descriptors came with them, which it closes.
  std::pair<std::string, std::size_t> peer_receives() {
    std::string text(1000, '\0');
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * 8)> control{};
    iovec piece{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(peer_.get(), &message, MSG_CMSG_CLOEXEC);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const cmsghdr* const part = CMSG_FIRSTHDR(&message);
    if (part == nullptr) return {text, 0};
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      const Descriptor closes{fd};
    }
    return {text, count};
  }
  static bool send_with(const Descriptor& socket, std::string_view text, const Descriptor& with) {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = with.get();
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
    return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(text.size());
  }
  void peer_sends(std::string_view text, const Descriptor& with) {
    ASSERT_TRUE(send_with(peer_, text, with));
  }
  std::string receive() {
    std::string text(1000, '\0');
    const iovec piece{text.data(), text.size()};
    const Moved moved = carrier_->receive({&piece, 1}, {});
    text.resize(moved.kind == Moved::Kind::kSome ? moved.bytes : 0);
    return text;
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  Nobody nobody_;
  Descriptor peer_;
  std::unique_ptr<tcp::UnixCarrier> carrier_;
};

TEST_F(UnixCarriers, PassDescriptorsWithTheByteThatTheyBelongToHoweverMuchIsQueuedBeforeIt) {
  Pipe pipe;
  passing().pass(pipe.to_pass(), 11);
  send("of another|address");
  EXPECT_EQ(peer_receives(), (std::pair<std::string, std::size_t>{"of another|address", 1}))
      << "the system ends a receive behind what came with descriptors";
  EXPECT_TRUE(pipe.all_closed()) << "this side keeps none";

  Pipe second;
  passing().pass(second.to_pass(), 6);
  send("before");
  EXPECT_EQ(peer_receives(), (std::pair<std::string, std::size_t>{"before", 0}));
  send("address, and more");
  EXPECT_EQ(peer_receives(), (std::pair<std::string, std::size_t>{"address, and more", 1}));
}

// The system bounds the descriptors that a user has on their way. A child takes a user of its own for that.
TEST_F(UnixCarriers, SendBytesAloneWhereTheUserHasTooManyDescriptorsOnTheirWay) {
  constexpr uid_t kUser = 54'322;
  if (::geteuid() != 0) GTEST_SKIP() << "only root may change its user";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{64, 64};
    if (::setresuid(kUser, kUser, kUser) != 0 || ::setrlimit(RLIMIT_NOFILE, &few) != 0) ::_exit(2);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) ::_exit(3);
    const Descriptor crowded{ends[0]};
    const Descriptor reads_nothing{ends[1]};
    while (send_with(crowded, "x", crowded)) {
    }
    if (errno != ETOOMANYREFS) ::_exit(4);
    carrier_.reset();
    loop_ = Loop::create().value();
    connect();
    Pipe pipe;
    passing().pass(pipe.to_pass(), 0);
    send("address");
    const bool alone = peer_receives() == std::pair<std::string, std::size_t>{"address", 0};
    ::_exit(alone && pipe.all_closed() && !HasFailure() ? 0 : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

TEST_F(UnixCarriers, DropDescriptorsThatHaveNotLeftWhenOthersAreToBePassed) {
  Pipe first;
  Pipe second;
  passing().pass(first.to_pass(), 4);
  passing().pass(second.to_pass(), 10);
  EXPECT_TRUE(first.all_closed()) << "nobody wants them any more";
  send("one, ");
  EXPECT_EQ(peer_receives(), (std::pair<std::string, std::size_t>{"one, ", 0})) << "those of another address";
  send("two, three");
  EXPECT_EQ(peer_receives(), (std::pair<std::string, std::size_t>{"two, three", 1}));
  EXPECT_TRUE(second.all_closed());
}

TEST_F(UnixCarriers, GoOnWithoutDescriptorsForWhichTheProcessHasNoNumberLeft) {
  passing().look(8);
  // The sanitizer looks at types through a pipe, for which there is no number later.
  EXPECT_EQ(receive(), "") << "nothing has come";
  Pipe pipe;
  peer_sends("address", pipe.writes);
  pipe.writes = Descriptor{};
  {
    const NoNumberLeft none;
    EXPECT_EQ(receive(), "address");
  }
  EXPECT_TRUE(passing().take().empty());
  EXPECT_TRUE(pipe.all_closed()) << "the system has closed it";
  EXPECT_FALSE(passing().unasked()) << "that is not the peer's fault";
  Pipe next;
  peer_sends("address", next.writes);
  EXPECT_EQ(receive(), "address");
  EXPECT_EQ(passing().take().size(), 1u) << "the next one comes";
}

}  // namespace
}  // namespace weft
