# cmake --install: the command, the runtime (wkvc::runtime), the compiler as a library (wkvc::jit) and the package that
# find_package(wkvc) reads. Everything is found relative to where it lies.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wkvc)
set(include_dir ${CMAKE_INSTALL_INCLUDEDIR}/wkvc)

# Before the first file is copied: after a build of some targets nothing is installed, rather than a part.
set(installed wkvc_runtime)
if(WKVC_COMPILER)
  list(APPEND installed wkvc wkvc_shared)
endif()
foreach(target IN LISTS installed)
  install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
      message(FATAL_ERROR \"wkvc is not installed: $<TARGET_FILE:${target}> is not built yet. Build everything first: \"
                          \"cmake --build ${PROJECT_BINARY_DIR}\")
    endif()")
endforeach()

set_target_properties(wkvc_runtime PROPERTIES EXPORT_NAME runtime)
install(TARGETS wkvc_runtime EXPORT wkvcTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY runtime DESTINATION ${include_dir} FILES_MATCHING PATTERN "*.h")
install(FILES templates/wkvc/abi.h DESTINATION ${include_dir}/templates/wkvc)
if(WKVC_COMPILER)
  set_target_properties(wkvc PROPERTIES EXPORT_NAME command)
  install(TARGETS wkvc wkvc_shared EXPORT wkvcTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES dsl/wkvc.h dsl/registry.h dsl/builtin.h dsl/options.h dsl/operators.def DESTINATION ${include_dir}/dsl)
  install(FILES codegen/compiler.h DESTINATION ${include_dir}/codegen)
  install(FILES tools/command.h DESTINATION ${include_dir}/tools)
  install(FILES jit/jit.h jit/wkvc.h DESTINATION ${include_dir}/jit)
endif()
install(EXPORT wkvcTargets NAMESPACE wkvc:: DESTINATION ${package_dir})

configure_package_config_file(cmake/wkvcConfig.cmake.in ${PROJECT_BINARY_DIR}/wkvcConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wkvcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wkvcConfig.cmake ${PROJECT_BINARY_DIR}/wkvcConfigVersion.cmake
              cmake/WkvcKernels.cmake DESTINATION ${package_dir})

if(WKVC_COMPILER)
  # Only wheels have these kernels. NVRTC takes minutes for them; WKVC_PRECOMPILE=OFF leaves the folder empty.
  set(precompile ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/kernels)
  if(WKVC_PRECOMPILE)
    set(precompile ${CMAKE_COMMAND} -DWKVC=$<TARGET_FILE:wkvc> -DOUT=${PROJECT_BINARY_DIR}/kernels
                   -DVENV=${PROJECT_SOURCE_DIR}/.venv -P ${PROJECT_SOURCE_DIR}/cmake/Precompile.cmake)
  endif()
  add_custom_target(wkvc_precompiled COMMAND ${precompile} DEPENDS wkvc USES_TERMINAL VERBATIM)
  set(WKVC_LIBRARY $<TARGET_FILE:wkvc_shared>)
  set(WKVC_KERNELS ${PROJECT_BINARY_DIR}/kernels)
  add_subdirectory(python)
endif()
