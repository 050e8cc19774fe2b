# strake_module(NAME SOURCES f... [DEPS module...] [LIBS target...] [TESTING f...] [TESTS f...] [TEST_DEPS target...]
#               [FUZZ name...] [THREADED])
# A module is one folder, one static library `strake_NAME`, one test binary `NAME_test`.
#   TESTING   fakes and builders other modules' tests may use: library `strake_NAME_testing`, no tests inside
#   FUZZ      each name has fuzz/NAME_fuzz.cc and a corpus in test/corpus/NAME, replayed as a test in `check`
#   THREADED  the tests also run in the tsan tree
function(strake_module name)
  cmake_parse_arguments(M "THREADED" "" "SOURCES;DEPS;LIBS;TESTING;TESTS;TEST_DEPS;FUZZ" ${ARGN})
  list(TRANSFORM M_DEPS PREPEND "strake_")

  add_library(strake_${name} STATIC ${M_SOURCES})
  target_link_libraries(strake_${name} PUBLIC strake_options ${M_DEPS} fmt::fmt Boost::json PRIVATE ${M_LIBS} Threads::Threads)
  strake_compile_settings(strake_${name})

  if(M_TESTING)
    add_library(strake_${name}_testing STATIC ${M_TESTING})
    target_link_libraries(strake_${name}_testing PUBLIC strake_${name})
    strake_compile_settings(strake_${name}_testing)
  endif()

  if(M_TESTS AND (STRAKE_TREE STREQUAL "check" OR (STRAKE_TREE STREQUAL "tsan" AND M_THREADED)))
    strake_gtest(${name}_test SOURCES ${M_TESTS} DEPS strake_${name} ${M_TEST_DEPS})
  endif()

  foreach(fuzz IN LISTS M_FUZZ)
    strake_fuzz(${fuzz} "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${fuzz}_fuzz.cc" strake_${name})
  endforeach()
endfunction()

function(strake_compile_settings target)
  target_precompile_headers(${target} REUSE_FROM strake_pch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${strake_unity} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# strake_gtest(NAME SOURCES f... DEPS target... [LABELS l...] [LOCK resource] [TIMEOUT seconds])
function(strake_gtest name)
  cmake_parse_arguments(G "" "LOCK;TIMEOUT" "SOURCES;DEPS;LABELS;ENV" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${G_SOURCES})
  target_link_libraries(${name} PRIVATE ${G_DEPS} strake_test_support GTest::gtest_main Threads::Threads)
  strake_compile_settings(${name})
  target_compile_definitions(${name} PRIVATE STRAKE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${CMAKE_BINARY_DIR}/reports/${name}.xml)
  if(NOT G_TIMEOUT)
    set(G_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${G_TIMEOUT} LABELS "${G_LABELS}" ENVIRONMENT "${G_ENV}")
  if(G_LOCK)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${G_LOCK})
  endif()
endfunction()

function(strake_fuzz name source library)
  if(STRAKE_TREE STREQUAL "fuzz")
    add_executable(${name}_fuzz ${source})
    target_link_libraries(${name}_fuzz PRIVATE ${library} -fsanitize=fuzzer)
    target_precompile_headers(${name}_fuzz REUSE_FROM strake_pch)
  elseif(STRAKE_TREE STREQUAL "check")
    add_executable(${name}_replay ${source} "${CMAKE_SOURCE_DIR}/test/support/fuzz_replay_main.cc")
    target_link_libraries(${name}_replay PRIVATE ${library})
    target_precompile_headers(${name}_replay REUSE_FROM strake_pch)
    add_test(NAME fuzz_replay_${name} COMMAND ${name}_replay "${CMAKE_SOURCE_DIR}/test/corpus/${name}")
  endif()
endfunction()
