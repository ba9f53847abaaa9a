// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/answer_rate.hpp"

#include "calls/serve/calls_in.hpp"
#include "weft/detail/calls/terms/pace.hpp"

namespace weft::detail {

// A running call takes the rate to its answer, and a call with an arriving attachment to its record. An
// answered call may still have a record, so its attachment is searched for in any case.
void keep_answer_to_rate(CallsIn& calls, std::uint64_t id, std::uint64_t rate) {
  if (rate == 0 || rate > Pace::kRateMax) return;
  ArrivingCalls* const arriving = calls.arriving_calls();
  if (ServedCall* const call = calls.find(id)) {
    if (CallEnvelope* const envelope = call->envelope_if_any()) {
      envelope->answer_rate = least_rate(envelope->answer_rate, rate);
    }
  } else if (ArrivingAttachment* const attachment = arriving != nullptr ? arriving->find(id) : nullptr) {
    attachment->want_answer_rate(rate);
  }
  AnswerSink& answers = calls.answers();
  answers.slow_down(id, rate);
}

}  // namespace weft::detail
