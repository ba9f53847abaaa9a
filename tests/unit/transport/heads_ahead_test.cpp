// SPDX-License-Identifier: Apache-2.0
// What is read of heads before their turn is what the framer reads of them later, or nothing.
#include "transport/heads_ahead.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/wire_bytes.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft {

using namespace weft::detail;
namespace {

struct Sink final : FrameSink {
  Status on_hello(const wire::Hello&) override { return {}; }
  Status on_frames(std::span<const Frame>, const ChunkRef&) override { return {}; }
  Landing on_attachment(const Frame&) override { return Landing::skip(); }
  Landing on_attachment_ahead(const wire::FrameHeader& header) override {
    asked = header.id;
    return Landing::into(MutableBytes{place});
  }
  Status on_attachment_end(const Frame&, const ChunkRef&, bool) override { return {}; }
  void on_drained() override {}
  void on_closed(Status) override {}

  std::uint64_t asked = 0;
  std::byte place[8]{};
};

/// The head of an answer with an attachment of `bytes`.
std::string head(std::uint64_t id, std::uint64_t bytes, std::string_view body = "body", unsigned flags = 0) {
  wire::FrameHeader header = wire::AnswerHead{.id = id}.header();
  header.flags |= wire::FrameFlags::kAttachment | flags;
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.attachment_bytes = bytes;
  std::string all = testing::header_bytes(header);
  testing::append_padded(all, body);
  return all;
}

class HeadsAheadOf : public ::testing::Test {
 protected:
  std::uint64_t next(const std::string& between) { return heads_.next(as_bytes(between)); }

  Sink sink_;
  const wire::FrameLimits limits_{.body_bytes_max = 100, .attachment_bytes_max = 1000};
  /// Heads behind an attachment that is three bytes short of a multiple of 8.
  HeadsAhead heads_{sink_, limits_, 13};
  const std::string padding_ = std::string(3, '\0');
};

TEST_F(HeadsAheadOf, AttachmentsOneBehindTheOtherAreFound) {
  EXPECT_EQ(next(padding_ + head(7, 9)), 9u);
  EXPECT_EQ(heads_.place().place.rest().data(), sink_.place);
  EXPECT_EQ(sink_.asked, 7u);
  EXPECT_EQ(next(std::string(7, '\0') + head(8, 16, {})), 16u);
  EXPECT_EQ(next(head(9, 1000)), 1000u) << "there is no padding behind a multiple of 8";
  EXPECT_EQ(heads_.place().kind, Landing::Kind::kInto);
  EXPECT_EQ(sink_.asked, 9u);
}

TEST_F(HeadsAheadOf, NothingIsFoundWhereTheFramerWouldFindSomethingElse) {
  const std::string whole = padding_ + head(7, 16);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    HeadsAhead heads{sink_, limits_, 13};
    EXPECT_EQ(heads.next(as_bytes(whole).first(bytes)), 0u) << bytes;
  }
  const std::string ping = testing::control_bytes(wire::FrameType::kPing, 1);
  for (const std::string& between : {
           head(7, 16),                      // without the padding
           padding_ + ping + head(7, 16),    // a small frame comes before
           padding_ + head(7, 16) + ping,    // one comes behind, in place of the attachment
           padding_ + ping,                  // there is no attachment
           padding_ + head(7, 1001),         // more than this side takes
           padding_ + std::string(48, 'x'),  // no frame
       }) {
    HeadsAhead heads{sink_, limits_, 13};
    EXPECT_EQ(heads.next(as_bytes(between)), 0u);
  }
  EXPECT_EQ(sink_.asked, 0u);
}

TEST_F(HeadsAheadOf, AnAttachmentThatComesInPiecesLaterDoesNotFollowItsHead) {
  EXPECT_EQ(next(padding_ + head(7, 16, "body", wire::FrameFlags::kInPieces)), 0u);
}

}  // namespace
}  // namespace weft
