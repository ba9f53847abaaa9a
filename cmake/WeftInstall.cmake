# SPDX-License-Identifier: Apache-2.0
# The CMake package (find_package(weft COMPONENTS functions)), the pkg-config file and the headers.
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY WEFT_LAYER_TARGETS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS ${layers} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET weft-cli)
  install(TARGETS weft-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# A layer that is not built leaves its headers out.
set(headers_left_out)
foreach(layer ucx verbs protobuf)
  if(NOT TARGET weft_${layer})
    list(APPEND headers_left_out PATTERN "weft/detail/${layer}" EXCLUDE)
    list(APPEND headers_left_out PATTERN "weft/detail/fleet/${layer}" EXCLUDE)
    list(APPEND headers_left_out PATTERN "weft/${layer}.hpp" EXCLUDE)
    list(APPEND headers_left_out PATTERN "weft/${layer}_*.hpp" EXCLUDE)
  endif()
endforeach()
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" ${headers_left_out})
if(TARGET weft_protobuf)
  install(TARGETS protoc-gen-weft EXPORT weftTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES cmake/WeftGenerate.cmake DESTINATION ${package_dir})
endif()
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/weftConfig.cmake.in weftConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 each minor version may change the interface.
write_basic_package_version_file(weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake
        DESTINATION ${package_dir})

# A linker reads static libraries from left to right, so the highest layer comes first.
set(archives)
foreach(layer IN LISTS layers)
  get_target_property(kind ${layer} TYPE)
  if(NOT kind STREQUAL INTERFACE_LIBRARY)
    list(PREPEND archives ${layer})
  endif()
endforeach()
list(TRANSFORM archives PREPEND "-l")
list(JOIN archives " " WEFT_PC_LIBS)
# What else the archives need: what a layer links that is neither a target nor a generator expression.
set(system_libs)
foreach(layer IN LISTS layers)
  get_target_property(libraries ${layer} LINK_LIBRARIES)
  if(NOT libraries)  # a layer of templates links nothing itself
    continue()
  endif()
  foreach(library IN LISTS libraries)
    if(NOT TARGET ${library} AND NOT library MATCHES "[<>$:]")
      cmake_path(GET library STEM name)
      string(REGEX REPLACE "^(lib|-l)" "" name "${name}")
      list(APPEND system_libs ${name})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES system_libs)
# A static link needs what these libraries need themselves, which their own pkg-config files know. Those of names are left out: Debian
# has no archives of all that libcurl needs, and a program that resolves no names by etcd takes nothing out of libcurl.a.
set(static_modules)
foreach(name uring ibverbs rdmacm ssl crypto)
  if(name IN_LIST system_libs)
    list(APPEND static_modules lib${name})
  endif()
endforeach()
list(JOIN static_modules ", " WEFT_PC_STATIC_MODULES)
list(TRANSFORM system_libs PREPEND "-l")
list(JOIN system_libs " " WEFT_PC_SYSTEM_LIBS)
file(RELATIVE_PATH WEFT_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
