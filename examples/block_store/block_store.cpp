// SPDX-License-Identifier: Apache-2.0
// A store of blocks whose memory is its own: a block that is written lands in its place, without a copy, and
// one for which there is no place is refused before a byte of it is sent.
#include <cstdio>
#include <map>
#include <vector>
#include <weft/weft.hpp>

constexpr std::size_t kBlockBytes = 1 << 20;

// begin: store
/// Four places for blocks, in memory that is registered once. All of it belongs to one loop.
class Store {
 public:
  weft::Result<void> register_with(const weft::Server& server) {
    auto lease = server.register_memory(memory_);
    if (!lease.ok()) return lease.status();
    lease_ = *std::move(lease);
    return {};
  }

  /// Runs before the block is here: looks at the number and the size, and chooses the place.
  weft::Task<weft::Result<void>> write(weft::IncomingAttachment& data, std::uint64_t number) {
    if (data.size() != kBlockBytes) co_return weft::user_error(1, "a block has 1 MiB");
    if (free_.empty()) {
      co_return weft::user_error(2, "the store is full", weft::StatusCode::kResourceExhausted);
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    weft::Result<void> whole = co_await data.into(memory_of(place));
    if (!whole.ok()) {  // the caller gave up, or is gone: nothing writes there any more
      free_.push_back(place);
      co_return whole.status();
    }
    if (const auto before = places_.find(number); before != places_.end()) free_.push_back(before->second);
    places_[number] = place;
    co_return weft::Result<void>{};
  }

  /// Sends the block from where it lies.
  weft::Result<void> read(weft::CallContext& context, std::uint64_t number) {
    const auto found = places_.find(number);
    if (found == places_.end()) return weft::user_error(3, "no such block", weft::StatusCode::kNotFound);
    context.set_attachment(weft::Buffer::adopt(memory_of(found->second), nullptr, [](void*) noexcept {}));
    return {};
  }

 private:
  weft::MutableBytes memory_of(std::size_t place) {
    return weft::MutableBytes{memory_}.subspan(place * kBlockBytes, kBlockBytes);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(4 * kBlockBytes);
  std::map<std::uint64_t, std::size_t> places_;
  std::vector<std::size_t> free_{3, 2, 1, 0};
  weft::MemoryLease lease_;  // ends before the memory
};
// end: store

weft::Task<int> write_and_read(weft::Client& client) {
  // begin: client
  for (std::uint64_t number = 0; number < 5; ++number) {
    const std::vector<std::byte> block(kBlockBytes, static_cast<std::byte>('a' + number));
    const weft::CallOptions options{.attachment = weft::Bytes{block}};
    auto written = co_await client.call<&Store::write>(options, number);
    if (!written.ok()) {
      std::printf("block %d was not written: %s\n", static_cast<int>(number),
                  written.status().to_string().c_str());
    }
  }
  std::vector<std::byte> landing(kBlockBytes);
  const weft::CallOptions options{.landing = landing};
  auto found = co_await client.call<&Store::read>(options, std::uint64_t{2});
  if (!found.ok()) co_return 1;
  std::printf("block 2 is full of '%c'\n", static_cast<char>(landing[kBlockBytes - 1]));
  // end: client
  co_return 0;
}

int main() {
  Store store;  // outlives the server
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  if (auto registered = store.register_with(server); !registered.ok()) return 1;
  server.register_handler<&Store::write, &Store::read>(&store);
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(write_and_read(client));
}
