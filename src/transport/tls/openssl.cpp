// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/openssl.hpp"

#include "weft/detail/base/shared_object.hpp"

// The version of the headers: OPENSSL_SHLIB_VERSION is the library's, and part of its file's name.
#define WEFT_TEXT_OF(number) #number
#define WEFT_LIBSSL_OF(number) "libssl.so." WEFT_TEXT_OF(number)

namespace weft::detail::tls {

#define WEFT_OPENSSL_POINTER(name) constinit decltype(&::name) name = nullptr;
WEFT_OPENSSL_FUNCTIONS(WEFT_OPENSSL_POINTER)
#undef WEFT_OPENSSL_POINTER

namespace {

constinit SharedObject libssl{WEFT_LIBSSL_OF(OPENSSL_SHLIB_VERSION), "libssl3"};

// dlsym() looks into libcrypto as well, which libssl needs.
bool find_openssl(void* handle) {
#define WEFT_OPENSSL_FIND(name) SharedObject::find(handle, #name, name)&&
  return WEFT_OPENSSL_FUNCTIONS(WEFT_OPENSSL_FIND) true;
#undef WEFT_OPENSSL_FIND
}

}  // namespace

Status load_openssl() {
  return libssl.load(find_openssl).with_context("TLS needs OpenSSL");
}

}  // namespace weft::detail::tls
