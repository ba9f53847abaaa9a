# SPDX-License-Identifier: Apache-2.0
# weft_generate(<target> PROTOS <file>... [IMPORT_DIR <folder>] [FLEETS])
# Makes the static library <target> of .proto files: protoc's messages, and for each service a server class and a stub
# (`#include "x.pb.h"` and `#include "x.weft.hpp"`). Links weft::protobuf. Imports are looked up in IMPORT_DIR, by
# default the current source folder, and the names of the headers begin there. With FLEETS each service has a stub over
# fleets too, and weft::fleet_protobuf is linked.
function(weft_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "FLEETS" "IMPORT_DIR" "PROTOS")
  if(NOT ARG_PROTOS OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_generate(<target> PROTOS <file>... [IMPORT_DIR <folder>] [FLEETS])")
  endif()
  foreach(proto IN LISTS ARG_PROTOS)
    cmake_path(ABSOLUTE_PATH proto NORMALIZE OUTPUT_VARIABLE file)
    get_source_file_property(is_made ${file} GENERATED)
    if(NOT EXISTS ${file} AND NOT is_made)
      message(FATAL_ERROR "weft_generate: there is no file ${proto}; is it a word of its own?")
    endif()
  endforeach()
  find_program(WEFT_PROTOC protoc REQUIRED)
  set(root ${CMAKE_CURRENT_SOURCE_DIR})
  if(ARG_IMPORT_DIR)
    cmake_path(ABSOLUTE_PATH ARG_IMPORT_DIR NORMALIZE OUTPUT_VARIABLE root)
  endif()
  # Protoc's code is not held to its user's warnings, ours is.
  set(messages ${CMAKE_CURRENT_BINARY_DIR}/${target}_generated/messages)
  set(services ${CMAKE_CURRENT_BINARY_DIR}/${target}_generated/services)
  file(MAKE_DIRECTORY ${messages} ${services})
  set(parameter)
  set(library weft::protobuf)
  if(ARG_FLEETS)
    set(parameter fleets:)
    set(library weft::fleet_protobuf)
  endif()
  # Any of them may import any other.
  set(files ${ARG_PROTOS})
  list(TRANSFORM files PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  set(sources)
  foreach(proto IN LISTS ARG_PROTOS)
    cmake_path(ABSOLUTE_PATH proto NORMALIZE OUTPUT_VARIABLE file)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${root} OUTPUT_VARIABLE name)
    if(name MATCHES "^\\.\\.")
      message(FATAL_ERROR "weft_generate: ${proto} is not below ${root}; say IMPORT_DIR")
    endif()
    string(REGEX REPLACE "\\.proto$" "" base ${name})
    set(made ${messages}/${base}.pb.cc ${messages}/${base}.pb.h ${services}/${base}.weft.cpp
             ${services}/${base}.weft.hpp)
    add_custom_command(
      OUTPUT ${made}
      COMMAND ${WEFT_PROTOC} --proto_path=${root} --cpp_out=${messages} --weft_out=${parameter}${services}
              --plugin=protoc-gen-weft=$<TARGET_FILE:weft::protoc-gen-weft> ${name}
      DEPENDS ${files} weft::protoc-gen-weft
      COMMENT "protoc ${name}"
      VERBATIM)
    set_source_files_properties(${messages}/${base}.pb.cc PROPERTIES COMPILE_OPTIONS -w)
    list(APPEND sources ${made})
  endforeach()
  add_library(${target} STATIC ${sources})
  add_custom_target(${target}_code DEPENDS ${sources})
  add_dependencies(${target} ${target}_code)
  if(TARGET weft_generated_code)
    add_dependencies(weft_generated_code ${target}_code)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${messages}>)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${services}>)
  target_link_libraries(${target} PUBLIC ${library})
endfunction()
