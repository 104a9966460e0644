# How every target of the project is built: language level, warnings, sanitizers, precompiled
# headers, files compiled together, and the functions that declare libraries, programs and tests.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # no -DNDEBUG: our checks stay on in production
set(STRATA_LOOP_OPTIMIZATION -O3)     # of files whose loops vectorise from there on
set(STRATA_TEST_FLAGS -Og)            # of what is in the test programs themselves: compiled sooner
if(STRATA_CUDA STREQUAL "emulated")
  set(STRATA_TEST_FLAGS -O1)  # some have kernels of their own
endif()
if(STRATA_SANITIZE AND NOT STRATA_FUZZ)
  # With the sanitizers' checks in the code, GCC's higher levels take two to three times as long.
  set(CMAKE_CXX_FLAGS_RELEASE "-Og")
  set(STRATA_LOOP_OPTIMIZATION -Og)  # with headers precompiled at -Og, GCC 12 crashes at -O3
  set(STRATA_TEST_FLAGS -O0)
  # UndefinedBehaviorSanitizer looks at the libraries. In the test programs' own code its checks would
  # be a third of the time that they take to compile, and half of their size.
  list(APPEND STRATA_TEST_FLAGS -fno-sanitize=undefined)
endif()

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(STRATA_PCH OFF)
  set(STRATA_UNITY OFF)
endif()

find_program(STRATA_CCACHE ccache)
if(STRATA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # By paths from the build folder: what two of them compile alike is compiled once.
  set(launch ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR})
  if(STRATA_PCH)  # ccache's manual: without these it takes no file that uses a precompiled header
    list(APPEND launch CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launch} ${STRATA_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${STRATA_CCACHE})
endif()

# Ten times as fast as GNU ld, which takes seconds for each test program with sanitizers.
find_program(STRATA_MOLD mold)
if(STRATA_MOLD)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
endif()

add_library(strata_flags INTERFACE)
# Contraction is off on both sides (design: CPU and GPU agree to the bit).
target_compile_options(strata_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>  # false alarms on std::string: GCC bug 105651
  # GCC's -Wsign-conversion and -Wshadow are milder; it does not read base/thread/mutex.h's annotations.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion -Wno-shadow -Wthread-safety>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off -fmad=false
    --expt-relaxed-constexpr -diag-suppress=2810 -DFMT_USE_CONSTEXPR=1>)
# nvcc takes `status = F();` for an unused [[nodiscard]] Status: warning 2810. fmt 9 leaves constexpr
# out for nvcc, whose today's form does it well.
target_include_directories(strata_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
if(STRATA_FAILPOINTS)
  target_compile_definitions(strata_flags INTERFACE STRATA_FAILPOINTS)  # base/failpoint.h
endif()
if(STRATA_SANITIZE)
  target_compile_options(strata_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${STRATA_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer -g1>)
  target_link_options(strata_flags INTERFACE -fsanitize=${STRATA_SANITIZE})
  # The instrumentation makes GCC see uninitialised members in std::variant, and the new and delete of
  # Asio's coroutine frames as no pair (only one of the two inlined); plain builds check both.
  target_compile_options(strata_flags INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized -Wno-mismatched-new-delete>)
  if(STRATA_SANITIZE STREQUAL "thread")
    # Asio has fences, which TSan does not model; what needs them there holds a mutex as well.
    target_compile_options(strata_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
  endif()
endif()

# strata_precompile(TARGET KIND): TARGET's files begin with headers that are parsed once. KIND is lib
# for libraries (the standard library and fmt, what most files include) and test for test programs
# (GoogleTest besides). Files include what they use all the same: ./dev lint, and a build with
# STRATA_PCH=OFF, see them without.
if(STRATA_PCH)
  set(CMAKE_PCH_WARN_INVALID OFF)  # where flags differ, GCC parses the headers again; no harm
  # GCC collects garbage from 128 MiB on by default: a tenth of the time, for little memory.
  # More of the false alarms of bug 105651 are heard then: builds without it check these warnings.
  target_compile_options(strata_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576 -Wno-array-bounds
      -Wno-stringop-overflow>)
  set(headers <algorithm> <array> <atomic> <cstdint> <cstring> <functional> <map> <memory> <mutex>
    <optional> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch.cc CONTENT "")  # a target needs a source
  add_library(strata_pch_lib OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch.cc)
  target_link_libraries(strata_pch_lib PRIVATE strata_flags fmt::fmt)
  target_precompile_headers(strata_pch_lib PRIVATE ${headers})
  if(STRATA_TESTS)
    add_library(strata_pch_test OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch.cc)
    set_target_properties(strata_pch_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(strata_pch_test PRIVATE -fPIE  # as CMake compiles programs
      ${STRATA_TEST_FLAGS})
    target_link_libraries(strata_pch_test PRIVATE strata_flags fmt::fmt GTest::gtest GTest::gmock)
    target_precompile_headers(strata_pch_test PRIVATE ${headers} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()
function(strata_precompile target kind)
  if(STRATA_PCH)
    target_precompile_headers(${target} REUSE_FROM strata_pch_${kind})
  endif()
endfunction()

# Eight files at a time are compiled as one: half the time of a whole build, for headers are parsed and
# templates made once for all eight. A file must still stand alone: ./dev lint, and a build with
# STRATA_UNITY=OFF, compile each by itself.
if(STRATA_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
  # The warning is for headers; included into a unity file, a source looks like one.
  target_compile_options(strata_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

# strata_compile_alone(a.cc ...): sources of the folder that no other file is compiled together with,
# because a name in their unnamed namespace is also one of another file of the target ("redefinition
# of ..." in a unity file), or because they are large.
function(strata_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# strata_sources(LIST): where CUDA is emulated, .cu files of the list become what tools/simt makes of them.
function(strata_sources list)
  if(NOT STRATA_CUDA STREQUAL "emulated")
    return()
  endif()
  set(translate ${CMAKE_SOURCE_DIR}/tools/simt/translate.py)
  set(sources ${${list}})
  foreach(kernels IN LISTS sources)
    if(kernels MATCHES "\\.cu$")
      cmake_path(ABSOLUTE_PATH kernels OUTPUT_VARIABLE source)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/${kernels}.cc)
      add_custom_command(OUTPUT ${made} DEPENDS ${source} ${translate}
        COMMAND Python3::Interpreter ${translate} ${source} ${made} ${CMAKE_SOURCE_DIR}
        DEPFILE ${made}.d VERBATIM)
      # Kernels look at a float4 as four floats; nvcc's warnings are for nvcc, and it brings headers.
      set_source_files_properties(${made} PROPERTIES
        COMPILE_OPTIONS "-fno-strict-aliasing;-w;-isystem;${CMAKE_SOURCE_DIR}/tools/simt/include")
      list(TRANSFORM sources REPLACE "^${kernels}$" ${made})
    endif()
  endforeach()
  set(${list} ${sources} PARENT_SCOPE)
endfunction()

# strata_library(NAME SOURCES a.cc ... [DEPS public targets] [PRIVATE_DEPS private targets])
# Declares the static library strata_NAME, alias strata::NAME. DEPS are what its headers need.
function(strata_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  strata_sources(ARG_SOURCES)
  add_library(strata_${name} STATIC ${ARG_SOURCES})
  add_library(strata::${name} ALIAS strata_${name})
  target_link_libraries(strata_${name} PUBLIC $<BUILD_INTERFACE:strata_flags> ${ARG_DEPS}
    PRIVATE ${ARG_PRIVATE_DEPS})
  strata_precompile(strata_${name} lib)
endfunction()

# strata_executable(NAME SOURCES a.cc ... DEPS targets): a program in build/bin/NAME.
function(strata_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  strata_sources(ARG_SOURCES)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE strata_flags ${ARG_DEPS})
endfunction()

# strata_test(NAME SOURCES a.cc ... DEPS targets [LABELS labels] [TIMEOUT seconds] [COMPUTES])
# A GoogleTest program; each of its cases is one ctest, and any may use tests/support. COMPUTES: the work is in the test program itself,
# which is optimized under sanitizers, too. Labels: unit (the default), contract, sim,
# process, threads (also run under ThreadSanitizer), gpu.
function(strata_test name)
  cmake_parse_arguments(ARG "COMPUTES" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  strata_sources(ARG_SOURCES)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(STRATA_SANITIZE OR STRATA_CUDA STREQUAL "emulated")
    math(EXPR ARG_TIMEOUT "5 * ${ARG_TIMEOUT}")  # some take half of it there on a machine at rest
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE strata_flags ${ARG_DEPS} strata_test_support
    GTest::gtest GTest::gmock GTest::gtest_main)
  if(ARG_COMPUTES AND STRATA_SANITIZE)
    # Without the precompiled header, which is of -O0.
    target_compile_options(${name} PRIVATE -O1 -fno-sanitize=undefined)
  else()
    strata_precompile(${name} test)
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${STRATA_TEST_FLAGS}>")
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(label threads gpu)  # all that ./dev test --tsan and --emulated need
    if(label IN_LIST ARG_LABELS)
      if(NOT TARGET ${label}_tests)
        add_custom_target(${label}_tests)
      endif()
      add_dependencies(${label}_tests ${name})
    endif()
  endforeach()
  # gtest_discover_tests flattens lists: two labels become one, "unit+threads", which -L still finds.
  list(JOIN ARG_LABELS "+" labels)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${labels} TIMEOUT ${ARG_TIMEOUT})
endfunction()
