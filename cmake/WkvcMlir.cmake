# MLIR 22, linked statically. Debian's exported targets drag in the 150 MB libLLVM.so;
# naming the archives leaves a binary of a few MB that needs only libc.
set(WKVC_LLVM_ROOT "/usr/lib/llvm-22" CACHE PATH "Where LLVM and MLIR 22 are installed")
find_program(MLIR_TBLGEN NAMES mlir-tblgen-22 mlir-tblgen HINTS ${WKVC_LLVM_ROOT}/bin REQUIRED)

# The transitive closure of what the compiler uses: IR, parser, passes and greedy rewriting.
set(archives
  MLIRParser MLIRAsmParser MLIRBytecodeReader MLIRTransforms MLIRTransformUtils MLIRRewrite
  MLIRRewritePDL MLIRPDLToPDLInterp MLIRPDLInterpDialect MLIRPDLDialect MLIRPass MLIRAnalysis
  MLIRBytecodeWriter MLIRBytecodeOpInterface MLIRCallInterfaces MLIRControlFlowInterfaces
  MLIRDataLayoutInterfaces MLIRFunctionInterfaces MLIRInferIntRangeInterface MLIRInferTypeOpInterface
  MLIRLoopLikeInterface MLIRMemorySlotInterfaces MLIRSideEffectInterfaces MLIRSubsetOpInterface
  MLIRRuntimeVerifiableOpInterface MLIRArithDialect MLIRDialect MLIRUBDialect
  MLIRPresburger MLIRIR MLIRSupport LLVMSupport LLVMDemangle)
set(paths "")
foreach(name IN LISTS archives)
  set(path ${WKVC_LLVM_ROOT}/lib/lib${name}.a)
  if(EXISTS ${path})
    list(APPEND paths ${path})
  endif()
endforeach()
if(NOT EXISTS ${WKVC_LLVM_ROOT}/lib/libMLIRIR.a)
  message(FATAL_ERROR "MLIR 22 was not found in ${WKVC_LLVM_ROOT}: install libmlir-22-dev, mlir-22-tools and "
                      "llvm-22-dev, or set WKVC_LLVM_ROOT.")
endif()

add_library(wkvc_mlir INTERFACE)
target_include_directories(wkvc_mlir SYSTEM INTERFACE ${WKVC_LLVM_ROOT}/include ${PROJECT_BINARY_DIR})
add_library(wkvc_older_libraries STATIC ${PROJECT_SOURCE_DIR}/codegen/older_libraries.cpp)
target_link_libraries(wkvc_older_libraries PRIVATE wkvc_options)
target_link_libraries(wkvc_mlir INTERFACE -Wl,--start-group ${paths} -Wl,--end-group wkvc_older_libraries -l:libz.a -l:libzstd.a Threads::Threads ${CMAKE_DL_LIBS})

# wkvc_tablegen(TARGET dir file.td): generates file{Ops,Types,Dialect}.{h,cpp}.inc beside the build of `dir`.
function(wkvc_tablegen target td prefix dialect)
  set(src ${CMAKE_CURRENT_SOURCE_DIR}/${td})
  get_filename_component(subdir ${td} DIRECTORY)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${subdir})
  set(outputs "")
  foreach(rule
      "Ops.h.inc|-gen-op-decls" "Ops.cpp.inc|-gen-op-defs"
      "Types.h.inc|-gen-typedef-decls" "Types.cpp.inc|-gen-typedef-defs"
      "Enums.h.inc|-gen-enum-decls" "Enums.cpp.inc|-gen-enum-defs"
      "Dialect.h.inc|-gen-dialect-decls" "Dialect.cpp.inc|-gen-dialect-defs")
    string(REPLACE "|" ";" rule ${rule})
    list(GET rule 0 suffix)
    list(GET rule 1 flag)
    set(inc ${out}/${prefix}${suffix})
    set(extra "")
    if(NOT suffix MATCHES "^(Ops|Enums)")
      set(extra -dialect=${dialect})
    endif()
    if(suffix MATCHES "Types")
      set(extra -typedefs-dialect=${dialect})
    endif()
    add_custom_command(OUTPUT ${inc}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND ${MLIR_TBLGEN} ${flag} ${extra} -I ${WKVC_LLVM_ROOT}/include -I ${PROJECT_SOURCE_DIR} -I ${CMAKE_CURRENT_SOURCE_DIR} ${src} -o ${inc}
      DEPENDS ${src} ${ARGN})
    list(APPEND outputs ${inc})
  endforeach()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()
