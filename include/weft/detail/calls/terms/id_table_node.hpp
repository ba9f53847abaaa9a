// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

/// Place of an object in a table of the peer's ids (IdTable); the table's.
template <typename T>
struct IdTableNode {
  T* next_in_bucket = nullptr;
};

}  // namespace weft::detail
