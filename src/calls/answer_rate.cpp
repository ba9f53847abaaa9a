// SPDX-License-Identifier: Apache-2.0
#include "calls/answer_rate.hpp"

#include "calls/calls_in.hpp"
#include "weft/detail/calls/pace.hpp"

namespace weft::detail {

// A call that runs takes it to its answer, and one whose attachment is still arriving to its record. One that
// was answered may have a record still, so its attachment is looked for in any case.
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
