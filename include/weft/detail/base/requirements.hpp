// SPDX-License-Identifier: Apache-2.0
// The options of the compiler that Weft needs. Each header of include/weft includes this before anything
// else, and names an option in one line. The include behind an #error names no file, so that the compiler
// stops there.
#pragma once

#if !defined(__cpp_impl_coroutine) || __cplusplus < 202002L
#error \
    "Weft needs C++20: compile with -std=c++20, in CMake target_compile_features(program PRIVATE cxx_std_20)"
#define WEFT_STOPS_HERE <weft/needs/cxx20>
#elif !defined(__cpp_exceptions)
#error "Weft needs exceptions: compile without -fno-exceptions"
#define WEFT_STOPS_HERE <weft/needs/exceptions>
#elif !defined(__cpp_rtti)
#error "Weft needs the types of objects at run time: compile without -fno-rtti"
#define WEFT_STOPS_HERE <weft/needs/rtti>
#endif
#ifdef WEFT_STOPS_HERE
#include WEFT_STOPS_HERE
#endif

namespace weft::detail {

// Containers of the standard library have another layout with _GLIBCXX_DEBUG. A program that was compiled
// otherwise than the library does not link, and the linker names one of these.
extern const char compiled_with_GLIBCXX_DEBUG_as_the_weft_library_was_not;
extern const char compiled_without_GLIBCXX_DEBUG_as_the_weft_library_was_not;
#ifdef _GLIBCXX_DEBUG
[[gnu::used]] inline const char* const debug_containers =
    &compiled_with_GLIBCXX_DEBUG_as_the_weft_library_was_not;
#else
[[gnu::used]] inline const char* const plain_containers =
    &compiled_without_GLIBCXX_DEBUG_as_the_weft_library_was_not;
#endif

}  // namespace weft::detail
