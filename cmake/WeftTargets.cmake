# SPDX-License-Identifier: Apache-2.0
# The two shapes of target: a layer (one folder of src/ and of include/weft/) and a test program.

include(GNUInstallDirs)

# What every target of the project compiles with.
add_library(weft_build_flags INTERFACE)
target_compile_features(weft_build_flags INTERFACE cxx_std_20)
target_compile_options(weft_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast)
# The libraries are position independent, so that they can go into shared ones, but nothing replaces their functions:
# without this g++ inlines none of them within a file.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weft_build_flags INTERFACE -fno-semantic-interposition)
endif()
# In joined sources a name of one source is shadowed by another's, and g++ takes an anonymous namespace for one of a
# header. The builds that join nothing look for both.
add_library(weft_joined_flags INTERFACE)
target_compile_options(weft_joined_flags INTERFACE -Wno-shadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weft_joined_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_UNITY_BUILD)
  target_link_libraries(weft_build_flags INTERFACE weft_joined_flags)
endif()
if(WEFT_WERROR)
  target_compile_options(weft_build_flags INTERFACE -Werror)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_build_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  target_link_options(weft_build_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  # Clang's check of an object's type needs a descriptor, and tests take them all away.
  if(WEFT_SANITIZE MATCHES "undefined")
    target_compile_options(weft_build_flags INTERFACE -fno-sanitize=vptr)
  endif()
endif()
if(WEFT_BUILD_FUZZERS)
  target_compile_options(weft_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# weft_layer(<name> SOURCES <file>... [DEPS <layer>...] [PRIVATE_LIBS <library>...])
# Makes the static library weft_<name>, known as weft::<name>, from src/<name>.
# A library of the system is given by its plain name (uring), so that packages carry no target of ours for it.
function(weft_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS;PRIVATE_LIBS")
  if(ARG_SOURCES)
    add_library(weft_${name} STATIC ${ARG_SOURCES})
    set(public PUBLIC)
    set_target_properties(weft_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(weft_${name} PRIVATE ${weft_SOURCE_DIR}/src)
    target_link_libraries(weft_${name} PRIVATE $<BUILD_INTERFACE:weft_build_flags> ${ARG_PRIVATE_LIBS})
    if(WEFT_JOIN_SOURCES)
      weft_join(weft_${name} 8)
    endif()
  else()
    # A layer of templates only.
    add_library(weft_${name} INTERFACE)
    set(public INTERFACE)
  endif()
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(weft_${name} ${public} $<BUILD_INTERFACE:${weft_SOURCE_DIR}/include>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(weft_${name} ${public} cxx_std_20)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(weft_${name} ${public} weft_${dep})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WEFT_LAYER_TARGETS weft_${name})
endfunction()

# weft_binding(<name> [LOADED] MODULE <pkg-config module>[>=<version>] PACKAGE <Debian package> SOURCES <file>... DEPS <layer>...)
# A layer that wraps a library of the system, where that library is; without it Weft is built as it is, and says so.
# Public: its headers are a binding of exactly this library, and its calls are inlined into their users. The library is linked,
# unless the binding loads it itself: then a program that calls it directly links it.
function(weft_binding name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "LOADED" "MODULE;PACKAGE" "SOURCES;DEPS")
  string(TOUPPER ${name} NAME)
  option(WEFT_WITH_${NAME} "Build weft::${name} when its library is there" ON)
  if(NOT WEFT_WITH_${NAME})
    return()
  endif()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(WEFT_${NAME} QUIET ${ARG_MODULE})
  endif()
  if(NOT WEFT_${NAME}_FOUND)
    message(STATUS "${ARG_MODULE} is not here: weft::${name} is not built (on Debian, install ${ARG_PACKAGE})")
    return()
  endif()
  weft_layer(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS})
  if(ARG_LOADED)
    target_link_libraries(weft_${name} PUBLIC ${CMAKE_DL_LIBS})
    # For programs of this tree that call the library themselves.
    add_library(weft_${name}_calls INTERFACE)
    target_link_libraries(weft_${name}_calls INTERFACE ${WEFT_${NAME}_LIBRARIES})
    target_link_directories(weft_${name}_calls INTERFACE ${WEFT_${NAME}_LIBRARY_DIRS})
  else()
    target_link_libraries(weft_${name} PUBLIC ${WEFT_${NAME}_LIBRARIES})
    if(WEFT_${NAME}_LIBRARY_DIRS)
      target_link_directories(weft_${name} PUBLIC ${WEFT_${NAME}_LIBRARY_DIRS})
    endif()
  endif()
  if(WEFT_${NAME}_INCLUDE_DIRS)
    target_include_directories(weft_${name} SYSTEM PUBLIC ${WEFT_${NAME}_INCLUDE_DIRS})
  endif()
endfunction()

# Compiles the sources of `target`, a layer's or a program's, `at_once` at a time: most of the work is in the headers, which they
# share. A build with CMAKE_UNITY_BUILD joins all of its sources, as many as it says.
function(weft_join target at_once)
  if(CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${at_once})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weft_joined_flags>)
endfunction()

# Compiles the sources of `target` joined, and without optimisation: what a test program itself does takes no time, and
# compiling it takes half as long. OPTIMIZED is compiled as the libraries are, though not under a sanitizer, whose build counts
# nothing; what COMPUTES is compiled as they are in each build. The libraries that `target` links stay as they are.
function(weft_quicker target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "OPTIMIZED;COMPUTES" "" "")
  if(NOT WEFT_QUICK_TESTS)
    return()
  endif()
  weft_join(${target} ${WEFT_PROGRAM_SOURCES_AT_ONCE})
  set(precompiled weft_precompiled)
  if(NOT ARG_COMPUTES AND (WEFT_SANITIZE OR NOT ARG_OPTIMIZED))
    target_compile_options(${target} PRIVATE -O0)
    set(precompiled weft_precompiled_unoptimized)
  endif()
  if(TARGET ${precompiled})
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
    # The headers were compiled with it, and g++ wants the same.
    target_compile_definitions(${target} PRIVATE GTEST_HAS_PTHREAD=1)
  endif()
endfunction()

# weft_test(<name> SOURCES <file>... LIBS <target>... [LABELS <label>...] [SINGLE_THREADED] [COUNTS|OPTIMIZED|COMPUTES])
# Makes a GoogleTest program; every TEST in it becomes a ctest test, and under a sanitizer every eight of a suite. The thread
# sanitizer finds nothing in a program of one thread, nor in one whose threads share what those of a neighbour share, so its
# build leaves out what is SINGLE_THREADED. What COUNTS, allocations or calls of the system, is OPTIMIZED, and no sanitizer's build
# has it: there it would count the sanitizer's. OPTIMIZED alone tests code of headers that the optimizer could break; what COMPUTES
# runs for longer than its optimisation takes.
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SINGLE_THREADED;COUNTS;OPTIMIZED;COMPUTES" "" "SOURCES;LIBS;LABELS")
  if(ARG_SINGLE_THREADED AND WEFT_SANITIZE STREQUAL "thread" OR ARG_COUNTS AND WEFT_SANITIZE)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${weft_SOURCE_DIR}/src ${weft_SOURCE_DIR}/tests)
  # The headers that are compiled once for all tests refer to the base layer.
  target_link_libraries(${name} PRIVATE weft_build_flags ${ARG_LIBS} weft_base GTest::gmock_main)
  set(compiled)
  if(ARG_COMPUTES)
    set(compiled COMPUTES)
  elseif(ARG_OPTIMIZED OR ARG_COUNTS)
    set(compiled OPTIMIZED)
  endif()
  weft_quicker(${name} ${compiled})
  if(WEFT_SANITIZE)
    weft_group_tests(${name} "${ARG_LABELS}")
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${name}/"
                       PROPERTIES TIMEOUT 120 LABELS "${ARG_LABELS}")
endfunction()

# Beginning and ending a process takes a sanitizer longer than most tests do, so several tests of a suite share one.
function(weft_group_tests name labels)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${name}_groups.cmake)
  file(GENERATE OUTPUT ${script} CONTENT "set(name ${name})
set(program [=[$<TARGET_FILE:${name}>]=])
set(labels [=[${labels}]=])
set(at_once 8)
include([=[${weft_SOURCE_DIR}/cmake/WeftTestGroups.cmake]=])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
