// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/caller_check.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/token_text.hpp"

namespace weft::detail {

namespace {

/// More of a name is not needed to know whose it is.
constexpr std::size_t kNameInText = 200;

constexpr FixedFailure kUnidentified{
    StatusCode::kUnauthenticated, Layer::kRpc, Retry::kNever,
    "it is not known who calls: send a token, or connect by tls:// with a certificate that may do "
    "this"};
constexpr FixedFailure kNoToken{
    StatusCode::kUnauthenticated, Layer::kRpc, Retry::kNever,
    "the call's metadata has an \"authorization\" that is not \"Bearer \" and a token"};

constexpr FixedFailure kTwoTokens{StatusCode::kUnauthenticated, Layer::kRpc, Retry::kNever,
                                  "the call's metadata has more than one \"authorization\""};

// Of two tokens one server might check the first, and another the last.
bool has_second(MetadataView metadata, std::string_view key) {
  return std::ranges::count(metadata, key, [](const MetadataView::Pair& pair) { return pair.first; }) > 1;
}

// The same text for an existing and for an unknown method.
Refusal no_right(const Identity& caller) {
  if (caller.is_anonymous()) return {RefusalReason::kUnidentified, Status::of<kUnidentified>()};
  return {RefusalReason::kNotAllowed,
          {StatusCode::kPermissionDenied, Layer::kRpc,
           [&] {
             return "there is no such method, or " + std::string{caller.name().substr(0, kNameInText)} +
                    " may not call it";
           },
           0, Retry::kNever}};
}

}  // namespace

void Grants::begin(const Identity& who) noexcept {
  who_ = who;
  std::ranges::fill(marks_, Mark::kUnknown);
}

bool Grants::has(Authorizer& authorizer, const MethodEntry* method, std::size_t methods, TimePoint now) {
  // Read the version before the answer: if it changes in between, the answer is requested again.
  const std::uint64_t version = authorizer.version(now);
  if (marks_.empty() || version != version_) {
    marks_.assign(methods + 1, Mark::kUnknown);
    version_ = version;
  }
  Mark& mark = marks_[method != nullptr ? method->index : 0];
  if (mark == Mark::kUnknown) {
    const bool may =
        method != nullptr ? authorizer.may_call(who_, method->key.name) : authorizer.may_know_methods(who_);
    mark = may ? Mark::kYes : Mark::kNo;
  }
  return mark == Mark::kYes;
}

CallerCheck::Known* CallerCheck::known(std::string_view value, TimePoint now) noexcept {
  for (Known& each : known_) {
    if (each.value.empty() || !each.value.is(value)) continue;
    if (now < each.until && each.version == authenticator_->version(now)) return &each;
    each.value = Secret{};
  }
  return nullptr;
}

Result<Grants*> CallerCheck::grants_of(MetadataView metadata, TimePoint now) {
  const auto value = authenticator_ != nullptr ? metadata.find(kAuthorizationKey) : std::nullopt;
  if (!value) return &of_peer_;
  if (has_second(metadata, kAuthorizationKey)) return Status::of<kTwoTokens>();
  if (Known* const found = known(*value, now)) return &found->grants;
  const std::string_view token = bearer_token_of(*value);
  if (token.empty()) return Status::of<kNoToken>();
  const std::uint64_t version = authenticator_->version(now);
  const Result<Authenticated> answer = authenticator_->authenticate({token, peer_, now});
  if (!answer.ok()) return answer.status();
  const TimePoint until = Deadline::after(now, answer->good_for).at();
  if (until <= now) {
    if (!of_call_.who().is(answer->identity)) of_call_.begin(answer->identity);
    return &of_call_;
  }
  Known& place = known_[std::exchange(next_, (next_ + 1) % known_.size())];
  place.value = Secret{*value};
  place.until = until;
  place.version = version;
  place.grants.begin(answer->identity);
  return &place.grants;
}

std::optional<Refusal> CallerCheck::refuse(const MethodEntry* method, MetadataView metadata, TimePoint now) {
  const Result<Grants*> grants = grants_of(metadata, now);
  if (!grants.ok()) return Refusal{RefusalReason::kBadCredentials, grants.status()};
  caller_ = (*grants)->who();
  if (authorizer_ == nullptr || (*grants)->has(*authorizer_, method, methods_, now)) return std::nullopt;
  return no_right(caller_);
}

std::optional<Refusal> CallerCheck::refuse_page(std::string_view name, MetadataView metadata, TimePoint now) {
  const Result<Grants*> grants = grants_of(metadata, now);
  if (!grants.ok()) return Refusal{RefusalReason::kBadCredentials, grants.status()};
  caller_ = (*grants)->who();
  if (authorizer_ == nullptr || authorizer_->may_call(caller_, name)) return std::nullopt;
  return no_right(caller_);
}

}  // namespace weft::detail
