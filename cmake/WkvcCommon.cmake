# Flags that every target of the project is compiled with.
find_program(CCACHE ccache)
if(CCACHE)  # wherever the clone lies
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1 ${CCACHE})
endif()

add_library(wkvc_options INTERFACE)
target_compile_options(wkvc_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
# Everywhere the same, so that programs and libraries share a precompiled header.
target_compile_options(wkvc_options INTERFACE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # ccache asks for it
if(CMAKE_UNITY_BUILD)  # a local name may be that of a function of another source
  target_compile_options(wkvc_options INTERFACE -Wno-shadow)
endif()
# gcc 12 sees overlaps in std::string at -O3 that are none (gcc bug 105329).
target_compile_options(wkvc_options INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
# Two versions of the library in one process have constants of their own, each its lockfile and its limits.
target_compile_options(wkvc_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
target_include_directories(wkvc_options INTERFACE ${PROJECT_SOURCE_DIR})

set(WKVC_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")
if(WKVC_SANITIZE)
  target_compile_options(wkvc_options INTERFACE -fsanitize=${WKVC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(wkvc_options INTERFACE -fsanitize=${WKVC_SANITIZE})
endif()
