// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/transport/carrier_provider.hpp"

namespace weft::detail {

/// The carriers that both sides of a connection offer, in the order in which both try them, and the results
/// of the attempts. Both sides derive the same order from the offers alone: the highest number of
/// wire::CarrierKind is first. They go on to the next candidate only by both verdicts.
class CarrierCandidates {
 public:
  explicit CarrierCandidates(std::shared_ptr<const CarrierChoices> ours) : ours_(std::move(ours)) {}

  const CarrierChoices& ours() const { return *ours_; }
  std::vector<wire::CarrierOffer> offers() const;
  /// Returns the largest number of descriptors that an offered carrier passes.
  std::size_t descriptors_max() const;
  /// Takes the offers of the peer's hello; called once, before everything else. next() leads to the first
  /// candidate.
  void compare(std::vector<wire::CarrierOffer> theirs);
  /// Goes to the next candidate; false when there is none.
  bool next();
  /// Returns how many are still to be tried, the current one among them.
  std::size_t left() const { return both_.size() - at_; }
  /// There is a current one: next() has led to it.
  bool any() const { return at_ < both_.size(); }
  /// The current one's provider, and what the peer said in its offer.
  const CarrierProvider& provider() const { return *both_[at_].provider; }
  const std::string& peer_offer() const { return both_[at_].peer_offer; }
  /// The current one cannot be had; `code` as in PassedOverCarrier.
  void pass_over(std::string reason, StatusCode code);

  const std::vector<PassedOverCarrier>& passed_over() const { return passed_over_; }
  /// Returns the reasons of the failed candidates; empty if none failed.
  std::string reasons() const;
  /// Looks whether the base carrier may carry the bytes, when nothing else can. Errors, when one side
  /// requires another carrier: the code and the reason with which that was passed over.
  Status check_base_will_do() const;

 private:
  struct Candidate {
    const CarrierProvider* provider;
    std::string peer_offer;
  };

  bool is_offered(const CarrierChoices::Choice& choice) const;
  const PassedOverCarrier* find_passed_over(wire::CarrierKind kind) const;

  const std::shared_ptr<const CarrierChoices> ours_;
  std::vector<wire::CarrierOffer> theirs_;
  std::vector<Candidate> both_;
  /// The current one of `both_`; all ones before the first next().
  std::size_t at_ = static_cast<std::size_t>(-1);
  /// Begins with the carriers that the peer does not offer.
  std::vector<PassedOverCarrier> passed_over_;
  std::size_t not_offered_ = 0;
};

}  // namespace weft::detail
