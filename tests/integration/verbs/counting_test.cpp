// SPDX-License-Identifier: Apache-2.0
// CR-18: what a call costs by RDMA, counted and not timed, both sides together: doorbells, completions,
// inline sends, bytes that are copied. On simulated devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "integration/verbs/simulated_testing.hpp"
#include "support/pattern.hpp"

namespace weft::verbs_testing {
namespace {

using Payload = std::array<std::uint64_t, 16>;

Payload echo(Payload payload) {
  return payload;
}

std::string echo_text(std::string text) {
  return text;
}

/// Costs of one call, both sides together.
struct Costs {
  double doorbells = 0;
  double signalled = 0;
  double completions = 0;
  double inlined = 0;
  double messages = 0;
  double reads = 0;
  /// Bytes of messages, into which the sender copied them, by bytes of payload.
  double copied = 0;
};

constexpr std::size_t kMega = std::size_t{1} << 20;

class VerbsCounts : public SimulatedTest {
 protected:
  static constexpr int kCalls = 10'000;

  Server& serve() {
    return world.serve(options(), World::Where::kHere, "verbs://127.0.0.1:0", [this](Server& its) {
      its.register_handler<echo>();
      its.register_handler<echo_text>();
      its.register_handler("put", [this](IncomingAttachment& data) { return put(data); });
      its.register_handler("lend", [this](CallContext& context) {
        context.set_attachment(Buffer::adopt(MutableBytes{lent_}, nullptr, [](void*) noexcept {}));
        return 0;
      });
    });
  }
  Task<Result<std::uint64_t>> put(IncomingAttachment& data) {
    auto receiving = data.into(put_into_);
    const Result<void> whole = co_await std::move(receiving);
    if (!whole.ok()) co_return whole.status();
    co_return data.size();
  }
  Client& client_of(const Server& server) { return world.client(server.urls().front(), options()); }

  template <auto kFunction, typename Argument>
  static Task<void> call_again_and_again(Client* client, Argument argument, int times) {
    for (int i = 0; i < times; ++i) {
      const Result<Argument> answer = co_await client->call<kFunction>(argument);
      EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    }
  }
  template <auto kFunction, typename Argument>
  void run(Client& caller, const Argument& argument, std::size_t in_flight, int calls) {
    std::vector<Task<void>> callers;
    const int each = calls / static_cast<int>(in_flight);
    for (std::size_t i = 0; i < in_flight; ++i) {
      callers.push_back(call_again_and_again<kFunction>(&caller, argument, each));
    }
    loop().block_on(when_all(std::move(callers)));
  }

  /// Counts the costs of `calls` calls that have `payload_bytes` each, both ways together. bench/compare
  /// verbs prints what is recorded here.
  template <typename Run>
  Costs costs_of(const char* call, int calls, std::size_t payload_bytes, Run run_them) {
    const SimulatedRdmaCounters before = rdma.counters();
    run_them();
    const SimulatedRdmaCounters after = rdma.counters();
    EXPECT_EQ(after.rnr_naks, 0u);
    const auto per_call = [calls](std::uint64_t now, std::uint64_t then) {
      return static_cast<double>(now - then) / calls;
    };
    const double moved = per_call(after.moved_bytes, before.moved_bytes);
    const double read = per_call(after.read_bytes, before.read_bytes);
    const double reads = per_call(after.reads, before.reads);
    const Costs made{per_call(after.of(Call::kPostSend), before.of(Call::kPostSend)),
                     per_call(after.sends_signalled, before.sends_signalled),
                     per_call(after.completions_polled, before.completions_polled),
                     per_call(after.sends_inline, before.sends_inline),
                     per_call(after.sends_posted, before.sends_posted) - reads,
                     reads,
                     (moved - read) / static_cast<double>(payload_bytes)};
    RecordProperty("call", call);
    record("doorbells", made.doorbells);
    record("signalled", made.signalled);
    record("completions", made.completions);
    record("inline", made.inlined);
    record("messages", made.messages);
    record("reads", made.reads);
    record("copied by payload", made.copied);
    record("RNR NAKs", per_call(after.rnr_naks, before.rnr_naks));
    return made;
  }
  Costs costs_of_small(const char* call, std::size_t in_flight) {
    Client& caller = client_of(serve());
    run<echo>(caller, Payload{}, in_flight, kCalls / 2);
    return costs_of(call, kCalls, 2 * sizeof(Payload),
                    [&] { run<echo>(caller, Payload{}, in_flight, kCalls); });
  }
  Costs costs_of_text(const char* call, std::size_t bytes) {
    constexpr int kFewer = 1000;
    Client& caller = client_of(serve());
    const std::string text(bytes, 'x');
    run<echo_text>(caller, text, 1, kFewer);
    return costs_of(call, kFewer, 2 * bytes, [&] { run<echo_text>(caller, text, 1, kFewer); });
  }
  /// An attachment up, and one down into the caller's memory.
  Costs costs_of_attachments(const char* call, std::size_t bytes, bool registered) {
    constexpr int kFew = 100;
    lent_ = pattern(bytes, 3);
    std::vector<std::byte> sent = pattern(bytes);
    std::vector<std::byte> landing(bytes);
    Server& server = serve();
    Client& caller = client_of(server);
    world.expect_alive(caller);
    std::vector<MemoryLease> leases;
    if (registered) {
      leases.push_back(caller.register_memory(sent).value());
      leases.push_back(caller.register_memory(landing).value());
      leases.push_back(server.register_memory(lent_).value());
    }
    const auto exchange = [&](int times) {
      for (int i = 0; i < times; ++i) {
        auto asked = caller.start<remote<"lend", int()>>({.attachment = Bytes{sent}, .landing = landing});
        EXPECT_TRUE(world.wait_for(std::move(asked)).ok());
      }
    };
    exchange(kFew);
    const Costs made = costs_of(call, kFew, 2 * bytes, [&] { exchange(kFew); });
    EXPECT_TRUE(landing == lent_);
    return made;
  }

  static constexpr std::size_t kBlocks = 1000;
  static constexpr std::size_t kBlockBytes = 4096;

  /// A thousand blocks in one call, from blocks or from one memory to blocks or to one memory, all of it
  /// registered. Of blocks each second one is left out.
  Costs costs_of_blocks(const char* call, bool from_blocks, bool to_blocks) {
    constexpr int kFew = 20;
    constexpr std::size_t kAll = kBlocks * kBlockBytes;
    std::vector<std::byte> sent = pattern(2 * kAll);
    std::vector<std::byte> landing(2 * kAll);
    const auto stride = [](bool blocks) { return blocks ? 2 * kBlockBytes : kBlockBytes; };
    Server& server = serve();
    Client& caller = client_of(server);
    world.expect_alive(caller);
    const MemoryLease here = caller.register_memory(sent).value();
    const MemoryLease there = server.register_memory(landing).value();
    put_into_ = to_blocks ? LandingView::strided(landing.data(), kBlocks, kBlockBytes, stride(true))
                          : LandingView{MutableBytes{landing}.first(kAll)};
    const AttachmentView from = from_blocks
                                    ? AttachmentView::strided(sent.data(), kBlocks, kBlockBytes, stride(true))
                                    : AttachmentView{Bytes{sent}.first(kAll)};
    const auto exchange = [&](int times) {
      for (int i = 0; i < times; ++i) {
        auto asked = caller.start<remote<"put", std::uint64_t(IncomingAttachment&)>>({.attachment = from});
        EXPECT_EQ(world.wait_for(std::move(asked)).value(), kAll);
      }
    };
    exchange(kFew);
    const Costs made = costs_of(call, kFew, kAll, [&] { exchange(kFew); });
    for (std::size_t block = 0; block < kBlocks; ++block) {
      const Bytes from_there = Bytes{sent}.subspan(block * stride(from_blocks), kBlockBytes);
      EXPECT_TRUE(
          testing::same_bytes(from_there, Bytes{landing}.subspan(block * stride(to_blocks), kBlockBytes)))
          << block;
    }
    return made;
  }

 private:
  static void record(const char* what, double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3f", value);
    std::printf("%s: %s\n", what, text.data());
    RecordProperty(what, text.data());
  }

  std::vector<std::byte> lent_;
  LandingView put_into_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsCounts, ::testing::Values("plain"), name_of);

TEST_P(VerbsCounts, ASmallCallIsOneInlineMessageEachWayAndFewCompletions) {
  const Costs one = costs_of_small("128 B", 1);
  EXPECT_GE(one.doorbells, 2.0) << "a request and an answer: otherwise nothing was counted";
  EXPECT_LE(one.doorbells, 2.2) << "hardly a message that only says credit";
  EXPECT_GE(one.inlined, 2.0);
  EXPECT_LE(one.signalled, one.doorbells / 4);
  EXPECT_LE(one.completions, one.doorbells * 1.25 + 0.01) << "those of receives, and every eighth send's";
}

TEST_P(VerbsCounts, ManySmallCallsShareDoorbellsAndCompletions) {
  const Costs many = costs_of_small("128 B, 256 in flight", 256);
  EXPECT_LE(many.doorbells, 0.2);
  EXPECT_LE(many.completions, 0.4);
}

TEST_P(VerbsCounts, ACallOf64BytesIsOneMessageEachWay) {
  EXPECT_LE(costs_of_text("64 B", 64).messages, 2.2);
}

TEST_P(VerbsCounts, ACallOf4KibIsOneMessageEachWay) {
  const Costs made = costs_of_text("4 KiB", 4096);
  EXPECT_LE(made.messages, 2.2);
  EXPECT_LE(made.copied, 1.05) << "once, by its sender, and the heads";
}

// Up into memory of the transport's, down into the caller's: each is one read, and what goes besides is
// inline. Unregistered, each is more than sixty messages of 16 KiB.
TEST_P(VerbsCounts, RegisteredAttachmentsAreMovedByTheDeviceAlone) {
  const Costs made = costs_of_attachments("1 MiB, registered", kMega, true);
  EXPECT_EQ(made.reads, 2.0);
  EXPECT_EQ(made.messages, made.inlined);
  EXPECT_LE(made.messages, 4.0) << "a request and an answer, each with its offer, and what was fetched";
  EXPECT_LE(made.copied, 0.001) << "only what tells of them";
}

TEST_P(VerbsCounts, TheSmallestRegisteredAttachmentsAreMovedByTheDeviceAlone) {
  const Costs made = costs_of_attachments("64 KiB, registered", 65'536, true);
  EXPECT_EQ(made.reads, 2.0);
  EXPECT_LE(made.messages, 3.02)
      << "the server tells what it fetched with its answer, the client by itself: it "
         "calls again in a later turn";
  EXPECT_LE(made.copied, 0.01);
}

TEST_P(VerbsCounts, BlocksAreFilledOutOfOneMemoryByListsOfTheWorkRequests) {
  const Costs made = costs_of_blocks("1,000 blocks of 4 KiB from one memory", false, true);
  EXPECT_LE(made.reads, 1.1 * kBlocks / 16);
  EXPECT_LE(made.doorbells, made.reads);
  EXPECT_LE(made.copied, 0.01);
}

// Offers that name 32 blocks each; the last few of a piece are less than is worth one, and are copied.
TEST_P(VerbsCounts, BlocksAreReadIntoOneMemoryOutOfListsOfOffers) {
  const Costs made = costs_of_blocks("1,000 blocks of 4 KiB into one memory", true, false);
  EXPECT_GE(made.reads, 0.97 * kBlocks);
  EXPECT_LE(made.reads, kBlocks);
  EXPECT_LE(made.messages, 100);
  EXPECT_LE(made.copied, 0.03);
}

TEST_P(VerbsCounts, BlocksAreReadIntoBlocks) {
  const Costs made = costs_of_blocks("1,000 blocks of 4 KiB into blocks", true, true);
  EXPECT_GE(made.reads, 0.97 * kBlocks);
  EXPECT_LE(made.reads, kBlocks);
  EXPECT_LE(made.messages, 100);
  EXPECT_LE(made.copied, 0.03);
}

// Nobody has a handler for it.
TEST_P(VerbsCounts, ARegisteredAttachmentThatNobodyWantsIsNeitherReadNorCopied) {
  constexpr int kFew = 100;
  Client& caller = client_of(serve());
  world.expect_alive(caller);
  std::vector<std::byte> sent = pattern(kMega);
  const MemoryLease lease = caller.register_memory(sent).value();
  const Costs made = costs_of("1 MiB, registered, dropped", kFew, kMega, [&] {
    for (int i = 0; i < kFew; ++i) {
      auto asked = caller.start<remote<"nobody", int()>>({.attachment = Bytes{sent}});
      EXPECT_EQ(world.wait_for(std::move(asked)).status().code(), StatusCode::kUnimplemented);
    }
  });
  EXPECT_EQ(made.reads, 0.0);
  EXPECT_LE(made.copied, 0.01);
}

TEST_P(VerbsCounts, WhatIsNotRegisteredIsCopiedOnceByItsSender) {
  const Costs made = costs_of_attachments("1 MiB, copied", kMega, false);
  EXPECT_EQ(made.reads, 0.0);
  EXPECT_GE(made.copied, 1.0);
  EXPECT_LE(made.copied, 1.01);
}

TEST_P(VerbsCounts, WhatIsJustLargeEnoughAndNotRegisteredIsCopiedOnceToo) {
  const Costs made = costs_of_attachments("64 KiB, copied", 65'536, false);
  EXPECT_EQ(made.reads, 0.0);
  EXPECT_LE(made.copied, 1.01);
}

}  // namespace
}  // namespace weft::verbs_testing
