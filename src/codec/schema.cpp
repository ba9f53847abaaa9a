// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/codec/schema.hpp"

namespace weft::detail {

void SchemaWriter::append_text(std::string_view words) {
  text_->append(words);
}

bool SchemaWriter::too_deep() {
  put("...");
  return false;
}

}  // namespace weft::detail
