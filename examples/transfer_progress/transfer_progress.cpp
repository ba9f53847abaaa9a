// SPDX-License-Identifier: Apache-2.0
// How far a large attachment is, on both sides, how fast it may go, and how a caller gives it up on the way.
#include <cstdio>
#include <memory>
#include <vector>
#include <weft/weft.hpp>

constexpr std::size_t kMiB = std::size_t{1} << 20;

// begin: handler
/// Sends `bytes` bytes, at most 200 MiB a second.
void give(weft::CallContext& context, std::uint64_t bytes) {
  context.set_attachment(weft::Buffer::try_allocate(bytes).value());
  context.set_attachment_rate(200 * kMiB);
  auto progress = std::make_shared<weft::TransferProgress>();
  context.report_progress(progress);
  context.on_answer_sent([progress](bool sent) {
    const bool all = progress->sent() == progress->to_send();
    std::printf("%s: %s of %llu MiB have left\n", sent ? "sent" : "given up", all ? "all" : "not all",
                static_cast<unsigned long long>(progress->to_send() / kMiB));
  });
}
// end: handler

// begin: receives
/// Receives the attachment, and works on the beginning of it while the rest is on its way.
weft::Task<weft::Result<std::uint64_t>> count_zeros(weft::IncomingAttachment& data) {
  std::vector<std::byte> memory(data.size());
  std::uint64_t looked_at = 0;
  std::uint64_t zeros = 0;
  weft::TransferProgress progress;
  progress.on_change(
      [&](const weft::TransferProgress& now) {
        for (; looked_at < now.received(); ++looked_at) zeros += memory[looked_at] == std::byte{0} ? 1 : 0;
      },
      kMiB);
  weft::Result<void> whole = co_await data.into(memory, &progress);
  if (!whole.ok()) co_return whole.status();
  co_return zeros;
}
// end: receives

std::uint64_t take(weft::CallContext& context) {
  return context.attachment().size();
}

weft::Task<int> ask(weft::Client& client) {
  std::vector<std::byte> memory(8 * kMiB);
  // begin: client
  weft::TransferProgress progress;
  std::uint64_t last = 0;
  bool grows = true;
  progress.on_change(
      [&](const weft::TransferProgress& now) {
        grows = grows && now.sent() > last;  // a bar on the screen would be drawn here
        last = now.sent();
      },
      kMiB);  // not more often than every MiB
  weft::CallOptions options{.attachment = weft::Bytes{memory}};
  options.progress = &progress;
  options.attachment_rate = 400 * kMiB;
  auto taken = co_await client.call<take>(options);
  if (!taken.ok()) co_return 1;
  std::printf("%s, %llu of %llu MiB\n", grows ? "grew" : "did not grow",
              static_cast<unsigned long long>(progress.sent() / kMiB),
              static_cast<unsigned long long>(progress.to_send() / kMiB));
  // end: client

  options.progress = nullptr;
  auto zeros = co_await client.call<count_zeros>(options);
  if (!zeros.ok()) co_return 1;
  std::printf("%llu Mi zeros\n", static_cast<unsigned long long>(*zeros / kMiB));

  weft::CallOptions landing;
  landing.landing = memory;
  landing.progress = &progress;
  auto given = co_await client.call<give>(landing, memory.size());
  if (!given.ok()) co_return 1;
  std::printf("%llu of %llu MiB landed\n", static_cast<unsigned long long>(progress.received() / kMiB),
              static_cast<unsigned long long>(progress.to_receive() / kMiB));

  // begin: gives_up
  weft::CancelScope enough;
  progress.on_change(
      [&](const weft::TransferProgress& now) {
        if (now.received() >= memory.size() / 2) enough.cancel(weft::CancelReason::kRequested);
      },
      kMiB);
  auto half = co_await weft::with_scope(enough, client.call<give>(landing, memory.size()));
  // `memory` is written no more: it has the bytes that arrived, and the server does not send the rest.
  std::printf("%s, with %s here\n", half.ok() ? "it came whole" : "given up",
              progress.received() < memory.size() ? "a part" : "all");
  // end: gives_up
  co_return 0;
}

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<give>();
  server.register_handler<take>();
  server.register_handler<count_zeros>();
  server.start().value();

  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
