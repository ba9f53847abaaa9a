// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: a_temporary_ends_before_the_call_name_it
#include <utility>
#include <vector>

#include "weft/server.hpp"

weft::Task<weft::Result<void>> take(weft::IncomingAttachment& data, weft::MutableBytes place) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const std::vector<weft::MutableBytes> places{place};
  auto whole = data.into(places);
#else
  auto whole = data.into(std::vector<weft::MutableBytes>{place});
#endif
  co_return co_await std::move(whole);
}
