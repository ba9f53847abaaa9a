// SPDX-License-Identifier: Apache-2.0
#include "transport/carrier_candidates.hpp"

#include <algorithm>

namespace weft::detail {

namespace {

// An offer begins with this byte; what follows is the provider's.
constexpr char kOptional = 0;
constexpr char kRequired = 1;

Status unusable(const PassedOverCarrier& passed) {
  return {passed.code, Layer::kTransport, [&] {
            return "the carrier '" + std::string{to_string(passed.kind)} +
                   "' is required and not to be had: " + passed.reason +
                   " (a tcp:// URL does without, unless its policy is kRequire)";
          }};
}

Status demanded_by_peer(const PassedOverCarrier& passed) {
  return {passed.code, Layer::kTransport, [&] {
            return "the peer requires the carrier '" + std::string{to_string(passed.kind)} +
                   "', and it is not to be had: " + passed.reason;
          }};
}

// Advice for the user of the peer.
std::string way_to_offer(wire::CarrierKind kind) {
  if (kind == wire::CarrierKind::kSharedMemory) return "if its SharedMemoryOptions said so";
  return "with a " + std::string{to_string(kind)} +
         ":// URL, or over tls:// if TransportOptions::beside_tls names it";
}

}  // namespace

Status refuse_demands(const std::vector<wire::CarrierOffer>& theirs) {
  for (const wire::CarrierOffer& offer : theirs) {
    if (policy_of(offer) != CarrierPolicy::kRequire) continue;
    const std::string_view name = to_string(offer.kind);
    std::string why = "the peer requires the carrier '";
    why.append(name).append("', and this side does not offer it (connect to a ").append(name);
    why += ":// URL or prefer it with tcp://, or let the other side prefer it: CarrierPolicy)";
    return {StatusCode::kFailedPrecondition, Layer::kTransport, std::move(why)};
  }
  return {};
}

CarrierPolicy policy_of(const wire::CarrierOffer& offer) noexcept {
  if (offer.parameters.empty()) return CarrierPolicy::kForbid;
  if (offer.parameters[0] == kRequired) return CarrierPolicy::kRequire;
  return offer.parameters[0] == kOptional ? CarrierPolicy::kPrefer : CarrierPolicy::kForbid;
}

// A side that requires one offers no other, which might be chosen, and whose failure ends on the base
// carrier.
bool CarrierCandidates::is_offered(const CarrierChoices::Choice& choice) const {
  const auto required = [](const CarrierChoices::Choice& each) {
    return each.policy == CarrierPolicy::kRequire;
  };
  if (required(choice)) return true;
  return choice.policy == CarrierPolicy::kPrefer &&
         std::none_of(ours_->choices.begin(), ours_->choices.end(), required);
}

std::vector<wire::CarrierOffer> CarrierCandidates::offers() const {
  std::vector<wire::CarrierOffer> offers;
  for (const CarrierChoices::Choice& choice : ours_->choices) {
    if (!is_offered(choice)) continue;
    const char flag = choice.policy == CarrierPolicy::kRequire ? kRequired : kOptional;
    offers.push_back({choice.provider->kind(), flag + choice.provider->offer()});
  }
  return offers;
}

std::size_t CarrierCandidates::descriptors_max() const {
  std::size_t most = 0;
  for (const CarrierChoices::Choice& choice : ours_->choices) {
    if (is_offered(choice)) most = std::max(most, choice.provider->descriptors_max());
  }
  return most;
}

void CarrierCandidates::compare(std::vector<wire::CarrierOffer> theirs) {
  theirs_ = std::move(theirs);
  for (const CarrierChoices::Choice& choice : ours_->choices) {
    if (!is_offered(choice)) continue;
    const wire::CarrierKind kind = choice.provider->kind();
    const auto offer = std::find_if(theirs_.begin(), theirs_.end(), [kind](const wire::CarrierOffer& each) {
      return each.kind == kind && policy_of(each) != CarrierPolicy::kForbid;
    });
    if (offer != theirs_.end()) {
      both_.push_back({choice.provider.get(), offer->parameters.substr(1)});
    } else {
      passed_over_.push_back({kind, "the peer does not offer it, as it would " + way_to_offer(kind)});
    }
  }
  not_offered_ = passed_over_.size();
  std::sort(both_.begin(), both_.end(), [](const Candidate& left, const Candidate& right) {
    return left.provider->kind() > right.provider->kind();
  });
}

bool CarrierCandidates::next() {
  return ++at_ < both_.size();
}

void CarrierCandidates::pass_over(std::string reason, StatusCode code) {
  passed_over_.push_back({provider().kind(), std::move(reason), code});
}

std::string CarrierCandidates::reasons() const {
  if (passed_over_.size() == not_offered_ + 1) return passed_over_.back().reason;
  std::string text;
  for (std::size_t i = not_offered_; i < passed_over_.size(); ++i) {
    if (!text.empty()) text += "; ";
    text.append(to_string(passed_over_[i].kind)).append(": ").append(passed_over_[i].reason);
  }
  return text;
}

const PassedOverCarrier* CarrierCandidates::find_passed_over(wire::CarrierKind kind) const {
  const auto its = [kind](const PassedOverCarrier& each) { return each.kind == kind; };
  const auto found = std::find_if(passed_over_.begin(), passed_over_.end(), its);
  return found == passed_over_.end() ? nullptr : &*found;
}

Status CarrierCandidates::check_base_will_do() const {
  for (const CarrierChoices::Choice& choice : ours_->choices) {
    if (choice.policy != CarrierPolicy::kRequire) continue;
    const wire::CarrierKind kind = choice.provider->kind();
    if (const auto* passed = find_passed_over(kind)) return unusable(*passed);
  }
  // The peer ends the connection, and has no word left to say why.
  for (const wire::CarrierOffer& offer : theirs_) {
    if (policy_of(offer) != CarrierPolicy::kRequire) continue;
    if (const auto* passed = find_passed_over(offer.kind)) return demanded_by_peer(*passed);
  }
  return refuse_demands(theirs_);
}

}  // namespace weft::detail
