// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/answer_wishes.hpp"

#include <utility>

#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::detail {

void AnswerWishes::end(bool sent) {
  if (progress != nullptr) progress->tell();
  if (on_sent) std::exchange(on_sent, {})(sent);
}

}  // namespace weft::detail
