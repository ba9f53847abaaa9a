// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/calls/device_carrier.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/wire/heads.hpp"

/// Memory and bytes on their way in the model of items with attachments, and what is wrong with them.
namespace weft::items_model {

using namespace weft::detail;
using calls_testing::DeviceCarrier;

inline constexpr std::size_t kPiece = std::size_t{64} * 1024;
inline constexpr std::byte kGuard{0xEE};
inline constexpr std::byte kScribble{0xDD};
inline constexpr std::size_t kGuardBytes = 64;

/// Collects what is wrong; the first is told.
struct Complaints {
  void add(std::string_view text) {
    if (first.empty()) first = text;
  }
  std::string first;
};

/// All of `bytes` are `value`; asked so often that it is to be fast.
inline bool are_all(Bytes bytes, std::byte value) {
  return bytes.empty() ||
         (bytes.front() == value && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

/// Memory for attachments, which many runs use one after the other: new memory would take most of the time.
class Blocks {
 public:
  using Block = std::vector<std::byte>;

  Block take(std::size_t size) {
    std::vector<Block>& free = free_[size];
    if (free.empty()) return Block(size);
    Block block = std::move(free.back());
    free.pop_back();
    return block;
  }
  void give_back(Block block) { free_[block.size()].push_back(std::move(block)); }

 private:
  std::map<std::size_t, std::vector<Block>> free_;
};

/// Memory that the test gave away, and that comes back.
struct Lent {
  Lent(Complaints& its_complaints, Blocks& its_blocks, std::size_t its_size)
      : complaints(its_complaints),
        blocks(its_blocks),
        size(its_size),
        memory(blocks.take(kGuardBytes + its_size + kGuardBytes)) {
    const MutableBytes all{memory};
    std::ranges::fill(all.first(kGuardBytes), kGuard);
    std::ranges::fill(all.last(kGuardBytes), kGuard);
  }
  ~Lent() { blocks.give_back(std::move(memory)); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  MutableBytes bytes() { return MutableBytes{memory}.subspan(kGuardBytes, size); }
  Buffer buffer() {
    return Buffer::adopt(bytes(), this, [](void* its) noexcept { static_cast<Lent*>(its)->come_back(); });
  }
  void come_back() noexcept {
    if (returned++ != 0) complaints.add("memory was given back twice");
    if (carrier_is_there != nullptr && *carrier_is_there && operation->uses(bytes())) {
      complaints.add("memory was given back while a device has it");
    }
    std::ranges::fill(bytes(), kScribble);
  }
  /// Nothing was written outside of it, nor after it had come back.
  void check() {
    const Bytes all{memory};
    for (const Bytes guard : {all.first(kGuardBytes), all.last(kGuardBytes)}) {
      if (!are_all(guard, kGuard)) complaints.add("something was written outside of an attachment");
    }
    if (returned != 0 && !are_all(bytes(), kScribble)) {
      complaints.add("something was written to memory that was given back");
    }
  }

  Complaints& complaints;
  Blocks& blocks;
  const std::size_t size;
  Blocks::Block memory;
  /// The device that may use it.
  const bool* carrier_is_there = nullptr;
  const DeviceCarrier::Operation* operation = nullptr;
  int returned = 0;
};

/// Bytes on their way from one end to the other, and what their order has to be.
class Way {
 public:
  explicit Way(Complaints& complaints) : complaints_(complaints) {}

  void append(std::string_view bytes) {
    bytes_ += bytes;
    for (; looked_at_ + wire::kHeaderBytes <= bytes_.size();) {
      const wire::FrameHeader header = header_at(looked_at_);
      look(header);
      looked_at_ += wire::head_bytes(header.body_bytes, false) + wire::padded(header.following_bytes());
    }
  }
  /// The next frame without its attachment, or half a piece of that, as far as it was sent.
  std::string take(wire::FrameHeader* header) {
    std::size_t size = std::min({kPiece / 2, attachment_left_, bytes_.size()});
    if (attachment_left_ == 0 && !bytes_.empty()) {
      *header = header_at(0);
      size = wire::head_bytes(header->body_bytes, false);
      attachment_left_ = wire::padded(header->following_bytes());
    } else {
      attachment_left_ -= size;
    }
    std::string unit = bytes_.substr(0, size);
    bytes_.erase(0, size);
    looked_at_ -= size;
    return unit;
  }
  bool empty() const { return bytes_.empty(); }
  void clear() {
    bytes_.clear();
    looked_at_ = attachment_left_ = 0;
  }
  /// All that is on its way.
  void describe(std::string& text) const {
    text += std::to_string(attachment_left_) + ':';
    for (std::size_t at = attachment_left_; at < bytes_.size();) {
      const wire::FrameHeader header = header_at(at);
      for (const std::uint64_t number :
           {std::uint64_t{static_cast<unsigned>(header.type)}, std::uint64_t{header.flags},
            std::uint64_t{header.typed64}, std::uint64_t{header.attachment_bytes}}) {
        text += std::to_string(number) + ' ';
      }
      at += wire::head_bytes(header.body_bytes, false) + wire::padded(header.following_bytes());
    }
    text += std::to_string(bytes_.size()) + '|';
  }

 private:
  wire::FrameHeader header_at(std::size_t at) const {
    return wire::load_header(reinterpret_cast<const std::byte*>(bytes_.data() + at));
  }
  void look(const wire::FrameHeader& header) {
    const bool is_of_item = header.type == wire::FrameType::kItem || header.type == wire::FrameType::kPiece;
    if (is_of_item && header.id != current_) {  // a stream that the peer has ended says no last word
      over_ = std::exchange(current_, header.id);
      awaited_ = 0;
    }
    switch (header.type) {
      case wire::FrameType::kItem:
        if (header.id == over_) complaints_.add("an item was sent behind the end of its stream");
        if (awaited_ != 0) complaints_.add("an item, or the end of the items, passed an attachment");
        awaited_ = announced_ = header.attachment_bytes;
        break;
      case wire::FrameType::kPiece:
        if (header.id == over_) complaints_.add("a piece was sent behind the end of its stream");
        if (header.attachment_bytes > awaited_ || wire::PieceView{header}.offset() != announced_ - awaited_) {
          complaints_.add("a piece is misplaced");
        }
        awaited_ -= std::min(awaited_, header.attachment_bytes);
        break;
      case wire::FrameType::kAnswer:
      case wire::FrameType::kCancel:
        over_ = header.id;
        awaited_ = 0;
        break;
      case wire::FrameType::kCredit:
        if (header.id == credited_ && header.typed64 <= granted_) {
          complaints_.add("a credit that grants nothing was sent");
        }
        credited_ = header.id;
        granted_ = header.typed64;
        break;
      default:
        break;
    }
  }

  Complaints& complaints_;
  std::string bytes_;
  /// Position in bytes_; may be behind their end, inside an attachment.
  std::size_t looked_at_ = 0;
  std::size_t attachment_left_ = 0;
  std::uint64_t announced_ = 0;
  std::uint64_t awaited_ = 0;
  std::uint64_t current_ = UINT64_MAX;
  std::uint64_t over_ = UINT64_MAX;
  std::uint64_t credited_ = UINT64_MAX;
  std::uint64_t granted_ = 0;
};

}  // namespace weft::items_model
