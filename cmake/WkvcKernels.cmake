# wkvc_add_kernels(TARGET my_kernels OPS rwkv7 rwkv6
#                  [HEADS 64 64,128] [PASSES forward backward] [IO bf16] [MMA f16] [ARCH sm_90a] [OPTIONS --save-every 16]
#                  [RECURRENCES my_ops.cpp] [LOCKFILE wkvc.lock.json])
#
# A static library of compiled kernels and the header "my_kernels.h" with one class an operator and head, in the
# namespace my_kernels (wkvc pack writes them). Building it needs NVRTC, and neither nvcc nor a GPU; what links it needs
# wkvc::runtime alone, which comes with it. RECURRENCES are sources of a program that is the wkvc command with operators
# of its own (tools/command.h); OPS may name those.
function(wkvc_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;IO;MMA;ARCH;LOCKFILE" "OPS;HEADS;PASSES;OPTIONS;RECURRENCES")
  # A keyword that is none of ours follows a list as though it were a value of it.
  foreach(value IN LISTS arg_OPS arg_HEADS arg_PASSES arg_RECURRENCES)
    if(value MATCHES "^[A-Z_]+$")
      list(APPEND arg_UNPARSED_ARGUMENTS ${value})
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wkvc_add_kernels: unknown arguments: ${arg_UNPARSED_ARGUMENTS}. Expected TARGET, OPS, HEADS, "
                        "PASSES, IO, MMA, ARCH, OPTIONS, RECURRENCES, LOCKFILE")
  endif()
  foreach(required TARGET OPS)
    if(NOT arg_${required})
      message(FATAL_ERROR "wkvc_add_kernels: ${required} is missing")
    endif()
  endforeach()

  set(command wkvc::command)
  if(arg_RECURRENCES)
    set(command ${arg_TARGET}_wkvc)
    add_executable(${command} ${arg_RECURRENCES})
    target_link_libraries(${command} PRIVATE wkvc::jit)
  endif()

  set(options "")
  foreach(option HEADS:--heads PASSES:--passes IO:--io MMA:--mma ARCH:--arch LOCKFILE:--lockfile)
    string(REPLACE ":" ";" option ${option})
    list(GET option 0 argument)
    list(GET option 1 flag)
    if(DEFINED arg_${argument})
      if(argument STREQUAL LOCKFILE)
        get_filename_component(arg_LOCKFILE ${arg_LOCKFILE} ABSOLUTE)
      endif()
      foreach(value IN LISTS arg_${argument})
        list(APPEND options ${flag} ${value})
      endforeach()
    endif()
  endforeach()

  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET})
  file(MAKE_DIRECTORY ${directory})
  add_custom_command(
    OUTPUT ${directory}/${arg_TARGET}.h ${directory}/${arg_TARGET}.cpp
    COMMAND ${command} pack ${arg_OPS} --name ${arg_TARGET} ${options} ${arg_OPTIONS} --output ${directory}
    DEPENDS ${command} ${arg_LOCKFILE}
    COMMENT "Compiling the kernels of ${arg_TARGET}"
    VERBATIM)
  add_library(${arg_TARGET} STATIC ${directory}/${arg_TARGET}.cpp ${directory}/${arg_TARGET}.h)
  target_include_directories(${arg_TARGET} PUBLIC ${directory})
  target_link_libraries(${arg_TARGET} PUBLIC wkvc::runtime)
endfunction()
