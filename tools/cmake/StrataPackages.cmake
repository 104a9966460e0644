# Every third-party package, in one place. All are Debian packages (./dev setup installs them);
# nothing is downloaded at configure time.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(gflags 2.2 REQUIRED)
find_package(Boost 1.81 REQUIRED)  # headers: Asio, Beast
find_package(nlohmann_json 3.11 REQUIRED)
find_package(prometheus-cpp REQUIRED)  # Debian ships 1.0.1 without a version file
find_package(Protobuf 3.21 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(dnnl 2.6 REQUIRED)  # oneDNN
find_package(OpenSSL 3.0 REQUIRED)
pkg_check_modules(TOMLPP REQUIRED IMPORTED_TARGET tomlplusplus>=3.3)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq>=4.3.3)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(ROCKSDB REQUIRED IMPORTED_TARGET rocksdb>=7.8)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium>=1.0.18)
if(STRATA_TESTS)
  find_package(GTest 1.12 REQUIRED)
  include(GoogleTest)
endif()

# CUDA is a link-time choice: with it off, the same targets use their CPU sources alone.
set(STRATA_HAVE_CUDA OFF)
if(STRATA_CUDA STREQUAL "on" OR (STRATA_CUDA STREQUAL "auto" AND EXISTS /dev/nvidia0))
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    enable_language(CUDA)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not know it by itself
    find_package(CUDAToolkit REQUIRED)
    set(STRATA_HAVE_CUDA ON)
  elseif(STRATA_CUDA STREQUAL "on")
    message(FATAL_ERROR "STRATA_CUDA=on (./dev build --cuda=on), but no CUDA compiler was found. Put nvcc (CUDA 13 is what it is tested with) on the PATH, or name it in CUDACXX; or leave out --cuda=on, which is STRATA_CUDA=off.")
  endif()
endif()
if(STRATA_CUDA STREQUAL "emulated")
  find_package(Boost 1.81 REQUIRED COMPONENTS context)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(STRATA_HAVE_CUDA ON)
endif()
message(STATUS "CUDA kernels: ${STRATA_HAVE_CUDA} (STRATA_CUDA=${STRATA_CUDA})")
