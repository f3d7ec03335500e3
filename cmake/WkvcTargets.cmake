# wkvc::runtime, wkvc::jit, wkvc::command and wkvc_add_kernels for a project that takes wkvc in by add_subdirectory or
# FetchContent: the names that find_package(wkvc) has. The project gets headers and libraries, and no compiler flags.
include(WkvcKernels)

add_library(wkvc_runtime_headers INTERFACE)
target_compile_features(wkvc_runtime_headers INTERFACE cxx_std_20)
target_include_directories(wkvc_runtime_headers SYSTEM INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(wkvc_runtime_headers INTERFACE fmt::fmt-header-only)

add_library(wkvc_runtime_of_project INTERFACE)
target_link_libraries(wkvc_runtime_of_project INTERFACE wkvc_runtime_headers $<LINK_ONLY:wkvc_runtime>)
add_library(wkvc::runtime ALIAS wkvc_runtime_of_project)
if(WKVC_COMPILER)
  add_library(wkvc_jit_of_project INTERFACE)
  target_link_libraries(wkvc_jit_of_project INTERFACE wkvc_runtime_headers $<LINK_ONLY:wkvc_shared>)
  add_library(wkvc::jit ALIAS wkvc_jit_of_project)
  add_executable(wkvc::command ALIAS wkvc)
endif()
