# Compiler, linker and sanitizer settings of the four trees, carried by the interface target `strake_options`.

# What the code under test is compiled with, and what the code that tests it is. Tests run once and hold no arithmetic worth watching:
# optimising them and UBSan in them made two thirds of the cost of this tree. ASan stays: tests read what libraries hand out.
set(strake_code_flags "")
set(strake_plain_code_flags "")
set(strake_test_flags "")
# Which trees hold which targets.
set(strake_has_unit_tests OFF) # and replays of fuzz corpora
set(strake_has_program OFF)    # and the tests that run it or simulate it
if(STRAKE_TREE STREQUAL "check" OR STRAKE_TREE STREQUAL "quick")
  set(strake_has_unit_tests ON)
endif()
if(STRAKE_TREE STREQUAL "release" OR STRAKE_TREE STREQUAL "quick")
  set(strake_has_program ON)
endif()

if(STRAKE_TREE STREQUAL "check")
  set(strake_flags -g1 -fsanitize=address -fno-omit-frame-pointer)
  # -Og and calls instead of checks in line: a large unit takes 14 s instead of 22; the tests run 1.4 times as long, which is less.
  set(strake_code_flags -Og --param asan-instrumentation-with-call-threshold=0 -fsanitize=undefined -fno-sanitize-recover=undefined)
  set(strake_test_flags -O0)
  # Checks of every pointer before every access: a third of the compiler's work. ASan stops at bad addresses anyway, so they stay only
  # where bytes of others are read in place (READS_BYTES), and in the fuzz tree everywhere.
  set(strake_plain_code_flags -fno-sanitize=null,alignment,object-size,vptr)
  set(strake_unity ON)
elseif(STRAKE_TREE STREQUAL "tsan")
  set(strake_flags -g1 -fsanitize=thread)
  set(strake_code_flags -O1)
  set(strake_test_flags -O0)
  set(strake_unity ON)
elseif(STRAKE_TREE STREQUAL "fuzz")
  set(strake_flags -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  set(strake_code_flags -O1)
  set(strake_unity OFF)
elseif(STRAKE_TREE STREQUAL "release")
  set(strake_flags -g0 -DNDEBUG)
  # What the program is hardened with, besides position independence, which Debian's compiler does by itself; test/integration/hardening_test.cc looks whether the linked program has it.
  set(strake_code_flags -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
  add_link_options(-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  set(strake_test_flags -O0)
  set(strake_unity ON)
elseif(STRAKE_TREE STREQUAL "quick")
  set(strake_flags -O0 -g0)
  set(strake_unity ON)
else()
  message(FATAL_ERROR "STRAKE_TREE is '${STRAKE_TREE}': use check, release, quick, tsan or fuzz")
endif()

set(strake_warnings
    -Wall -Wextra -Wconversion -Wshadow -Wold-style-cast -Wsuggest-override -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these on correct std::string, std::vector and std::optional code once sanitizers or -O2 inline it.
  list(APPEND strake_warnings -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  if(STRAKE_TREE STREQUAL "tsan")
    # Asio uses a fence that ThreadSanitizer cannot see; everything else of ours is visible to it.
    list(APPEND strake_warnings -Wno-tsan)
  endif()
  # mold links a test binary in a fraction of the time of ld; without it everything still works.
  find_program(strake_mold mold)
  if(strake_mold)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(strake_options INTERFACE)
target_compile_options(strake_options INTERFACE ${strake_flags} ${strake_warnings})
target_compile_definitions(strake_options INTERFACE _GLIBCXX_ASSERTIONS BOOST_ASIO_SEPARATE_COMPILATION)
target_include_directories(strake_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_link_options(strake_options INTERFACE ${strake_flags} ${strake_code_flags})

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(yaml_cpp REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)

find_program(strake_ccache ccache)
if(strake_ccache)
  # The sloppiness settings are what ccache demands for a precompiled header to be cacheable.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${strake_ccache})
endif()

# Two precompiled headers a tree, for code and for tests: the headers nearly every file needs, Boost.JSON the dearest of them. Named one by
# one and not through a header of ours: a path of this clone inside it would keep ccache from sharing results between clones.
set(strake_common_headers
  <algorithm> <array> <atomic> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional> <set> <span> <stop_token> <string>
  <string_view> <unordered_map> <utility> <variant> <vector> <boost/json.hpp> <fmt/core.h> <fmt/format.h> <tl/expected.hpp>)
function(strake_add_pch target)
  add_library(${target} STATIC "${CMAKE_SOURCE_DIR}/cmake/pch.cc")
  target_link_libraries(${target} PUBLIC strake_options fmt::fmt Boost::json)
  target_precompile_headers(${target} PRIVATE ${strake_common_headers} ${ARGN})
endfunction()
strake_add_pch(strake_pch)
target_compile_options(strake_pch PRIVATE ${strake_code_flags})
if(STRAKE_TESTS)
  find_package(GTest REQUIRED)
  strake_add_pch(strake_test_pch <gtest/gtest.h>)
  target_link_libraries(strake_test_pch PUBLIC GTest::gtest) # its definitions decide whether the header fits
  target_compile_options(strake_test_pch PRIVATE ${strake_test_flags})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(strake_options INTERFACE -fpch-preprocess)
else()
  # clang finds fault with what std::stable_sort of the GNU library uses inside.
  target_compile_options(strake_options INTERFACE -Wno-deprecated-declarations)
endif()
