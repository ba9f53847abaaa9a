// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/answer_wishes.hpp"

#include <utility>

#include "weft/detail/calls/terms/transfer_progress.hpp"
#include "weft/detail/runtime/escaped.hpp"

namespace weft::detail {

void AnswerWishes::end(bool sent) {
  if (progress != nullptr) progress->tell();
  if (!on_sent) return;
  try {
    std::exchange(on_sent, {})(sent);
  } catch (...) {  // this may run where a connection cannot end
    callback_threw("CallContext::on_answer_sent()");
  }
}

}  // namespace weft::detail
