# cmake -DMODULE=WkvcKernels.cmake -P kernels_test.cmake: what wkvc_add_kernels takes, and what it hands to wkvc pack.
# Nothing is built: in a process of its own for each case, the commands that make targets only print what they get.
cmake_minimum_required(VERSION 3.25)

if(DEFINED CASE)
  foreach(command add_executable add_library target_include_directories target_link_libraries)
    cmake_language(EVAL CODE "function(${command})\nendfunction()")
  endforeach()
  function(add_custom_command)
    list(JOIN ARGN " " words)
    message("${words} END")
  endfunction()
  include(${MODULE})
  cmake_language(EVAL CODE "wkvc_add_kernels(${CASE})")
  return()
endif()

set(work ${CMAKE_CURRENT_BINARY_DIR}/kernels_test)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/folder)
file(WRITE ${work}/tuned.json "{}")

# Runs a case; `expected` is whether it is taken, and `part` has to be in what it says, of which line breaks are spaces.
function(expect expected arguments part)
  execute_process(COMMAND ${CMAKE_COMMAND} -DMODULE=${MODULE} "-DCASE=${arguments}" -P ${CMAKE_CURRENT_LIST_FILE}
                  WORKING_DIRECTORY ${work} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(FIND "${text}" "${part}" at)
  if((status EQUAL 0 AND NOT expected) OR (NOT status EQUAL 0 AND expected) OR at EQUAL -1)
    message(FATAL_ERROR "wkvc_add_kernels(${arguments}): status ${status}, expected '${part}', but: ${text}")
  endif()
endfunction()

expect(YES "TARGET k OPS rwkv7" "pack rwkv7 --name k --output")
expect(YES "TARGET k OPS GLA" "pack GLA --name k --output")
expect(YES "TARGET K_1 OPS GLA RWKV RECURRENCES OPS_A HEADS N 64,128"
       "K_1_wkvc pack GLA RWKV --name K_1 --heads N --heads 64,128")
expect(YES "TARGET k OPS a PASSES forward,backward IO bf16 MMA f32 ARCH sm_90a OPTIONS --save-every 16"
       "--passes forward,backward --io bf16 --mma f32 --arch sm_90a --save-every 16")
expect(YES "TARGET k OPS a LOCKFILE tuned.json"
       "--lockfile ${work}/tuned.json --output ${work}/k DEPENDS wkvc::command ${work}/tuned.json COMMENT")
expect(YES "TARGET k OPS a LOCKFILE none"
       "--lockfile none --output ${work}/k DEPENDS wkvc::command COMMENT")

expect(NO "OPS rwkv7" "TARGET is missing")
expect(NO "TARGET k" "OPS is missing")
expect(NO "TARGET k ROUNDS 20 OPS rwkv7" "unknown arguments: ROUNDS;20. Expected TARGET, OPS")
expect(NO "TARGET k OPS rwkv7 HEAD 64" "OPS rwkv7;HEAD;64: '64' is no operator's name")
expect(NO "TARGET k OPS rwkv7 PASSES forward ROUNDS" "'ROUNDS' is no pass; expected forward, backward")
expect(NO "TARGET k OPS rwkv7 IO \${UNSET}" "no value given for IO:")
expect(NO "TARGET k OPS rwkv7 IO MMA HEADS" "no value given for HEADS, IO, MMA:")
expect(NO "TARGET k OPS" "no value given for OPS:")
expect(NO "TARGET my-kernels OPS rwkv7" "TARGET my-kernels: expected a C identifier")
expect(NO "TARGET 2 OPS rwkv7" "TARGET 2: expected a C identifier")
expect(NO "TARGET k OPS rwkv7 LOCKFILE nowhere.json" "LOCKFILE nowhere.json: there is no file ${work}/nowhere.json")
expect(NO "TARGET k OPS rwkv7 LOCKFILE folder" "LOCKFILE folder: there is no file")
