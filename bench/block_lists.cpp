// SPDX-License-Identifier: Apache-2.0
// Says what a block costs in a list of many: 10,000 blocks of 4 KiB in one run, in a list, at equal distances
// and in a call each, sent and landed; and answered, from a list that the handler makes for the call, and at
// equal distances. Times are of both ends together, and beside them what they are beyond those of the same
// bytes in one run: what being a list costs.
//   block_lists [BLOCKS [URL [UCX_TRANSPORT...]]]
// URL is what the server listens on, tcp://127.0.0.1:0 unless it is said. UCX transports are by UCX's names;
// with cma among them its error mode is none, as cma needs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

#include "bare/times.hpp"

namespace {

using weft::bare::cpu_ns;
using weft::bare::wall_ns;

constexpr std::size_t kBlockBytes = 4096;
// Blocks lie apart, as in a cache of pages.
constexpr std::size_t kStride = 2 * kBlockBytes;
constexpr int kCallsAtATime = 64;

std::vector<std::byte>& answer_memory() {
  static std::vector<std::byte> memory;
  return memory;
}
/// Blocks that lie apart, which the server answers with.
weft::Bytes& answer_blocks() {
  static weft::Bytes memory;
  return memory;
}

std::uint64_t take(weft::CallContext& context) {
  return context.take_attachment().size();
}

std::uint64_t give(weft::CallContext& context, std::uint64_t bytes) {
  context.set_attachment(
      weft::Buffer::adopt(weft::MutableBytes{answer_memory()}.first(bytes), nullptr, [](void*) noexcept {}));
  return bytes;
}

std::uint64_t give_list(weft::CallContext& context, std::uint64_t bytes) {
  std::vector<weft::Bytes> blocks;
  blocks.reserve(bytes / kBlockBytes);
  for (std::size_t i = 0; i < bytes / kBlockBytes; ++i) {
    blocks.push_back(answer_blocks().subspan(i * kStride, kBlockBytes));
  }
  context.set_attachment({blocks, weft::Buffer{}});
  return bytes;
}

std::uint64_t give_strided(weft::CallContext& context, std::uint64_t bytes) {
  const std::size_t blocks = bytes / kBlockBytes;
  context.set_attachment(
      {weft::AttachmentView::strided(answer_blocks(), blocks, kBlockBytes, kStride), weft::Buffer{}});
  return bytes;
}

/// The part of `memory` from the beginning of a page on.
weft::MutableBytes from_page(std::vector<std::byte>& memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return weft::MutableBytes{memory}.subspan((kBlockBytes - address % kBlockBytes) % kBlockBytes);
}

struct Cost {
  double wall = 1e18;
  double cpu = 1e18;
};

weft::Task<bool> send(weft::Client& client, weft::AttachmentView attachment) {
  const weft::CallOptions options{.attachment = attachment};
  const auto answer = co_await client.call<take>(options);
  co_return answer.ok() && *answer == attachment.bytes();
}

template <auto F>
weft::Task<bool> land(weft::Client& client, weft::LandingView landing) {
  const weft::CallOptions options{.landing = landing};
  const auto answer = co_await client.call<F>(options, std::uint64_t{landing.bytes()});
  co_return answer.ok() && *answer == landing.bytes();
}

weft::Task<bool> collect(std::vector<weft::Call<std::uint64_t>>& calls) {
  bool ok = true;
  for (auto& call : calls) {
    const auto answer = co_await std::move(call);
    ok = ok && answer.ok() && *answer == kBlockBytes;
  }
  calls.clear();
  co_return ok;
}

class Bench {
 public:
  Bench(weft::Loop& loop, weft::Client& client, std::size_t blocks)
      : loop_(loop), client_(client), blocks_(blocks) {}

  /// The least of several rounds, a block.
  template <typename Round>
  Cost measure(Round round) const {
    Cost least;
    for (int i = 0; i < 30; ++i) {
      const double wall = wall_ns();
      const double cpu = cpu_ns();
      if (!round()) {
        std::fprintf(stderr, "a call failed\n");
        std::exit(1);
      }
      least.wall = std::min(least.wall, wall_ns() - wall);
      least.cpu = std::min(least.cpu, cpu_ns() - cpu);
    }
    const auto count = static_cast<double>(blocks_);
    return {least.wall / count, least.cpu / count};
  }
  Cost sent(weft::AttachmentView view) const {
    return measure([&] { return loop_.block_on(send(client_, view)); });
  }
  /// The answer of F lands in `view`.
  template <auto F>
  Cost landed(weft::LandingView view) const {
    return measure([&] { return loop_.block_on(land<F>(client_, view)); });
  }
  /// A call for each of `views`, of which many are in flight.
  template <typename Start>
  Cost one_by_one(Start start) const {
    std::vector<weft::Call<std::uint64_t>> calls;
    return measure([&] {
      bool ok = true;
      for (std::size_t i = 0; i < blocks_; ++i) {
        calls.push_back(start(i));
        if (calls.size() == kCallsAtATime) ok = loop_.block_on(collect(calls)) && ok;
      }
      return loop_.block_on(collect(calls)) && ok;
    });
  }

 private:
  weft::Loop& loop_;
  weft::Client& client_;
  std::size_t blocks_;
};

void print(std::string_view name, Cost cost, Cost base) {
  std::printf("%-28.*s %10.0f %10.0f %12.0f %10.0f\n", static_cast<int>(name.size()), name.data(), cost.wall,
              cost.cpu, cost.wall - base.wall, cost.cpu - base.cpu);
}

weft::TransportOptions transports(const std::vector<std::string>& of_ucx) {
  weft::TransportOptions options;
  options.ucx.transports = of_ucx;
  if (std::ranges::find(of_ucx, "cma") != of_ucx.end()) options.ucx.error_mode = weft::UcxErrorMode::kNone;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::size_t blocks = !words.empty() ? std::strtoul(words[0].c_str(), nullptr, 10) : 10'000;
  const std::string url = words.size() > 1 ? words[1] : "tcp://127.0.0.1:0";
  const std::vector<std::string> of_ucx(words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)),
                                        words.end());
  const std::size_t bytes = blocks * kBlockBytes;
  answer_memory().assign(bytes, std::byte{7});
  weft::Server server{{.listen = {url}, .threads = 1}, transports(of_ucx)};
  server.register_handler<take>();
  server.register_handler<give, give_list, give_strided>();
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}, transports(of_ucx)};

  std::vector<std::byte> for_whole(bytes + kBlockBytes, std::byte{1});
  std::vector<std::byte> for_apart(blocks * kStride + kBlockBytes, std::byte{2});
  const weft::MutableBytes whole = from_page(for_whole).first(bytes);
  const weft::MutableBytes apart = from_page(for_apart).first(blocks * kStride);
  std::vector<std::byte> for_answers(blocks * kStride + kBlockBytes, std::byte{3});
  answer_blocks() = from_page(for_answers).first(blocks * kStride);
  std::vector<weft::Bytes> from;
  std::vector<weft::MutableBytes> into;
  for (std::size_t i = 0; i < blocks; ++i) {
    into.push_back(apart.subspan(i * kStride, kBlockBytes));
    from.emplace_back(into.back());
  }

  const Bench bench{*loop, client, blocks};
  std::printf("%zu blocks of %zu bytes; nanoseconds a block\n", blocks, kBlockBytes);
  std::printf("%-28s %10s %10s %12s %10s\n", "", "wall", "cpu", "wall beyond", "cpu beyond");
  const Cost sent = bench.sent(weft::Bytes{whole});
  print("sent in one run", sent, sent);
  print("sent from a list", bench.sent(std::span<const weft::Bytes>{from}), sent);
  print("sent at equal distances",
        bench.sent(weft::AttachmentView::strided(apart, blocks, kBlockBytes, kStride)), sent);
  print("sent by a call each",
        bench.one_by_one([&](std::size_t i) { return client.start<take>({.attachment = from[i]}); }), sent);
  const Cost landed = bench.landed<give>(whole);
  print("landed in one run", landed, landed);
  print("landed in a list", bench.landed<give>(std::span<const weft::MutableBytes>{into}), landed);
  print("landed at equal distances",
        bench.landed<give>(weft::LandingView::strided(apart, blocks, kBlockBytes, kStride)), landed);
  print("landed by a call each", bench.one_by_one([&](std::size_t i) {
    return client.start<give>({.landing = into[i]}, std::uint64_t{kBlockBytes});
  }),
        landed);
  print("answered from a list", bench.landed<give_list>(whole), landed);
  print("answered at equal distances", bench.landed<give_strided>(whole), landed);
  print("a list into a list", bench.landed<give_list>(std::span<const weft::MutableBytes>{into}), landed);
  return 0;
}
