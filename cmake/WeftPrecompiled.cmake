# SPDX-License-Identifier: Apache-2.0
# What nearly every program of tests and examples includes, compiled once for all of them. The compiler's cache does not know
# objects that were made with such headers in another folder, so only a build that happens once has them.
if(NOT WEFT_PRECOMPILED_HEADERS)
  return()
endif()

set(headers <algorithm> <array> <atomic> <chrono> <condition_variable> <coroutine> <cstdint> <cstring> <deque> <filesystem>
            <functional> <latch> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread>
            <unordered_map> <utility> <variant> <vector> ${weft_SOURCE_DIR}/include/weft/weft.hpp)
set(libraries weft_build_flags weft::weft)
if(WEFT_BUILD_TESTS)
  find_package(GTest REQUIRED)
  list(PREPEND headers <gmock/gmock.h> <gtest/gtest.h>)
  list(APPEND libraries GTest::gmock)
endif()

# Headers belong to a target that compiles something.
file(CONFIGURE OUTPUT ${weft_BINARY_DIR}/precompiled.cpp CONTENT "")
# They serve only who is compiled as they are: as the build says, or without optimisation.
foreach(owner weft_precompiled weft_precompiled_unoptimized)
  add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${weft_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${owner} PRIVATE ${libraries})
  target_precompile_headers(${owner} PRIVATE ${headers})
endforeach()
target_compile_options(weft_precompiled_unoptimized PRIVATE -O0)
