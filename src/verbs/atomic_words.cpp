// SPDX-License-Identifier: Apache-2.0
#include "verbs/atomic_words.hpp"

#include <array>
#include <new>
#include <optional>

namespace weft::verbs::detail {

namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr std::size_t kSlabWords = 64;

}  // namespace

struct AtomicWords::Word final : MemoryBlock {
  Word(AtomicWords& owner, std::byte* bytes, ibv_mr* registration) noexcept
      : MemoryBlock(&AtomicWords::give_back, registration), words(owner), at(bytes) {}

  AtomicWords& words;
  std::byte* const at;
  Word* next_free = nullptr;
};

struct AtomicWords::Slab {
  explicit Slab(MemoryRegion of) noexcept : region(std::move(of)) {}

  MemoryRegion region;
  std::array<std::optional<Word>, kSlabWords> words;
};

AtomicWords::AtomicWords(std::shared_ptr<ProtectionDomain> domain) noexcept : domain_(std::move(domain)) {}

AtomicWords::~AtomicWords() = default;

bool AtomicWords::grow() noexcept {
  auto region = MemoryRegion::allocate(domain_, kSlabWords * kWordBytes);
  if (!region.ok()) return false;
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(std::make_unique<Slab>(*std::move(region)));
  } catch (const std::bad_alloc&) {
    return false;
  }
  Slab& slab = *slabs_.back();
  for (std::size_t i = 0; i < kSlabWords; ++i) {
    Word& word = slab.words[i].emplace(*this, slab.region.data() + i * kWordBytes,
                                       slab.region.memory().block()->registration());
    word.next_free = free_;
    free_ = &word;
  }
  return true;
}

Memory AtomicWords::take() noexcept {
  if (free_ == nullptr && !grow()) return {};
  Word& word = *free_;
  free_ = word.next_free;
  ++out_;
  return Memory{word, {word.at, kWordBytes}};
}

void AtomicWords::give_back(MemoryBlock& block) noexcept {
  auto& word = static_cast<Word&>(block);
  AtomicWords& self = word.words;
  word.next_free = self.free_;
  self.free_ = &word;
  if (--self.out_ == 0 && self.closed_) delete &self;
}

void AtomicWords::close() noexcept {
  closed_ = true;
  if (out_ == 0) delete this;
}

}  // namespace weft::verbs::detail
