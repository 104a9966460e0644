# What `cmake --install` puts where: programs, public headers, and the libraries that a program of
# one's own links, with a CMake package and a pkg-config file for each.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(STRATA_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Strata)

# strata_links_of(TARGET INTERNAL EXTERNAL): all that TARGET links, directly or not: libraries of the
# project, TARGET first, and the imported ones of others.
function(strata_links_of target internal external)
  set(found "")
  set(others "")
  set(queue ${target})
  while(queue)
    list(POP_FRONT queue name)
    if(TARGET ${name})
      get_target_property(aliased ${name} ALIASED_TARGET)
      if(aliased)
        set(name ${aliased})
      endif()
    endif()
    if(name IN_LIST found OR name IN_LIST others OR name MATCHES "strata_flags")
      continue()
    endif()
    if(NOT name MATCHES "^strata_")
      list(APPEND others ${name})
      continue()
    endif()
    list(APPEND found ${name})
    get_target_property(links ${name} LINK_LIBRARIES)
    if(links)
      list(APPEND queue ${links})
    endif()
  endwhile()
  set(${internal} ${found} PARENT_SCOPE)
  set(${external} ${others} PARENT_SCOPE)
endfunction()

# The pkg-config module of each library of others; "" for those that are headers alone.
set(STRATA_MODULE_fmt::fmt fmt)
set(STRATA_MODULE_spdlog::spdlog spdlog)
set(STRATA_MODULE_gflags gflags)
set(STRATA_MODULE_prometheus-cpp::core prometheus-cpp-core)
set(STRATA_MODULE_protobuf::libprotobuf protobuf)
set(STRATA_MODULE_OpenSSL::SSL openssl)
set(STRATA_MODULE_OpenSSL::Crypto openssl)
set(STRATA_MODULE_PkgConfig::TOMLPP tomlplusplus)
set(STRATA_MODULE_PkgConfig::ZMQ libzmq)
set(STRATA_MODULE_PkgConfig::XXHASH libxxhash)
set(STRATA_MODULE_PkgConfig::ROCKSDB rocksdb)
set(STRATA_MODULE_PkgConfig::SODIUM libsodium)
set(STRATA_MODULE_PkgConfig::ZSTD libzstd)
set(STRATA_MODULE_ZLIB::ZLIB zlib)
set(STRATA_MODULE_CUDA::cudart_static "")  # below
set(STRATA_MODULE_CUDA::cublasLt "")
set(STRATA_MODULE_Boost::headers "")
set(STRATA_MODULE_nlohmann_json::nlohmann_json "")
set(STRATA_MODULE_DNNL::dnnl "")  # below
set(STRATA_MODULE_gomp "")

# strata_component(NAME TARGET "what it is for"): programs link Strata::NAME, or what
# `pkg-config strata-NAME` prints.
function(strata_component name target description)
  strata_links_of(${target} internal external)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY STRATA_COMPONENTS ${name})
  set_property(GLOBAL APPEND PROPERTY STRATA_INSTALLED ${internal})

  # Archives refer to each other, so a linker looks at all of them as often as it takes.
  set(archives "")
  foreach(library IN LISTS internal)
    string(APPEND archives " -l${library}")
  endforeach()
  set(modules "")
  set(libraries "-pthread")
  foreach(library IN LISTS external)
    if(DEFINED STRATA_MODULE_${library})
      list(APPEND modules ${STRATA_MODULE_${library}})
    elseif(NOT library STREQUAL "Threads::Threads")
      message(FATAL_ERROR "StrataInstall.cmake: which pkg-config module is ${library}, which "
        "${target} links? Add it to the list STRATA_MODULE_.")
    endif()
  endforeach()
  if("CUDA::cudart_static" IN_LIST external)
    string(APPEND libraries " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
  endif()
  if("CUDA::cublasLt" IN_LIST external)
    string(APPEND libraries " -L${CUDAToolkit_LIBRARY_DIR} -lcublasLt")
  endif()
  if("DNNL::dnnl" IN_LIST external)
    string(APPEND libraries " -ldnnl -lgomp")
  endif()
  list(REMOVE_DUPLICATES modules)
  # An installation may be moved, and --prefix is known no earlier than it is made.
  file(RELATIVE_PATH prefix_from_here /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  list(JOIN modules " " modules)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/strata-${name}.pc @ONLY CONTENT
[[prefix=${pcfiledir}/@prefix_from_here@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: Strata @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @modules@
Libs: -L${libdir} -Wl,--start-group@archives@ -Wl,--end-group @libraries@
Cflags: -I${includedir} -std=c++20
]])
  install(FILES ${PROJECT_BINARY_DIR}/strata-${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

strata_component(client strata_client "Tables and collections of a cluster of servers")
strata_component(group strata_join "Collectives among the workers of a cluster")
strata_component(trees strata_gbdt "Boosted trees, trained from rows in memory")
strata_component(clicks strata_ctr "Models of click probability, trained from rows in memory")
strata_component(server strata_embedded_server "A parameter server inside a program")

if(STRATA_HAVE_CUDA)
  strata_component(gpu strata_gpu "Tables in a GPU's memory, and kernels over them")
else()
  set(without_gpu PATTERN gpu EXCLUDE)
endif()

get_property(installed GLOBAL PROPERTY STRATA_INSTALLED)
get_property(components GLOBAL PROPERTY STRATA_COMPONENTS)
list(REMOVE_DUPLICATES installed)
install(TARGETS ${installed} EXPORT StrataTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS strata-server strata-worker strata-admin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/strata DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  ${without_gpu})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT StrataTargets NAMESPACE Strata:: DESTINATION ${STRATA_PACKAGE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/StrataConfig.cmake.in
  ${PROJECT_BINARY_DIR}/StrataConfig.cmake INSTALL_DESTINATION ${STRATA_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrataConfig.cmake ${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
  DESTINATION ${STRATA_PACKAGE_DIR})
