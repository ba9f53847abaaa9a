// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/encoder.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/codec/schema.hpp"

/// Strings, and everything that is a count of elements:
///
///     +-----------+------------------+----------+----------+--
///     | u32 count | 0..7 zero bytes  | element  | element  | ...
///     +-----------+------------------+----------+----------+--
///
/// The zeros bring elements of a fixed size to a multiple of their widest number (at most 8), counted from
/// the start of the message, so that a reader can look at them in place.
namespace weft::detail::codec_detail {

/// Says whether elements count as a level of nesting: those of a fixed size have nothing below them.
template <typename E>
inline constexpr bool kNests = facts<E>.fixed_size == kNotFixed;

template <typename E, typename C>
void size_elements(Sizer& size, const C& elements) {
  size.count(elements.size());
  size.align(wire_alignment<E>);
  if constexpr (Contiguous<const C> && is_plain_to_encode<E>) {
    size.add_run(elements.data(), elements.size() * sizeof(E));
  } else if constexpr (facts<E>.fixed_size != kNotFixed) {
    size.skip(elements.size() * facts<E>.fixed_size);
  } else if (!size.passes_over(elements.size()) && size.enter()) {
    for (const E& element : elements) size.add(element);
    size.leave();
  }
}

template <typename E, typename C, bool kChecked>
void encode_elements(BasicEncoder<kChecked>& to, const C& elements) {
  to.write_count(elements.size());
  to.align(wire_alignment<E>);
  if constexpr (Contiguous<const C> && is_plain_to_encode<E>) {
    to.write_run(elements.data(), elements.size() * sizeof(E));
  } else {
    for (const E& element : elements) Codec<E>::encode(to, element);
  }
}

template <typename E>
bool is_aligned_for(const std::byte* at) {
  return (reinterpret_cast<std::uintptr_t>(at) & (alignof(E) - 1)) == 0;
}

template <typename T>
struct Codec<T, Kind::kText> {
  static void encoded_size(Sizer& size, const T& text) {
    size.count(text.size());
    size.add_run(text.data(), text.size());
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& text) {
    to.write_count(text.size());
    to.write_run(text.data(), text.size());
  }
  static bool decode(Decoder& from, T& out) {
    std::uint32_t size;
    const std::byte* bytes;
    if (!from.read_number(size) || !from.take(size, bytes)) return false;
    const char* text = reinterpret_cast<const char*>(bytes);
    if constexpr (requires { out.assign(text, size); })
      out.assign(text, size);
    else
      out = T{text, size};
    return true;
  }
  static constexpr void append_schema(auto& to) { to.put("string"); }
};

/// A view is decoded in place where its bytes lie aligned in memory, and copied to the arena otherwise.
template <typename T>
struct Codec<T, Kind::kView> {
  using Element = typename T::value_type;

  static void encoded_size(Sizer& size, const T& view) { size_elements<Element>(size, view); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& view) {
    encode_elements<Element>(to, view);
  }
  static bool decode(Decoder& from, T& out) {
    std::uint32_t count;
    const std::byte* bytes;
    if (!from.read_count(count, sizeof(Element), wire_alignment<Element>)) return false;
    const std::size_t size = std::size_t{count} * sizeof(Element);
    if (!from.take(size, bytes)) return false;
    if (!is_aligned_for<Element>(bytes)) [[unlikely]]
      bytes = copy(from.arena(), bytes, size, from.remaining());
    out = T{reinterpret_cast<const Element*>(bytes), count};
    return true;
  }
  static constexpr void append_schema(auto& to) {
    to.put("[");
    to.template type<Element>();
    to.put("]");
  }

 private:
  [[gnu::noinline]] static const std::byte* copy(DecodeArena& arena, const std::byte* bytes, std::size_t size,
                                                 std::size_t remaining) {
    std::byte* memory = arena.allocate(size, alignof(Element), size + remaining);
    if (size != 0) std::memcpy(memory, bytes, size);
    return memory;
  }
};

template <typename T>
struct Codec<T, Kind::kSequence> {
  using Element = typename T::value_type;
  static constexpr bool kIsPlain = Contiguous<T> && is_plain_to_decode<Element>;
  static constexpr bool kIsNodes = !requires(T& c) { c[0]; };
  /// Memory that a deque takes before it has an element, and for each of its blocks.
  static constexpr bool kIsDeque = !Contiguous<T> && requires(T& c) { c[0], c.pop_front(); };
  static constexpr std::size_t kDequeBytes = 512;

  static void encoded_size(Sizer& size, const T& elements) { size_elements<Element>(size, elements); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& elements) {
    encode_elements<Element>(to, elements);
  }
  static bool decode(Decoder& from, T& out) {
    std::uint32_t count;
    if (!from.read_count(count, facts<Element>.size_min, wire_alignment<Element>)) return false;
    if constexpr (kIsPlain)
      return decode_plain(from, out, count);
    else
      return decode_each(from, out, count);
  }
  static constexpr void append_schema(auto& to) {
    to.put("[");
    to.template type<Element>();
    to.put("]");
  }

 private:
  static bool decode_plain(Decoder& from, T& out, std::uint32_t count) {
    const std::byte* bytes;
    const std::size_t size = std::size_t{count} * sizeof(Element);
    if (!from.take(size, bytes)) return false;
    if (is_aligned_for<Element>(bytes)) [[likely]] {
      const auto* first = reinterpret_cast<const Element*>(bytes);
      out.assign(first, first + count);
    } else {
      out.resize(count);
      if (size != 0) std::memcpy(out.data(), bytes, size);
    }
    return true;
  }
  /// True if existing elements are decoded into, so that they keep their memory. Hooks of the user get
  /// only fresh objects.
  static consteval bool decodes_into_elements() {
    return kNests<Element> && !finds_hook<Element, 0>() && requires(T& c) {
      c.pop_back();
      requires std::is_same_v<decltype(*c.begin()), Element&>;
    };
  }

  static bool decode_each(Decoder& from, T& out, std::uint32_t count) {
    constexpr std::size_t kBytes = sizeof(Element) + (kIsNodes ? CodecLimits::kNodeOverheadBytes : 0);
    constexpr bool kIntoElements = decodes_into_elements();
    if constexpr (!kIntoElements) out.clear();
    if constexpr (kIsDeque) {
      if (!from.charge(kDequeBytes)) return false;
    }
    if constexpr (kBytes > facts<Element>.size_min) {
      if (!from.charge(kBytes * count)) return false;
    }
    if constexpr (requires { out.reserve(count); }) out.reserve(from.reservation(count, sizeof(Element)));
    if (kNests<Element> && !from.enter()) return false;
    std::uint32_t i = 0;
    if constexpr (kIntoElements) {
      while (out.size() > count) out.pop_back();
      for (auto at = out.begin(); at != out.end(); ++at, ++i) {
        if (!from.read(*at)) return false;
      }
    }
    for (; i < count; ++i) {
      if constexpr (std::is_same_v<Element, bool>) {
        bool element;
        if (!from.read(element)) return false;
        out.push_back(element);
      } else {
        if (!from.read(out.emplace_back())) return false;
      }
    }
    return !kNests<Element> || from.leave();
  }
};

template <typename T>
struct Codec<T, Kind::kArray> {
  using Element = typename ArrayOf<T>::Element;
  static constexpr std::size_t kCount = ArrayOf<T>::kCount;

  static void encoded_size(Sizer& size, const T& elements) {
    for (const Element& element : elements) size.add(element);
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& elements) {
    if constexpr (is_plain_to_encode<T>)
      to.write_bytes(&elements, sizeof elements);
    else
      for (const Element& element : elements) Codec<Element>::encode(to, element);
  }
  static bool decode(Decoder& from, T& out) {
    if constexpr (is_plain_to_decode<T>) {
      const std::byte* bytes;
      if (!from.take(sizeof out, bytes)) return false;
      std::memcpy(&out, bytes, sizeof out);
    } else {
      for (Element& element : out) {
        if (!from.read(element)) return false;
      }
    }
    return true;
  }
  static constexpr void append_schema(auto& to) {
    to.put("[");
    to.template type<Element>();
    to.put("; ");
    to.put_number(kCount);
    to.put("]");
  }
};

}  // namespace weft::detail::codec_detail
