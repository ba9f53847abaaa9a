// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "calls/terms/refusals.hpp"
#include "weft/detail/base/secret.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/gate/authenticator.hpp"
#include "weft/detail/calls/gate/authorizer.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

struct MethodEntry;

/// Answers of an Authorizer for one caller, kept until its version changes. Thread: one.
class Grants {
 public:
  const Identity& who() const noexcept { return who_; }
  /// Forgets all answers; later answers are for `who`.
  void begin(const Identity& who) noexcept;
  /// Returns true if the caller may call `method`, one of `methods`; null: whether it may learn that there is
  /// no such method. May throw std::bad_alloc on the first call.
  bool has(Authorizer& authorizer, const MethodEntry* method, std::size_t methods, TimePoint now);

 private:
  enum class Mark : std::uint8_t { kUnknown, kYes, kNo };

  Identity who_;
  std::uint64_t version_ = 0;
  /// Marks by the methods' indices; the first is that of methods that there are not. Empty until it is asked.
  std::vector<Mark> marks_;
};

/// Identifies the callers of one connection, and checks their rights. The token of one call has no effect on
/// a call without the same token. Thread: the connection's loop.
class CallerCheck {
 public:
  /// `authenticator` or `authorizer` may be null, not both; all outlive it. The server has `methods` methods.
  CallerCheck(Authenticator* authenticator, Authorizer* authorizer, const Identity& peer, std::size_t methods)
      : authenticator_(authenticator), authorizer_(authorizer), peer_(peer), methods_(methods) {
    of_peer_.begin(peer);
  }

  /// Returns a refusal for a call of `method`; none if it may go on, with its caller in caller(). Null: there
  /// is no such method. Throws std::bad_alloc.
  std::optional<Refusal> refuse(const MethodEntry* method, MetadataView metadata, TimePoint now);
  /// The same for something that is no method; the authorizer is asked for `name` each time.
  std::optional<Refusal> refuse_page(std::string_view name, MetadataView metadata, TimePoint now);
  /// Returns that of the last call.
  const Identity& caller() const noexcept { return caller_; }

 private:
  /// A token that was found good. What the call brought is compared as a whole.
  struct Known {
    Secret value;
    TimePoint until{};
    std::uint64_t version = 0;
    Grants grants;
  };

  Known* known(std::string_view value, TimePoint now) noexcept;
  /// Returns the grants of the call's caller, or the refusal of its token.
  Result<Grants*> grants_of(MetadataView metadata, TimePoint now);

  Authenticator* const authenticator_;
  Authorizer* const authorizer_;
  const Identity peer_;
  const std::size_t methods_;
  Identity caller_;
  Grants of_peer_;
  /// Grants of a token whose answer is not kept.
  Grants of_call_;
  std::array<Known, 4> known_;
  std::size_t next_ = 0;
};

}  // namespace weft::detail
