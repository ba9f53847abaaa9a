// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/quorum.hpp"

#include <string>

namespace weft::detail {

Status quorum_too_large(std::size_t wanted, std::size_t servers) {
  Status failure{StatusCode::kFailedPrecondition, Layer::kRpc, [&] {
                   return std::to_string(wanted) + " good answers were wanted, and there are " +
                          std::to_string(servers) + " servers to ask";
                 }};
  failure.mark_unprocessed();
  return failure;
}

Status quorum_of_none() {
  Status failure{StatusCode::kInvalidArgument, Layer::kRpc,
                 "call_quorum() was to wait for no answer at all: it wants one or more"};
  failure.mark_unprocessed();
  return failure;
}

Status shared_by_answers(std::string_view option) {
  Status failure{StatusCode::kInvalidArgument, Layer::kRpc, [&] {
                   return "FleetCallOptions::call." + std::string{option} +
                          " is set, but call_all() and call_quorum() ask several servers at once, and their "
                          "answers come without attachments: leave it out, or call each server by a Client "
                          "of its own";
                 }};
  failure.mark_unprocessed();
  return failure;
}

Status quorum_not_reached(std::size_t good, std::size_t bad, std::size_t servers, std::size_t wanted,
                          const Status& first) {
  return {StatusCode::kUnavailable, Layer::kRpc, [&] {
            std::string words;
            const std::string of_all = " of " + std::to_string(servers) + " servers ";
            if (good + bad < servers) {
              words = std::to_string(wanted) + " good answers cannot come any more: " + std::to_string(bad) +
                      of_all + "failed, " + std::to_string(good) + " had answered: ";
            } else {
              words =
                  std::to_string(good) + of_all + "answered, " + std::to_string(wanted) + " were wanted: ";
            }
            return words + std::string{first.message()};
          }};
}

}  // namespace weft::detail
