# wkvc_add_kernels(TARGET my_kernels OPS rwkv7 rwkv6
#                  [HEADS 64 64,128] [PASSES forward backward] [IO bf16] [MMA f16] [ARCH sm_90a] [OPTIONS --save-every 16]
#                  [RECURRENCES my_ops.cpp] [LOCKFILE wkvc.lock.json|none])
#
# A static library of compiled kernels and the header "my_kernels.h" with one class an operator and head, in the
# namespace my_kernels (wkvc pack writes them). Building it needs NVRTC, and neither nvcc nor a GPU; what links it needs
# wkvc::runtime alone, which comes with it. RECURRENCES are sources of a program that is the wkvc command with operators
# of its own (tools/command.h); OPS may name those.
function(wkvc_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;IO;MMA;ARCH;LOCKFILE" "OPS;HEADS;PASSES;OPTIONS;RECURRENCES")
  set(expected "Expected TARGET, OPS, HEADS, PASSES, IO, MMA, ARCH, OPTIONS, RECURRENCES, LOCKFILE")
  _wkvc_check_keywords()
  _wkvc_check_values()

  set(command wkvc::command)
  if(arg_RECURRENCES)
    set(command ${arg_TARGET}_wkvc)
    add_executable(${command} ${arg_RECURRENCES})
    target_link_libraries(${command} PRIVATE wkvc::jit)
  endif()

  set(lockfile "")  # what the kernels are made again for
  if(NOT "${arg_LOCKFILE}" MATCHES "^(none)?$")
    get_filename_component(arg_LOCKFILE "${arg_LOCKFILE}" ABSOLUTE)
    set(lockfile ${arg_LOCKFILE})
  endif()

  set(options "")
  foreach(option HEADS:--heads PASSES:--passes IO:--io MMA:--mma ARCH:--arch LOCKFILE:--lockfile)
    string(REPLACE ":" ";" option ${option})
    list(GET option 0 argument)
    list(GET option 1 flag)
    if(DEFINED arg_${argument})
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
    DEPENDS ${command} ${lockfile}
    COMMENT "Compiling the kernels of ${arg_TARGET}"
    VERBATIM)
  add_library(${arg_TARGET} STATIC ${directory}/${arg_TARGET}.cpp ${directory}/${arg_TARGET}.h)
  target_include_directories(${arg_TARGET} PUBLIC ${directory})
  target_link_libraries(${arg_TARGET} PUBLIC wkvc::runtime)
endfunction()

# The two checks are of what wkvc_add_kernels was given, in the variables arg_*; `expected` lists the
# keywords.
function(_wkvc_check_keywords)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wkvc_add_kernels: unknown arguments: ${arg_UNPARSED_ARGUMENTS}. ${expected}")
  endif()
  # Most often a variable that is not set: IO ${UNSET}.
  if(arg_KEYWORDS_MISSING_VALUES)
    list(JOIN arg_KEYWORDS_MISSING_VALUES ", " without)
    message(FATAL_ERROR "wkvc_add_kernels: no value given for ${without}: give one, or leave the keyword out")
  endif()
  foreach(required TARGET OPS)
    if(NOT arg_${required})
      message(FATAL_ERROR "wkvc_add_kernels: ${required} is missing")
    endif()
  endforeach()
endfunction()

function(_wkvc_check_values)
  set(name "^[A-Za-z_][A-Za-z0-9_]*$")
  if(NOT arg_TARGET MATCHES "${name}")
    message(FATAL_ERROR "wkvc_add_kernels: TARGET ${arg_TARGET}: expected a C identifier such as my_kernels, since it is "
                        "a namespace, too")
  endif()
  # A keyword that is none of ours follows a list as though it were a value of it, and then its own values give it away.
  foreach(value IN LISTS arg_OPS)
    if(NOT value MATCHES "${name}")
      message(FATAL_ERROR "wkvc_add_kernels: OPS ${arg_OPS}: '${value}' is no operator's name. If an unknown keyword "
                          "is before it: ${expected}")
    endif()
  endforeach()
  foreach(value IN LISTS arg_PASSES)
    if(NOT value MATCHES "^(forward|backward)(,(forward|backward))*$")
      message(FATAL_ERROR "wkvc_add_kernels: PASSES ${arg_PASSES}: '${value}' is no pass; expected forward, backward. "
                          "If it is an unknown keyword: ${expected}")
    endif()
  endforeach()
  if(NOT "${arg_LOCKFILE}" MATCHES "^(none)?$")
    get_filename_component(path "${arg_LOCKFILE}" ABSOLUTE)
    if(NOT EXISTS "${path}" OR IS_DIRECTORY "${path}")
      message(FATAL_ERROR "wkvc_add_kernels: LOCKFILE ${arg_LOCKFILE}: there is no file ${path}; expected what "
                          "wkvc tune wrote, or none")
    endif()
  endif()
endfunction()
