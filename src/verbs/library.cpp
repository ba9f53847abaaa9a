// SPDX-License-Identifier: Apache-2.0
#include "verbs/library.hpp"

#include "weft/detail/base/shared_object.hpp"

namespace weft::verbs::detail {

constinit Library library;

namespace {

using weft::detail::SharedObject;

constinit SharedObject libibverbs{"libibverbs.so.1", "libibverbs1"};

// dlsym() finds the default version of each symbol, which is the one that the header declares.
bool find_verbs(void* handle) {
#define WEFT_VERBS_FIND(name) SharedObject::find(handle, #name, library.name)&&
  return WEFT_VERBS_FUNCTIONS(WEFT_VERBS_FIND) true;
#undef WEFT_VERBS_FIND
}

}  // namespace

Status load_library() {
  return libibverbs.load(find_verbs).with_context("RDMA needs libibverbs");
}

}  // namespace weft::verbs::detail
