// SPDX-License-Identifier: Apache-2.0
// A store of blocks whose memory is its own: a block that is written lands in its place, without a copy, and
// one for which there is no place is refused before a byte of it is sent. Blocks that are read leave in one
// answer, from where they lie.
#include <cstdio>
#include <map>
#include <memory>
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
    const auto place = std::make_shared<Place>(*this);
    weft::Result<void> whole = co_await data.into(place->memory());
    if (!whole.ok()) co_return whole.status();  // nothing writes there any more: it is free again
    blocks_[number] = place;
    co_return weft::Result<void>{};
  }

  /// Sends the blocks, in this order, from where they lie.
  weft::Result<void> read(weft::CallContext& context, const std::vector<std::uint64_t>& numbers) {
    std::vector<weft::Bytes> runs;
    std::vector<std::shared_ptr<Place>> places;
    for (const std::uint64_t number : numbers) {
      const auto found = blocks_.find(number);
      if (found == blocks_.end()) return weft::user_error(3, "no such block", weft::StatusCode::kNotFound);
      runs.emplace_back(found->second->memory());
      places.push_back(found->second);
    }
    context.set_attachment({runs, std::move(places)});  // the places are held until all has left
    return {};
  }

 private:
  /// Memory of one block. It is free when neither the store nor an unsent answer holds a reference.
  class Place {
   public:
    explicit Place(Store& store) : store_(store), number_(store.free_.back()) { store.free_.pop_back(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { store_.free_.push_back(number_); }
    weft::MutableBytes memory() const {
      return weft::MutableBytes{store_.memory_}.subspan(number_ * kBlockBytes, kBlockBytes);
    }

   private:
    Store& store_;
    std::size_t number_;
  };

  std::vector<std::byte> memory_ = std::vector<std::byte>(4 * kBlockBytes);
  weft::MemoryLease lease_;  // ends before the memory
  std::vector<std::size_t> free_{3, 2, 1, 0};
  std::map<std::uint64_t, std::shared_ptr<Place>> blocks_;
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
  std::vector<std::byte> landing(3 * kBlockBytes);
  const weft::CallOptions options{.landing = landing};
  const std::vector<std::uint64_t> numbers{3, 0, 2};
  auto found = co_await client.call<&Store::read>(options, numbers);
  if (!found.ok()) co_return 1;
  std::printf("blocks 3, 0 and 2 end with '%c', '%c' and '%c'\n", static_cast<char>(landing[kBlockBytes - 1]),
              static_cast<char>(landing[2 * kBlockBytes - 1]),
              static_cast<char>(landing[3 * kBlockBytes - 1]));
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
