// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which sanitizer a test is compiled for: 1 or 0. g++ tells by macros of its own, clang by its features.
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef WEFT_ADDRESS_SANITIZER
#define WEFT_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_THREAD_SANITIZER 1
#endif
#endif
#ifndef WEFT_THREAD_SANITIZER
#define WEFT_THREAD_SANITIZER 0
#endif
