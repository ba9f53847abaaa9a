# SPDX-License-Identifier: Apache-2.0
# What a build may choose. As a subproject only the library is built and nothing is installed.

option(WEFT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_TOOLS "Build the weft command-line tool" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_BENCH "Build the micro benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_FUZZERS "Build the fuzzers with libFuzzer, and no other test (clang only)" OFF)
option(WEFT_STATIC_CHECKS "Run the tests that look at the source and not at its behaviour, label static" ON)
option(WEFT_INSTALL "Make the install target" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")
set(WEFT_FUZZ_SECONDS 10 CACHE STRING "How long ctest lets each fuzzer run")

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(WEFT_CCACHE ccache)
  if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${WEFT_CCACHE}")
  endif()
endif()
