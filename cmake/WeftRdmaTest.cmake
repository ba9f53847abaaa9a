# SPDX-License-Identifier: Apache-2.0
# Tests that need a real RDMA stack: on a device of this machine, or else in an emulated one (tests/rdma_vm).
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(WEFT_RDMA_VM ${Python3_EXECUTABLE} -B ${weft_SOURCE_DIR}/tests/rdma_vm)
execute_process(COMMAND ${WEFT_RDMA_VM} --check RESULT_VARIABLE missing ERROR_VARIABLE why OUTPUT_QUIET
                ERROR_STRIP_TRAILING_WHITESPACE)
set(WEFT_RDMA_TESTS ON)
if(WEFT_SANITIZE)
  # Under emulation a sanitizer's programs take minutes. What they look for is looked for on simulated devices.
  set(WEFT_RDMA_TESTS OFF)
elseif(missing)
  set(WEFT_RDMA_TESTS OFF)
  message(STATUS "the tests on a real RDMA stack are left out (./dev setup rdma): ${why}")
endif()

# One machine at a time: two of them on two processors would only slow each other. They make the longest chain, so
# they come first, and what waits runs beside them.
set(WEFT_RDMA_TEST_PROPERTIES LABELS rdma TIMEOUT 600 PROCESSORS 2 RESOURCE_LOCK rdma_vm COST 1000)

# weft_rdma_test(<name> SOURCES <file>... LIBS <target>... [NETWORK one-device|wire] [CPUS <n>]
#                [STARTS <target> DEFINED_AS <macro>] [OPTIMIZED])
# Makes a GoogleTest program. As booting a machine takes longer than most tests, the whole program is one ctest test,
# which also fails when no test of it ran. What GTEST_FILTER says reaches the program. A program that the tests start
# is named by STARTS; its path is defined as the macro.
function(weft_rdma_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "OPTIMIZED" "NETWORK;CPUS;STARTS;DEFINED_AS" "SOURCES;LIBS")
  # A program that nobody runs costs minutes to compile under a sanitizer. Elsewhere it is built although no machine
  # can run it, so that a mistake in it is found.
  if(WEFT_SANITIZE)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${weft_SOURCE_DIR}/src ${weft_SOURCE_DIR}/tests)
  # The headers that are compiled once for all tests refer to the base layer.
  target_link_libraries(${name} PRIVATE weft_build_flags ${ARG_LIBS} weft_base GTest::gmock_main)
  if(ARG_OPTIMIZED)
    weft_quicker(${name} OPTIMIZED)
  else()
    weft_quicker(${name})
  endif()
  if(ARG_STARTS)
    target_compile_definitions(${name} PRIVATE ${ARG_DEFINED_AS}="$<TARGET_FILE:${ARG_STARTS}>")
    add_dependencies(${name} ${ARG_STARTS})
  endif()
  if(NOT WEFT_RDMA_TESTS)
    return()
  endif()
  set(options --host-if-device --timeout 570)
  if(ARG_NETWORK)
    list(APPEND options --network ${ARG_NETWORK})
  endif()
  if(ARG_CPUS)
    list(APPEND options --cpus ${ARG_CPUS})
  endif()
  add_test(NAME ${name} COMMAND ${WEFT_RDMA_VM} ${options} -- $<TARGET_FILE:${name}>)
  # GoogleTest says this when there are no tests, and also when all of them were skipped.
  set_tests_properties(${name} PROPERTIES ${WEFT_RDMA_TEST_PROPERTIES}
                       FAIL_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests")
endfunction()
