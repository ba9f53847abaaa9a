// SPDX-License-Identifier: Apache-2.0
// BU-6: descriptors that carriers pass over a Unix socket while they are brought up.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "conformance/fixture.hpp"
#include "support/sockets.hpp"
#include "weft/detail/base/descriptor.hpp"

namespace weft::conformance {

using namespace weft::detail;
namespace {

/// Memory of this process that another can map.
Descriptor shared_text(std::string_view text) {
  Descriptor memory{::memfd_create("weft-test", MFD_CLOEXEC)};
  EXPECT_TRUE(memory);
  EXPECT_EQ(::pwrite(memory.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return memory;
}

std::string text_in(const Descriptor& memory) {
  char text[100];
  const ssize_t size = ::pread(memory.get(), text, sizeof text, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string{};
}

/// One side's end of a carrier: it passes as many memories as it is told to, takes the peer's, and never
/// comes up, so that the base carrier goes on.
struct EndLog {
  std::size_t passes = 0;
  std::string text{};
  std::vector<std::string> taken{};
  int connects = 0;
};

class PassingEnd final : public CarrierEnd, public Carrier {
 public:
  explicit PassingEnd(EndLog& log) : log_(log) {}
  std::string address() const override { return "beside this"; }
  Descriptors descriptors() override {
    Descriptors ours;
    for (std::size_t i = 0; i < log_.passes; ++i) ours.add(shared_text(log_.text + std::to_string(i)));
    return ours;
  }
  Status take_descriptors(Descriptors theirs) override {
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_NE(::fcntl(theirs[i].get(), F_GETFD) & FD_CLOEXEC, 0) << "a child must not inherit it";
      log_.taken.push_back(text_in(theirs[i]));
    }
    return {};
  }
  Status connect(std::string_view) override {
    ++log_.connects;
    return {StatusCode::kUnavailable, Layer::kTransport, "all was seen"};
  }
  Carrier& carrier() override { return *this; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Moved receive(std::span<const iovec>, std::span<const iovec>) override { return Moved::blocked(); }
  Moved send(std::span<const iovec>, std::size_t) override { return Moved::blocked(); }
  void end_sending() override {}
  void shut() override {}

 private:
  EndLog& log_;
  Capabilities capabilities_;
};

class PassingProvider final : public CarrierProvider {
 public:
  PassingProvider(EndLog& log, std::size_t descriptors_max) : log_(log), descriptors_max_(descriptors_max) {}
  wire::CarrierKind kind() const override { return wire::CarrierKind::kSharedMemory; }
  std::string offer() const override { return {}; }
  std::size_t descriptors_max() const override { return descriptors_max_; }
  Result<std::unique_ptr<CarrierEnd>> open(Loop&, CarrierEndOwner&, std::string_view) const override {
    return std::unique_ptr<CarrierEnd>{std::make_unique<PassingEnd>(log_)};
  }

 private:
  EndLog& log_;
  const std::size_t descriptors_max_;
};

/// One end of a pipe that says when all copies of the other are closed.
class Witness {
 public:
  Witness() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    mine_ = Descriptor{ends[0]};
    passed_ = Descriptor{ends[1]};
  }
  int passed() const { return passed_.get(); }
  /// Closes the descriptor itself: only copies are left.
  void let_go() { passed_ = Descriptor{}; }
  bool all_closed() const {
    char byte;
    return ::read(mine_.get(), &byte, 1) == 0;
  }

 private:
  Descriptor mine_;
  Descriptor passed_;
};

/// Sends `bytes` with `count` copies of `passed`.
bool send_with_copies(int socket, std::string_view bytes, int passed, std::size_t count) {
  constexpr std::size_t kMost = 32;
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kMost)] = {};
  iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int) * count);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(CMSG_DATA(part) + i * sizeof(int), &passed, sizeof passed);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

class PassedDescriptors : public ConformanceTest {
 protected:
  static ConnectionOptions with(EndLog& log, std::size_t descriptors_max) {
    ConnectionOptions options;
    CarrierChoices choices;
    choices.choices.push_back(
        {std::make_shared<PassingProvider>(log, descriptors_max), CarrierPolicy::kPrefer});
    options.carriers = std::make_shared<CarrierChoices>(std::move(choices));
    return options;
  }
  /// A server whose peer is a plain socket, which sends `bytes` with `count` descriptors.
  void serve_raw(const ConnectionOptions& options, std::string_view bytes, std::size_t count) {
    listener_ = listen(any_url());
    ASSERT_TRUE(listener_);
    raw_ = Descriptor{testing::connected_socket(listener_->local_url())};
    ASSERT_TRUE(raw_);
    ASSERT_TRUE(until([&] { return !incoming_.empty(); }));
    server_.connection = incoming_.front()->adopt_connection(*loop_, options).value();
    incoming_.clear();
    server_.connection->start(server_.sink);
    ASSERT_TRUE(send_with_copies(raw_.get(), bytes, witness_.passed(), count));
    witness_.let_go();
  }

  EndLog ours_;
  EndLog theirs_;
  Witness witness_;
  Descriptor raw_;
};

class OverUnix : public PassedDescriptors {};
class OverTcp : public PassedDescriptors {};

TEST_P(OverUnix, ComeWithTheAddressOfEachSide) {
  ours_ = {.passes = 2, .text = "client "};
  theirs_ = {.passes = Descriptors::kMost, .text = "server "};
  ASSERT_NO_FATAL_FAILURE(greet(with(ours_, Descriptors::kMost), with(theirs_, 2)));
  EXPECT_EQ(theirs_.taken, (std::vector<std::string>{"client 0", "client 1"}));
  ASSERT_EQ(ours_.taken.size(), Descriptors::kMost);
  EXPECT_EQ(ours_.taken.back(), "server 7");
  EXPECT_EQ(ours_.connects, 1);
  client_.request(1, "by the stream");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
  EXPECT_EQ(server_.sink.frames[0].body, "by the stream");
}

TEST_P(OverUnix, ThatNobodyAskedForAreClosedAndEndTheConnection) {
  ASSERT_NO_FATAL_FAILURE(serve_raw(with(theirs_, 0), hello_text(), 1));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kInvalidArgument) << server_.sink.why.to_string();
  EXPECT_TRUE(witness_.all_closed());
}

TEST_P(OverUnix, ThatAreMoreThanWereAskedForAreAllClosedAndEndTheConnection) {
  ASSERT_NO_FATAL_FAILURE(serve_raw(with(theirs_, 2), hello_text(), 3));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(witness_.all_closed());
}

TEST_P(OverUnix, OfWhichTheSystemHandsOverOnlySomeAreAllClosed) {
  ASSERT_NO_FATAL_FAILURE(serve_raw(with(theirs_, Descriptors::kMost), hello_text(), 20));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(witness_.all_closed());
}

TEST_P(OverUnix, ThatNobodyTookAreClosedWhenTheBaseCarrierIsDecidedFor) {
  ASSERT_NO_FATAL_FAILURE(serve_raw(with(theirs_, 2), hello_text(), 2));
  ASSERT_TRUE(until([&] { return server_.sink.hellos.size() == 1; })) << "the peer offers no carrier";
  EXPECT_TRUE(witness_.all_closed());
  EXPECT_FALSE(server_.sink.closed());
}

TEST_P(OverUnix, OnAConnectionThatHasNoCarriersAreClosedAndDoNoHarm) {
  ASSERT_NO_FATAL_FAILURE(
      serve_raw({}, hello_text() + frame_head({.type = wire::FrameType::kPing, .id = 1}), 3));
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
  EXPECT_TRUE(witness_.all_closed());
  EXPECT_FALSE(server_.sink.closed());
}

TEST_P(OverTcp, CannotBePassedAndTheBaseCarrierGoesOn) {
  ours_ = {.passes = 1, .text = "client "};
  ASSERT_NO_FATAL_FAILURE(greet(with(ours_, 1), with(theirs_, 1)));
  EXPECT_NE(client_.connection->carrier_report().reason.find("Unix socket"), std::string::npos);
  client_.request(1, "by the stream");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
}

INSTANTIATE_TEST_SUITE_P(PassedDescriptors, OverUnix, ::testing::Values("unix"));
INSTANTIATE_TEST_SUITE_P(PassedDescriptors, OverTcp, ::testing::Values("tcp4"));

}  // namespace
}  // namespace weft::conformance
