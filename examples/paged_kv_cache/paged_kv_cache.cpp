// SPDX-License-Identifier: Apache-2.0
// A paged KV cache moves from the node that filled it to the node that goes on with it: pages that lie here
// and there on both sides travel in one call, each from its place to its place.
#include <cstdio>
#include <optional>
#include <vector>
#include <weft/weft.hpp>

constexpr std::size_t kPageBytes = 64 * 1024;

// begin: cache
/// Pages of a node. Each page in use belongs to one sequence. Thread: one loop's.
class Cache {
 public:
  explicit Cache(std::size_t pages) : memory_(pages * kPageBytes) {
    for (std::size_t page = pages; page > 0; --page) free_.push_back(page - 1);
  }
  weft::MutableBytes page(std::size_t number) {
    return weft::MutableBytes{memory_}.subspan(number * kPageBytes, kPageBytes);
  }
  std::optional<std::vector<std::size_t>> take(std::size_t count) {
    if (count > free_.size()) return std::nullopt;
    std::vector<std::size_t> pages(free_.end() - static_cast<std::ptrdiff_t>(count), free_.end());
    free_.resize(free_.size() - count);
    return pages;
  }
  void give_back(const std::vector<std::size_t>& pages) {
    free_.insert(free_.end(), pages.begin(), pages.end());
  }
  std::size_t free_pages() const { return free_.size(); }

 private:
  std::vector<std::byte> memory_;
  std::vector<std::size_t> free_;
};
// end: cache

// begin: receive
/// The node that takes sequences over.
class Decoder {
 public:
  /// Takes as many pages as the sequence has, and receives each into its place; says which they are.
  weft::Task<weft::Result<std::vector<std::size_t>>> take_over(weft::IncomingAttachment& data,
                                                               std::uint64_t sequence) {
    if (data.size() == 0 || data.size() % kPageBytes != 0) {
      co_return weft::user_error(2, "a sequence has one page or more, and each is sent whole",
                                 weft::StatusCode::kInvalidArgument);
    }
    auto pages = cache_.take(data.size() / kPageBytes);
    if (!pages) {
      co_return weft::user_error(1, "no pages are free; try another node",
                                 weft::StatusCode::kResourceExhausted);
    }
    std::vector<weft::MutableBytes> places;
    for (const std::size_t page : *pages) places.push_back(cache_.page(page));
    weft::Result<void> whole = co_await data.into(places);
    if (!whole.ok()) {  // nothing writes to the pages any more
      cache_.give_back(*pages);
      co_return whole.status();
    }
    std::printf("sequence %d goes on here: its last page begins with '%c'\n", static_cast<int>(sequence),
                static_cast<char>(cache_.page(pages->back())[0]));
    co_return *std::move(pages);
  }

 private:
  Cache cache_{8};
};
// end: receive

weft::Task<int> hand_over(weft::Client& decoder) {
  // begin: send
  Cache cache{16};
  const std::vector<std::size_t> spread{3, 14, 1, 7, 11};  // where this node has the sequence
  std::vector<weft::Bytes> pages;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    cache.page(spread[i])[0] = static_cast<std::byte>('a' + i);
    pages.emplace_back(cache.page(spread[i]));
  }
  for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
    const weft::CallOptions options{.attachment = std::span<const weft::Bytes>{pages}};
    auto taken = co_await decoder.call<&Decoder::take_over>(options, sequence);
    if (taken.ok()) {
      std::printf("it has %zu pages there\n", taken->size());
    } else {
      std::printf("sequence %d stays: %s\n", static_cast<int>(sequence), taken.status().to_string().c_str());
    }
  }
  // end: send
  co_return 0;
}

int main() {
  Decoder decoder;  // outlives the server
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<&Decoder::take_over>(&decoder);
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(hand_over(client));
}
