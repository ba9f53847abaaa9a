// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/functions/errand_body.hpp"

namespace weft::detail {

/// Arguments of a call that are encoded before it is made, by another thread than makes it, and which all
/// attempts of the call write.
class EncodedArguments {
 public:
  /// Encodes `arguments` for `M`; on failure `failure` holds the reason. Never throws, even if the arguments
  /// throw.
  template <auto M, typename... Given>
  static EncodedArguments of(Status& failure, Given&&... arguments) noexcept {
    const auto make = [](std::size_t bytes) { return std::make_unique<Room>(bytes); };
    const std::unique_ptr<Room> room = make_encoded<M>(make, failure, std::forward<Given>(arguments)...);
    EncodedArguments encoded;
    if (room != nullptr) encoded.body_ = std::move(room->bytes_of_body);
    return encoded;
  }

  std::size_t bytes() const noexcept { return body_.size(); }
  void write(std::byte* to) const noexcept {
    if (!body_.empty()) std::memcpy(to, body_.data(), body_.size());
  }

 private:
  /// The record that make_encoded() encodes into.
  struct Room {
    explicit Room(std::size_t bytes) : bytes_of_body(bytes) {}
    Room& bytes() noexcept { return *this; }
    MutableBytes body() noexcept { return bytes_of_body; }
    std::vector<std::byte> bytes_of_body;
  };

  std::vector<std::byte> body_;
};

}  // namespace weft::detail
