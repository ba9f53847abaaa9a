// SPDX-License-Identifier: Apache-2.0
#include "verbs/cm_library.hpp"

#include "weft/detail/base/shared_object.hpp"

namespace weft::verbs::detail {

constinit CmLibrary cm_library;

namespace {

using weft::detail::SharedObject;

constinit SharedObject librdmacm{"librdmacm.so.1", "librdmacm1"};

bool find_rdmacm(void* handle) {
#define WEFT_RDMACM_FIND(name) SharedObject::find(handle, #name, cm_library.name)&&
  return WEFT_RDMACM_FUNCTIONS(WEFT_RDMACM_FIND) true;
#undef WEFT_RDMACM_FIND
}

}  // namespace

Status load_cm_library() {
  return librdmacm.load(find_rdmacm).with_context("connecting by rdma_cm needs librdmacm");
}

}  // namespace weft::verbs::detail
