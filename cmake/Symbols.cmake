# cmake -DFILES="a.so;b" [-DGLIBC=2.34] [-DGLIBCXX=3.4.30] -P cmake/Symbols.cmake
#
# Fails unless ELF files load where the C and C++ libraries are of these versions: the C library of RHEL 9, and the C++
# library of Ubuntu 22.04 and Debian 12. objdump reads the versions of the symbols that a file needs.
cmake_minimum_required(VERSION 3.25)
if(NOT GLIBC)
  set(GLIBC 2.34)
endif()
if(NOT GLIBCXX)
  set(GLIBCXX 3.4.30)
endif()
find_program(OBJDUMP objdump REQUIRED)

foreach(file IN LISTS FILES)
  execute_process(COMMAND ${OBJDUMP} -T ${file} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[(]?GLIBC(XX)?_[0-9.]+[)]? +[^\n]+" symbols "${table}")
  if(NOT symbols)
    message(FATAL_ERROR "${file} needs no symbol of a C library: expected a file that is linked dynamically")
  endif()
  set(newer "")
  foreach(symbol IN LISTS symbols)
    string(REGEX MATCH "(GLIBC|GLIBCXX)_([0-9.]+)[)]? +(.+)" unused "${symbol}")
    if(CMAKE_MATCH_2 VERSION_GREATER ${${CMAKE_MATCH_1}})
      list(APPEND newer "${CMAKE_MATCH_3} (${CMAKE_MATCH_1}_${CMAKE_MATCH_2})")
    endif()
  endforeach()
  if(newer)
    list(REMOVE_DUPLICATES newer)
    list(JOIN newer ", " newer)
    message(FATAL_ERROR
      "${file} needs symbols that are newer than GLIBC_${GLIBC} and GLIBCXX_${GLIBCXX}, which the wheel's tag promises: "
      "${newer}. Build on Debian 12. For a wheel that is for this machine alone, give pip "
      "--config-settings=wheel.tags=py3-none-linux_x86_64 and --config-settings=cmake.define.WKVC_ANY_GLIBC=ON")
  endif()
endforeach()
