// SPDX-License-Identifier: Apache-2.0
#include "weft/codec/schema.hpp"

namespace weft {

void SchemaWriter::append_text(std::string_view words) {
  text_->append(words);
}

bool SchemaWriter::too_deep() {
  put("...");
  return false;
}

}  // namespace weft
