// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "info/carrier_facts.hpp"
#include "info/words.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::info {

/// The reason that something is not there.
Json failure_json(const Status& status);

/// Options by their names: numbers where they are some.
Json words_json(const std::vector<Word>& words);

}  // namespace weft::info
