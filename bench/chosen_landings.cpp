// SPDX-License-Identifier: Apache-2.0
// Says what it saves when a handler chooses where the attachment of its request lands, over tcp: into memory
// of its own, beside one that copies it there; and a refusal before it was sent beside one after. Median of
// several rounds, one after the other in each.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kMost = std::size_t{8} << 20;
constexpr int kRounds = 7;

weft::MutableBytes store() {
  static std::vector<std::byte> memory(kMost);
  return memory;
}

std::uint64_t copied(weft::CallContext& context) {
  const weft::Bytes came = context.attachment();
  std::memcpy(store().data(), came.data(), came.size());
  return came.size();
}

weft::Task<weft::Result<std::uint64_t>> chosen(weft::IncomingAttachment& data) {
  const weft::Result<void> whole = co_await data.into(store().first(data.size()));
  if (!whole.ok()) co_return whole.status();
  co_return data.size();
}

weft::Result<std::uint64_t> refused_after(weft::CallContext&) {
  return weft::user_error(1, "no");
}

weft::Task<weft::Result<std::uint64_t>> refused_before(weft::IncomingAttachment&) {
  co_return weft::user_error(1, "no");
}

struct Plan {
  std::size_t bytes;
  int depth;
  int calls;
};

template <auto M>
weft::Task<bool> make_calls(weft::Client& client, weft::Bytes memory, Plan plan, bool succeed) {
  const weft::CallOptions options{.attachment = memory.first(plan.bytes)};
  bool as_expected = true;
  for (int made = 0; made < plan.calls; made += plan.depth) {
    std::vector<weft::Call<std::uint64_t>> calls;
    calls.reserve(static_cast<std::size_t>(plan.depth));
    for (int i = 0; i < plan.depth; ++i) calls.push_back(client.start<M>(options));
    for (auto& call : calls) {
      const weft::Result<std::uint64_t> outcome = co_await std::move(call);
      as_expected = outcome.ok() == succeed && as_expected;
    }
  }
  co_return as_expected;
}

/// Microseconds a call.
template <auto M>
double measure(weft::Loop& loop, weft::Client& client, weft::Bytes memory, Plan plan, bool succeed) {
  const auto began = std::chrono::steady_clock::now();
  if (!loop.block_on(make_calls<M>(client, memory, plan, succeed))) {
    std::fprintf(stderr, "a call did not end as it should\n");
    std::exit(1);
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
  return took.count() / plan.calls;
}

double median(std::array<double, kRounds> values) {
  std::ranges::sort(values);
  return values[kRounds / 2];
}

}  // namespace

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<copied, chosen, refused_after, refused_before>();
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const std::vector<std::byte> memory(kMost, std::byte{1});

  std::printf("microseconds a call\n%8s %10s %10s %10s %6s %14s %14s\n", "KiB", "in flight", "copied",
              "chosen", "ratio", "refused after", "refused before");
  for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{128} << 10,
                                  std::size_t{256} << 10, std::size_t{1} << 20, kMost}) {
    for (const int depth : {1, 4, 16}) {
      const int calls =
          std::max(static_cast<int>(std::min<std::size_t>(4000, (std::size_t{256} << 20) / bytes)), 4);
      const Plan plan{bytes, depth, (calls + depth - 1) / depth * depth};
      std::array<std::array<double, kRounds>, 4> took{};
      for (std::size_t round = 0; round < kRounds; ++round) {
        took[0][round] = measure<copied>(*loop, client, memory, plan, true);
        took[1][round] = measure<chosen>(*loop, client, memory, plan, true);
        took[2][round] = measure<refused_after>(*loop, client, memory, plan, false);
        took[3][round] = measure<refused_before>(*loop, client, memory, plan, false);
      }
      const double copy = median(took[0]);
      const double choice = median(took[1]);
      std::printf("%8zu %10d %10.1f %10.1f %6.2f %14.1f %14.1f\n", bytes >> 10, depth, copy, choice,
                  choice / copy, median(took[2]), median(took[3]));
    }
  }
  return 0;
}
