# Two precompiled headers, one of what the compiler's sources include and one for tests that do without MLIR: reading
# headers is most of the time that a source takes. CMAKE_DISABLE_PRECOMPILE_HEADERS does without.
# CLI11 and nlohmann-json are not among them: GCC instantiates their templates in each source again, needed or not.
# Commands do without: most of a command's time are CLI11's templates, and reading MLIR's header takes a second more.

# Release builds do without: which false warnings GCC gives there has not been tried.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  return()
endif()
set(general <algorithm> <array> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <utility>
  <vector> <fmt/format.h>)

# wkvc_headers(NAME HEADERS header... LINK library... FOR target...): the targets of FOR that there are share one
# precompiled header.
function(wkvc_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LINK;FOR")
  set(source ${PROJECT_BINARY_DIR}/cmake/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// The header alone.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  foreach(target IN LISTS arg_FOR)
    if(TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM ${name})
      # GCC 12 sees overflows of std::string that are none (gcc bug 105329) where its header is precompiled.
      target_compile_options(${target} PRIVATE
        $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
    endif()
  endforeach()
endfunction()

if(WKVC_COMPILER)
  wkvc_headers(wkvc_mlir_headers
    HEADERS ${general}
      <mlir/IR/Matchers.h> <mlir/IR/PatternMatch.h> <mlir/IR/Verifier.h> <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h>
      <mlir/Parser/Parser.h> <mlir/Transforms/GreedyPatternRewriteDriver.h>
      <codegen/rec/Rec.h> <codegen/chunk/Chunk.h> <codegen/warp/Warp.h>
    LINK wkvc_mlir wkvc_options wkvc_runtime wkvc_fmt
    FOR wkvc_autotune wkvc_checking wkvc_chunk wkvc_compiler wkvc_differentiate wkvc_dsl
      wkvc_emit wkvc_ir wkvc_jit wkvc_nest wkvc_passes wkvc_rec wkvc_rec_to_chunk wkvc_schedule_ir wkvc_warp
      bench_recurrences false_alarms
      chunk_test dsl_test emitted_test lower_test mutants_test nest_test place_test rec_test tuner_test warp_test
      wkvc_test_emitted wkvc_test_run)
  add_dependencies(wkvc_mlir_headers wkvc_rec_tablegen wkvc_chunk_inc wkvc_warp_inc)
  # What tablegen makes of the dialects' operations: a third of the time is optimizing what takes none when run.
  foreach(dialect rec/Rec chunk/Chunk warp/Warp)
    get_filename_component(folder ${dialect} DIRECTORY)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/codegen/${dialect}.cpp
      DIRECTORY ${PROJECT_SOURCE_DIR}/codegen/${folder} PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endif()

if(WKVC_TESTS)
  wkvc_headers(wkvc_test_headers
    HEADERS ${general} <gmock/gmock.h> <gtest/gtest.h>
    LINK wkvc_options wkvc_fmt GTest::gmock
    FOR autotune_tests backward_test causality_test cli_test driver_tests forward_test intermediate_states_test jit_test
      launch_cost_tests lengths_test library_search_tests runtime_gpu_tests runtime_tests sequences_test templates_test
      token_test)
endif()
