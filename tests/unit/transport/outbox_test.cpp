// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/outbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "weft/detail/wire/crc32c.hpp"

namespace weft {

using namespace weft::detail;
namespace {

struct Lease final : SendLease {
  explicit Lease(std::string its) : bytes(std::move(its)) {}
  void on_released(bool sent) noexcept override {
    ++released;
    was_sent = sent;
    if (then != nullptr) then->append(8);
  }
  std::string bytes;
  int released = 0;
  bool was_sent = false;
  Outbox* then = nullptr;
};

struct CountingDrain final : OutboxDrain {
  void on_queued() noexcept override { ++queued; }
  void on_much_queued() noexcept override {
    ++much;
    if (consume_from == nullptr) return;
    consumed += consume_from->queued_bytes();
    consume_from->consume(consume_from->queued_bytes());
  }
  void on_take_back() noexcept override { ++taken_back; }

  int queued = 0;
  int taken_back = 0;
  int much = 0;
  Outbox* consume_from = nullptr;
  std::size_t consumed = 0;
};

class Outboxes : public ::testing::Test {
 protected:
  ~Outboxes() override {
    outbox_.release_all();
    EXPECT_EQ(pool_.chunks_out(), 0u);
  }
  void put(std::string_view text) {
    std::byte* at = outbox_.append(text.size());
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 8, 0u);
    std::memcpy(at, text.data(), text.size());
  }
  std::string queued() const {
    std::vector<iovec> pieces(1000);
    pieces.resize(outbox_.segments(pieces));
    std::string text;
    for (const iovec& piece : pieces) text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    return text;
  }

  ChunkPool pool_{{.chunk_bytes = 4096, .cached_bytes_max = 1 << 20}};
  CountingDrain drain_;
  Outbox outbox_{pool_, &drain_, LeasePolicy{100}};
};

// Frames with runs of a lease's or of a chunk's, sent in parts of any size and now and then taken over.
TEST_F(Outboxes, RunsThatArePutIntoAFrameLeaveInTheirPlaces) {
  unsigned state = 7;
  const auto below = [&](std::size_t bound) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
  };
  for (int round = 0; round < 300; ++round) {
    Outbox outbox{pool_, &drain_, LeasePolicy{100}};
    Lease lease{std::string(LentRuns::kRunBytesMin + 8000, '\0')};
    for (char& each : lease.bytes) each = static_cast<char>(below(256));
    const ChunkRef received = pool_.acquire(lease.bytes.size());
    std::memcpy(received->data(), lease.bytes.data(), lease.bytes.size());
    std::string expected;
    std::string sent;
    int leases = 0;
    for (int frames = 0; frames < 6; ++frames) {
      const std::size_t written = 8 * (1 + below(60));
      std::byte* const frame = outbox.append(written);
      ASSERT_NE(frame, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(frame) % 8, 0u);
      for (std::size_t i = 0; i < written; ++i) frame[i] = static_cast<std::byte>('a' + below(20));
      LentRuns runs;
      const bool is_leased = below(2) == 0;
      std::size_t at = 0;
      for (std::size_t left = below(4); left > 0; --left) {
        const std::size_t before = at;
        at += below(written - at + 1);
        expected.append(reinterpret_cast<const char*>(frame) + before, at - before);
        const std::size_t bytes = LentRuns::kRunBytesMin + 8 * below(900);
        const Bytes run = is_leased ? as_bytes(lease.bytes).first(bytes) : Bytes{received->data(), bytes};
        expected.append(as_text(run));
        runs.offer(run);
        ASSERT_EQ(runs.place(run, frame + at), bytes);
        if (is_leased) ++leases;
      }
      ASSERT_TRUE(outbox.put_in(runs, is_leased ? &lease : nullptr, is_leased ? ChunkRef{} : received, true));
      expected.append(reinterpret_cast<const char*>(frame) + at, written - at);
      EXPECT_EQ(outbox.position(), expected.size());
      if (below(3) == 0) {
        for (int taken = leases - lease.released; taken > 0; --taken) ASSERT_TRUE(outbox.take_over(lease));
        EXPECT_EQ(lease.released, leases);
      }
      std::size_t part = below(outbox.queued_bytes() + 1);
      while (part > 0) {
        std::vector<iovec> places(1 + below(10));
        places.resize(outbox.segments(places));
        const std::size_t piece = std::min(part, places.front().iov_len);
        sent.append(static_cast<const char*>(places.front().iov_base), piece);
        outbox.consume(piece);
        part -= piece;
      }
    }
    std::vector<iovec> places(100);
    places.resize(outbox.segments(places));
    for (const iovec& place : places) sent.append(static_cast<const char*>(place.iov_base), place.iov_len);
    ASSERT_EQ(sent, expected) << round;
    outbox.consume(outbox.queued_bytes());
    EXPECT_EQ(lease.released, leases);
    EXPECT_EQ(received->references(), 1u);
  }
}

TEST_F(Outboxes, AChunkThatRunsLieInIsHeldOnceHoweverManyTheyAre) {
  const ChunkRef received = pool_.acquire(2 * LentRuns::kRunBytesMin);
  std::size_t own = 0;
  for (int frames = 0; frames < 5; ++frames) {
    std::byte* const frame = outbox_.append(64);
    ASSERT_NE(frame, nullptr);
    std::memset(frame, 0, 64);
    if (frames == 0) own = outbox_.held_bytes();
    LentRuns runs;
    const Bytes run{received->data(), LentRuns::kRunBytesMin};
    runs.offer(run);
    ASSERT_EQ(runs.place(run, frame + 32), run.size());
    ASSERT_TRUE(outbox_.put_in(runs, nullptr, received, true));
  }
  EXPECT_EQ(outbox_.held_bytes(), own + received->capacity());
}

// Lists of runs of random lengths, short ones among them, between frames, sent in parts of any size and now
// and then taken over: what leaves is what a copy of it all would be.
TEST_F(Outboxes, WhatIsGatheredLeavesAsACopyOfItWould) {
  unsigned state = 1;
  const auto below = [&](std::size_t bound) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
  };
  std::string memory(1 << 17, '\0');
  for (char& each : memory) each = static_cast<char>(below(256));
  int gathered = 0;
  for (int round = 0; round < 300; ++round) {
    Outbox outbox{pool_, &drain_, LeasePolicy{16 * 1024, true}};
    if (round % 2 == 0) outbox.attachment().use_checksums();
    std::string expected;
    std::string sent;
    Lease lease{""};
    int leases = 0;
    const auto leave = [&](std::size_t bytes) {
      std::vector<iovec> places(1 + below(100));
      places.resize(outbox.segments(places));
      for (const iovec& place : places) {
        const std::size_t part = std::min(bytes, place.iov_len);
        sent.append(static_cast<const char*>(place.iov_base), part);
        outbox.consume(part);
        bytes -= part;
        // The places that segments() gave are not valid any more.
        if (part > 0) break;
      }
    };
    for (int attachments = 0; attachments < 3; ++attachments) {
      std::byte* const at = outbox.append(8);
      ASSERT_NE(at, nullptr);
      std::memcpy(at, "frame...", 8);
      expected += "frame...";
      std::vector<Bytes> runs;
      std::string all;
      for (std::size_t i = 1 + below(90); i > 0; --i) {
        const std::size_t size = below(8) == 0   ? below(20'000)
                                 : below(2) == 0 ? below(100)
                                                 : 2048 + below(3000);
        runs.push_back(as_bytes(memory).subspan(below(memory.size() - size), size));
        all += as_text(runs.back());
      }
      if (all.empty()) continue;
      RunCursor<const std::byte> cursor{MemoryRuns<const std::byte>{std::span<const Bytes>{runs}}};
      for (std::size_t left = all.size(); left > 0;) {
        const Bytes rest = cursor.rest();
        std::size_t part = rest.size();
        ++leases;
        if (outbox.lease_policy().gathers(cursor, left)) {
          ++gathered;
          part = outbox.append_gathered(cursor, left, lease);
          ASSERT_GT(part, 0u);
        } else {
          ASSERT_TRUE(outbox.append_leased(rest, lease, part < left));
          cursor.pass(part);
        }
        left -= part;
        if (below(20) == 0) leave(1 + below(6000));
      }
      expected += all;
      expected.resize((expected.size() + 7) / 8 * 8, '\0');
      if (round % 2 == 0) {
        const std::uint64_t sum = wire::crc32c(as_bytes(all));
        expected.append(reinterpret_cast<const char*>(&sum), sizeof sum);
      }
      if (below(4) == 0) {
        EXPECT_TRUE(outbox.take_over(lease));
      }
    }
    while (!outbox.empty()) leave(1 + below(30'000));
    ASSERT_TRUE(sent == expected) << round;
    EXPECT_EQ(lease.released, leases);
  }
  EXPECT_GT(gathered, 1000);
}

TEST_F(Outboxes, GatheredMemoryThatIsTakenOverIsNotLookedAtAnyMore) {
  Outbox outbox{pool_, &drain_, LeasePolicy{16 * 1024, true}};
  std::string memory(40'000, 'm');
  std::vector<Bytes> runs;
  for (std::size_t at = 0; at < memory.size(); at += 4000) {
    runs.push_back(as_bytes(memory).subspan(at, 4000));
  }
  RunCursor<const std::byte> cursor{MemoryRuns<const std::byte>{std::span<const Bytes>{runs}}};
  Lease lease{""};
  EXPECT_EQ(outbox.append_gathered(cursor, memory.size(), lease), memory.size());
  EXPECT_EQ(outbox.leased_front(), memory.size());
  outbox.consume(5000);
  EXPECT_EQ(outbox.leased_front(), memory.size() - 5000);
  EXPECT_EQ(lease.released, 0);
  EXPECT_TRUE(outbox.take_over(lease));
  EXPECT_EQ(lease.released, 1);
  EXPECT_FALSE(lease.was_sent);
  EXPECT_EQ(outbox.leased_front(), 0u);
  memory.assign(memory.size(), 'x');
  iovec places[64];
  const std::size_t count = outbox.segments(places);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(as_text({static_cast<const std::byte*>(places[0].iov_base), places[0].iov_len}),
            std::string(35'000, 'm'));
  outbox.consume(35'000);
}

// A carrier that sends what is gathered by an exchange of its own would rather have a few runs copied.
TEST_F(Outboxes, FewRunsAreNotGatheredForWhoGathersOnlyMuch) {
  const std::string memory(100'000, 'm');
  const auto gathers = [&](const std::vector<std::size_t>& sizes, std::size_t bytes, bool much_only) {
    std::vector<Bytes> runs;
    for (const std::size_t size : sizes) runs.push_back(as_bytes(memory).first(size));
    const MemoryRuns<const std::byte> list{std::span<const Bytes>{runs}};
    return LeasePolicy{16 * 1024, true, much_only}.gathers(RunCursor<const std::byte>{list}, bytes);
  };
  EXPECT_TRUE(gathers({4096, 4096, 4096, 4096}, 16'384, true));
  EXPECT_FALSE(gathers({4096, 4096, 4096, 4096}, 16'383, true)) << "this frame ends before";
  EXPECT_TRUE(gathers({4096, 4096, 4096, 4096}, 16'383, false));
  EXPECT_FALSE(gathers({4096, 4096, 100, 4096, 4096}, 16'484, true)) << "a short run is copied";
  EXPECT_TRUE(gathers({4096, 4096, 4096, 4096, 100}, 16'484, true));
  EXPECT_FALSE(gathers({4096, 4096, 20'000}, 28'192, true)) << "a long run has a lease of its own";
  EXPECT_FALSE(gathers(std::vector<std::size_t>(40, 1000), 40'000, true));
  EXPECT_FALSE(gathers({20'000}, 20'000, true));
}

TEST_F(Outboxes, TellsWhenSomethingIsQueuedWhereNothingWas) {
  EXPECT_EQ(drain_.queued, 0);
  put("one.....");
  put("two.....");
  EXPECT_EQ(drain_.queued, 1);
  outbox_.consume(16);
  put("three...");
  EXPECT_EQ(drain_.queued, 2);
}

TEST_F(Outboxes, TellsWhenMuchIsQueuedBeforeMoreIsAppended) {
  const std::string frame(1024, 'x');
  for (int at = 0; at < 4; ++at) put(frame);
  EXPECT_EQ(drain_.much, 0);
  drain_.consume_from = &outbox_;
  put(frame);
  EXPECT_EQ(drain_.much, 1);
  EXPECT_EQ(drain_.consumed, EarlySends::kFirstBytes);
  EXPECT_EQ(outbox_.queued_bytes(), 1024u) << "what is being appended was not there yet";
}

// Over a socket a system call and a waking of the peer for each would be most of their cost.
TEST_F(Outboxes, FewFramesAreMuchOnlyWhenTheyHaveManyBytes) {
  constexpr std::size_t kBytes = 256 * 1024;
  Outbox outbox{pool_, &drain_, LeasePolicy{100}, kBytes};
  drain_.consume_from = &outbox;
  for (const std::size_t size : {256u, 1024u, 4096u, 32u * 1024u}) {
    drain_.consumed = 0;
    const int before = drain_.much;
    int frames = 0;
    for (; drain_.much == before; ++frames) ASSERT_NE(outbox.append(size), nullptr);
    const std::size_t queued_then = static_cast<std::size_t>(frames - 1) * size;
    EXPECT_EQ(drain_.consumed, queued_then);
    std::size_t many = std::min(EarlySends::kFewFrames * size, kBytes);
    if (size >= EarlySends::kBytesOfLargeFrame) many = std::max(many, kBytes / 2);
    EXPECT_GE(queued_then, many) << size;
    EXPECT_LE(queued_then, std::min(many + EarlySends::kBytes, kBytes + size)) << size;
    outbox.consume(outbox.queued_bytes());
    outbox.expect_little();
  }
}

TEST_F(Outboxes, SuitTheCarrierThatTakesOver) {
  Outbox outbox{pool_, &drain_, LeasePolicy{100}, 64 * 1024};
  drain_.consume_from = &outbox;
  outbox.suit(LeasePolicy{200}, 0);
  ASSERT_NE(outbox.append(EarlySends::kFirstBytes), nullptr);
  ASSERT_NE(outbox.append(8), nullptr);
  EXPECT_EQ(drain_.much, 1) << "a frame that is large enough is much";
  Lease lease{std::string(150, 'x')};
  ASSERT_TRUE(outbox.append_leased(as_bytes(lease.bytes), lease));
  EXPECT_EQ(lease.released, 1) << "it was copied";
}

TEST_F(Outboxes, MuchIsLessAtTheBeginningOfATurn) {
  const std::string frame(1024, 'x');
  drain_.consume_from = &outbox_;
  const auto frames_until_told = [&] {
    const int before = drain_.much;
    for (int count = 1;; ++count) {
      put(frame);
      if (drain_.much != before) return count;
    }
  };
  EXPECT_EQ(frames_until_told(), 4 + 1);
  EXPECT_EQ(frames_until_told(), 16) << "the one that was being appended is already there";
  EXPECT_EQ(frames_until_told(), 16);
  outbox_.expect_little();
  EXPECT_EQ(frames_until_told(), 4);
}

TEST_F(Outboxes, ALeaseOfMuchIsToldOfAtOnce) {
  Lease lease{std::string(EarlySends::kBytes, 'x')};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  EXPECT_GE(drain_.queued, 1);
  EXPECT_EQ(drain_.much, 1);
  outbox_.release_all();
}

TEST_F(Outboxes, TellsNothingOfMuchWhileMemoryIsGivenBack) {
  struct Again final : SendLease {
    Outbox* outbox = nullptr;
    std::string bytes = std::string(EarlySends::kBytes, 'x');
    void on_released(bool) noexcept override {
      std::byte* room = outbox->append(EarlySends::kBytes);
      ASSERT_NE(room, nullptr);
      std::memset(room, 'y', EarlySends::kBytes);
      ASSERT_NE(outbox->append(8), nullptr);
    }
  } lease;
  lease.outbox = &outbox_;
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  EXPECT_EQ(drain_.much, 1);
  outbox_.consume(EarlySends::kBytes);
  EXPECT_EQ(drain_.much, 1) << "who sends now would send what is being consumed once more";
  EXPECT_EQ(outbox_.queued_bytes(), EarlySends::kBytes + 8);
  outbox_.release_all();
}

TEST_F(Outboxes, WhatAReleaseQueuesNeverComesBetweenAFrameAndItsAttachment) {
  struct Between final : SendLease {
    Outbox* outbox = nullptr;
    void on_released(bool) noexcept override { std::memcpy(outbox->append(8), "between.", 8); }
  } between;
  between.outbox = &outbox_;
  Lease attached{"attached"};
  drain_.consume_from = &outbox_;
  put(std::string(EarlySends::kFirstBytes - 16, 'x'));
  ASSERT_TRUE(outbox_.append_leased({}, between));
  put("the frame of it.");
  ASSERT_TRUE(outbox_.append_leased(as_bytes(attached.bytes), attached));
  EXPECT_EQ(drain_.consumed, EarlySends::kFirstBytes + 8) << "all of it at once, or none";
  EXPECT_EQ(queued(), "between.");
}

TEST_F(Outboxes, AnAttachmentThatBeginsWithAnEmptyPieceIsNotWholeAfterIt) {
  Lease nothing{""};
  Lease attached{"attached"};
  drain_.consume_from = &outbox_;
  put(std::string(EarlySends::kFirstBytes, 'x'));
  ASSERT_TRUE(outbox_.append_leased({}, nothing, true));
  EXPECT_EQ(drain_.much, 0);
  ASSERT_TRUE(outbox_.append_leased(as_bytes(attached.bytes), attached));
  EXPECT_EQ(drain_.much, 1);
}

TEST_F(Outboxes, SmallFramesLieBehindEachOtherInOnePiece) {
  put("one.....");
  put("two.....three...");
  iovec pieces[4];
  EXPECT_EQ(outbox_.segments(pieces), 1u);
  EXPECT_EQ(queued(), "one.....two.....three...");
  EXPECT_EQ(outbox_.queued_bytes(), 24u);
}

TEST_F(Outboxes, HoldsNoChunkOnceDrained) {
  put("one.....");
  EXPECT_EQ(pool_.chunks_out(), 1u);
  outbox_.consume(3);
  EXPECT_EQ(queued(), ".....");
  outbox_.consume(5);
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(pool_.chunks_out(), 0u);
}

TEST_F(Outboxes, GoesOnInFurtherChunksAndGivesThemBackOneByOne) {
  std::string all;
  for (char c = 'a'; c < 'k'; ++c) {
    put(std::string(1000, c));
    all += std::string(1000, c);
  }
  put(std::string(8000, 'z'));
  all += std::string(8000, 'z');
  EXPECT_EQ(queued(), all);
  const std::size_t held = pool_.chunks_out();
  EXPECT_GE(held, 4u);
  outbox_.consume(4001);
  EXPECT_EQ(pool_.chunks_out(), held - 1);
  EXPECT_EQ(queued(), all.substr(4001));
}

TEST_F(Outboxes, LeasedBytesAreNotCopiedAndReleasedOnceAllHaveLeft) {
  Lease lease{std::string(104, 'x')};
  put("before..");
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  put("behind..");
  iovec pieces[4];
  ASSERT_EQ(outbox_.segments(pieces), 3u);
  EXPECT_EQ(pieces[1].iov_base, lease.bytes.data());
  outbox_.consume(8 + 103);
  EXPECT_EQ(lease.released, 0);
  outbox_.consume(1);
  EXPECT_EQ(lease.released, 1);
  EXPECT_TRUE(lease.was_sent);
  EXPECT_EQ(queued(), "behind..");
}

TEST_F(Outboxes, SmallLeasesAreCopiedAndReleasedAtOnce) {
  Lease lease{"abc"};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  EXPECT_EQ(lease.released, 1);
  EXPECT_TRUE(lease.was_sent);
  lease.bytes = "xyz";
  EXPECT_EQ(queued(), std::string("abc\0\0\0\0\0", 8));
}

TEST_F(Outboxes, AWholeShortAttachmentIsCopiedFromAllItsPlacesAndPadded) {
  for (const bool checksums : {false, true}) {
    if (checksums) outbox_.attachment().use_checksums();
    for (std::size_t first = 0; first < 20; ++first) {
      for (const std::size_t second : {1u, 2u, 7u, 8u, 3000u, 9000u}) {
        std::string one(first, 'a');
        std::string two(second, 'b');
        const std::vector<Bytes> runs{as_bytes(one), Bytes{}, as_bytes(two)};
        RunCursor<const std::byte> cursor{MemoryRuns<const std::byte>{std::span<const Bytes>{runs}}};
        put("frame...");
        ASSERT_TRUE(outbox_.append_copied(cursor, first + second));
        EXPECT_TRUE(cursor.rest().empty());
        std::string whole = "frame..." + one + two;
        const std::uint64_t sum = wire::crc32c(as_bytes(one + two));
        whole.resize((whole.size() + 7) / 8 * 8, '\0');
        if (checksums) whole.append(reinterpret_cast<const char*>(&sum), sizeof sum);
        std::ranges::fill(one, 'x');
        std::ranges::fill(two, 'x');
        put("next....");
        ASSERT_EQ(queued(), whole + "next....") << first << " " << second;
        outbox_.consume(outbox_.queued_bytes());
      }
    }
  }
}

// There was no memory for the rest of the other one, and the connection has not ended yet.
TEST_F(Outboxes, NoShortAttachmentGoesIntoOneThatIsNotComplete) {
  Lease lease{std::string(100'000, 'x')};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease, true));
  const std::string text = "short";
  const Bytes run = as_bytes(text);
  RunCursor<const std::byte> cursor{MemoryRuns<const std::byte>{run}};
  const std::size_t queued_before = outbox_.queued_bytes();
  EXPECT_FALSE(outbox_.append_copied(cursor, text.size()));
  EXPECT_EQ(outbox_.queued_bytes(), queued_before);
  outbox_.release_all();
}

TEST_F(Outboxes, AttachmentsOfEveryLengthAndPiecesArePaddedAndFramesBehindThemAligned) {
  for (std::size_t first = 90; first < 110; ++first) {
    for (std::size_t second = 1; second < 20; ++second) {
      Lease one{std::string(first, 'a')};
      Lease two{std::string(second, 'b')};
      Lease three{std::string(first + second, 'c')};
      ASSERT_TRUE(outbox_.append_leased(as_bytes(one.bytes), one, true));
      ASSERT_TRUE(outbox_.append_leased(as_bytes(two.bytes), two, true));
      ASSERT_TRUE(outbox_.append_leased(as_bytes(three.bytes), three));
      put("next....");
      std::string whole = one.bytes + two.bytes + three.bytes;
      whole.resize((whole.size() + 7) / 8 * 8, '\0');
      ASSERT_EQ(queued(), whole + "next....") << first << " " << second;
      outbox_.consume(outbox_.queued_bytes());
      ASSERT_EQ(one.released + two.released + three.released, 3);
    }
  }
}

TEST_F(Outboxes, ChecksumsFollowTheWholeAttachment) {
  outbox_.attachment().use_checksums();
  Lease one{std::string(101, 'a')};
  Lease two{"bc"};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(one.bytes), one, true));
  ASSERT_TRUE(outbox_.append_leased(as_bytes(two.bytes), two));
  const std::string text = queued();
  ASSERT_EQ(text.size(), 112u);
  EXPECT_EQ(detail::load_le<std::uint64_t>(as_bytes(text).data() + 104),
            wire::crc32c(as_bytes(one.bytes + two.bytes)));
  outbox_.consume(text.size());
  EXPECT_EQ(one.released, 1);
}

TEST_F(Outboxes, WhatIsCopiedInPartsHasItsChecksumWhateverBecomesOfTheMemory) {
  outbox_.attachment().use_checksums();
  Lease lease{std::string(6001, 'a')};
  std::string& memory = lease.bytes;
  const std::string before = memory;
  const std::size_t most = outbox_.lease_policy().copied_max();
  ASSERT_GT(most, 0u);
  put("before..");
  for (std::size_t at = 0; at < memory.size(); at += most) {
    const std::size_t part = std::min(most, memory.size() - at);
    const bool more_follows = at + part < memory.size();
    ASSERT_TRUE(outbox_.append_leased(as_bytes(memory).subspan(at, part), lease, more_follows));
    std::fill_n(memory.begin(), at + part, 'b');
  }
  put("behind..");
  const std::string text = queued();
  ASSERT_EQ(text.size(), 8 + 6008 + 8 + 8u);
  EXPECT_EQ(text.substr(8, 6001), before);
  EXPECT_EQ(detail::load_le<std::uint64_t>(as_bytes(text).data() + 8 + 6008), wire::crc32c(as_bytes(before)));
  EXPECT_TRUE(text.ends_with("behind.."));
}

TEST_F(Outboxes, TakingALeaseOverKeepsItsUnsentBytes) {
  Lease lease{std::string(150, 'x') + std::string(154, 'y')};
  put("before..");
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  outbox_.consume(100);
  ASSERT_TRUE(outbox_.take_over(lease));
  EXPECT_EQ(lease.released, 1);
  EXPECT_FALSE(lease.was_sent);
  lease.bytes.assign(304, '?');
  EXPECT_EQ(queued(), std::string(58, 'x') + std::string(154, 'y'));
  EXPECT_TRUE(outbox_.take_over(lease)) << "it is not queued any more";
  outbox_.consume(outbox_.queued_bytes());
  EXPECT_EQ(lease.released, 1);
}

TEST_F(Outboxes, WhoSendsIsAskedForALeaseOnlyWhenItMayBeReadingIt) {
  Lease first{std::string(200, 'a')};
  Lease second{std::string(200, 'b')};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(first.bytes), first, true));
  ASSERT_TRUE(outbox_.append_leased(as_bytes(second.bytes), second));
  ASSERT_TRUE(outbox_.take_over(second));
  EXPECT_EQ(drain_.taken_back, 0) << "only what comes first is read in place";
  ASSERT_TRUE(outbox_.take_over(first));
  EXPECT_EQ(drain_.taken_back, 1);
  outbox_.release_all();
  EXPECT_EQ(drain_.taken_back, 2);
}

TEST_F(Outboxes, ALeaseOfNoBytesIsReleasedOnceEverythingBeforeItHasLeft) {
  outbox_.attachment().use_checksums();
  Lease at_once{""};
  ASSERT_TRUE(outbox_.append_leased({}, at_once));
  EXPECT_EQ(at_once.released, 1);
  Lease marker{""};
  Lease last{""};
  put("before..");
  ASSERT_TRUE(outbox_.append_leased({}, marker));
  put("behind..");
  ASSERT_TRUE(outbox_.append_leased({}, last));
  EXPECT_EQ(queued(), "before..behind..");
  outbox_.consume(7);
  EXPECT_EQ(marker.released, 0);
  outbox_.consume(1);
  EXPECT_EQ(marker.released, 1);
  outbox_.consume(8);
  EXPECT_EQ(last.released, 1);
  put("again...");
  Lease dropped{""};
  ASSERT_TRUE(outbox_.append_leased({}, dropped));
  outbox_.release_all();
  EXPECT_EQ(dropped.released, 1);
  EXPECT_FALSE(dropped.was_sent);
}

TEST_F(Outboxes, ManyLeasesKeepTheirOrderAndTheEndReleasesTheRest) {
  std::vector<std::unique_ptr<Lease>> leases;
  {
    Outbox outbox{pool_, nullptr, LeasePolicy{100}};
    for (int at = 0; at < 200; ++at) {
      leases.push_back(std::make_unique<Lease>(std::string(128, static_cast<char>('A' + at % 26))));
      ASSERT_TRUE(outbox.append_leased(as_bytes(leases.back()->bytes), *leases.back()));
    }
    outbox.consume(128 * 150);
    for (int at = 0; at < 200; ++at) EXPECT_EQ(leases[static_cast<std::size_t>(at)]->released, at < 150);
  }
  for (int at = 0; at < 200; ++at) {
    EXPECT_EQ(leases[static_cast<std::size_t>(at)]->released, 1);
    EXPECT_EQ(leases[static_cast<std::size_t>(at)]->was_sent, at < 150);
  }
}

TEST_F(Outboxes, AReleaseMayQueueMore) {
  Lease lease{std::string(120, 'x')};
  lease.then = &outbox_;
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  put("behind..");
  outbox_.consume(128);
  EXPECT_EQ(lease.released, 1);
  EXPECT_EQ(outbox_.queued_bytes(), 8u);
}

TEST_F(Outboxes, PositionsCountEverythingThatWasQueuedWhateverHasLeft) {
  EXPECT_EQ(outbox_.position(), 0u);
  put("one.....");
  EXPECT_EQ(outbox_.position(), 8u);
  outbox_.consume(8);
  EXPECT_EQ(outbox_.position(), 8u) << "also when nothing is queued";
  put(std::string(4000, 'x'));
  put(std::string(4000, 'x'));  // in another chunk
  EXPECT_EQ(outbox_.position(), 8008u);
  Lease copied{"abc"};
  Lease leased{std::string(1001, 'x')};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(copied.bytes), copied));
  EXPECT_EQ(outbox_.position(), 8016u);
  ASSERT_TRUE(outbox_.append_leased(as_bytes(leased.bytes), leased));
  EXPECT_EQ(outbox_.position(), 9024u);
  ASSERT_TRUE(outbox_.take_over(leased));
  EXPECT_EQ(outbox_.position(), 9024u);
  std::byte* const last = outbox_.append(16);
  EXPECT_EQ(outbox_.position(), 9040u);
  outbox_.take_back(last);
  EXPECT_EQ(outbox_.position(), 9024u);
}

TEST_F(Outboxes, WhatWasConsumedOrBegunIsHandedOverAndTheRestIsNot) {
  EXPECT_EQ(outbox_.handed_over(), 0u);
  put("one.....");
  put("two.....");
  EXPECT_EQ(outbox_.handed_over(), 0u);
  outbox_.consume(3);
  EXPECT_EQ(outbox_.handed_over(), 3u);
  outbox_.note_begun(9);
  EXPECT_EQ(outbox_.handed_over(), 12u) << "a device may have sent it";
  outbox_.consume(5);
  EXPECT_EQ(outbox_.handed_over(), 12u);
  outbox_.consume(8);
  EXPECT_EQ(outbox_.handed_over(), 16u);
}

TEST_F(Outboxes, WhatIsQueuedBehindWhatACarrierHasBegunIsToldOnce) {
  Lease lease{std::string(8000, 'x')};
  put("one.....");
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  EXPECT_EQ(drain_.queued, 1);
  outbox_.note_begun(outbox_.queued_bytes());
  const int much = drain_.much;
  put("two.....");
  put("three...");
  EXPECT_EQ(drain_.queued, 2);
  EXPECT_EQ(drain_.much, much) << "what is begun is not to be sent";
  outbox_.consume(8008);
  EXPECT_EQ(queued(), "two.....three...");
}

TEST_F(Outboxes, MemoryThatACarrierHasBegunIsTakenBackAlsoBehindTheFirst) {
  Lease first{std::string(200, 'x')};
  Lease second{std::string(200, 'y')};
  Lease third{std::string(200, 'z')};
  for (Lease* lease : {&first, &second, &third}) {
    ASSERT_TRUE(outbox_.append_leased(as_bytes(lease->bytes), *lease));
  }
  EXPECT_TRUE(outbox_.leads(first));
  EXPECT_FALSE(outbox_.leads(second));
  outbox_.note_begun(201);
  EXPECT_TRUE(outbox_.leads(second));
  EXPECT_FALSE(outbox_.leads(third));
  ASSERT_TRUE(outbox_.take_over(third));
  EXPECT_EQ(drain_.taken_back, 0);
  ASSERT_TRUE(outbox_.take_over(second));
  EXPECT_EQ(drain_.taken_back, 1);
  ASSERT_TRUE(outbox_.take_over(first));
}

TEST_F(Outboxes, WhatIsDroppedWasNotHandedOver) {
  put("one.....");
  outbox_.consume(4);
  put("two.....");
  outbox_.release_all();
  EXPECT_EQ(outbox_.handed_over(), 4u);
  EXPECT_EQ(outbox_.position(), 16u);
  put("late....");
  EXPECT_EQ(outbox_.position(), 24u);
}

TEST_F(Outboxes, SteadyUseTakesNoNewChunks) {
  for (int round = 0; round < 1000; ++round) {
    put("request.");
    outbox_.consume(8);
  }
  EXPECT_EQ(pool_.cached_bytes(), 4096u);
}

TEST_F(Outboxes, CountsWhatLeftInEachSendAndNoFrameThatWasTakenBack) {
  put("one.....");
  put("two.....");
  outbox_.take_back(outbox_.append(24));
  EXPECT_EQ(outbox_.counters().frames.get(), 0u) << "nothing has left";
  outbox_.consume(12);
  EXPECT_EQ(outbox_.counters().bytes.get(), 12u);
  EXPECT_EQ(outbox_.counters().frames.get(), 2u) << "the second has begun to";
  EXPECT_EQ(outbox_.counters().sends.get(), 1u);
  Lease lease{std::string(300, 'x')};
  ASSERT_TRUE(outbox_.append_leased(as_bytes(lease.bytes), lease));
  outbox_.consume(4 + 304);
  EXPECT_EQ(outbox_.counters().bytes.get(), 320u);
  EXPECT_EQ(outbox_.counters().frames.get(), 2u) << "an attachment is a part of its frame";
  EXPECT_EQ(outbox_.counters().sends.get(), 2u);
}

TEST(OutboxSize, IsSmall) {
  EXPECT_LE(sizeof(Outbox), 272u);
}

}  // namespace
}  // namespace weft
