# cmake -DWKVC=build/bin/wkvc -DOUT=build/kernels -DVENV=.venv -P cmake/Precompile.cmake
#
# The kernels that a wheel brings, so that first calls of these sizes need not wait for NVRTC: RWKV-7 with heads of 64 in
# bf16, raw and log decays, batches and packed sequences, training and inference, and single tokens. Kernels take any
# size; a size decides which of them are taken, and few of them serve all sizes. Without NVRTC the folder stays empty;
# scripts/setup.sh puts one into VENV.
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
if(EXISTS ${VENV})
  set(ENV{VIRTUAL_ENV} ${VENV})
endif()

set(tokens 16 128 512 1024 2048 4096 8192 32768)
set(heads 12 16 32 40 64 128 256 512 1024)
set(shapes 8,4096,64 4,2048,12 8,4096,12)  # tuned as batches
foreach(t IN LISTS tokens)
  foreach(h IN LISTS heads)
    list(APPEND shapes 1,${t},${h})
  endforeach()
endforeach()
set(packed 1,8192,12 1,8192,32 1,8192,64 1,32768,12 1,32768,32 1,32768,64)

set(number 0)
foreach(op rwkv7 rwkv7_logw)
  foreach(call "--passes;forward,both;--shapes;${shapes}"
               "--passes;forward,both;--shapes;${packed};--sequences;8"
               "--passes;forward,both;--shapes;${packed};--sequences;64"
               "--chunk;1;--shapes;1,1,64;256,1,64")
    math(EXPR number "${number} + 1")
    message(STATUS "wkvc: compiling kernels of ${op}, part ${number} of 8")
    execute_process(COMMAND ${WKVC} precompile ${op} ${call} --head 64 --io bf16 --output ${OUT}
                    RESULT_VARIABLE status ERROR_VARIABLE message)
    if(NOT status EQUAL 0)
      message(STATUS "wkvc: no kernels are compiled now, so that first calls take seconds longer. ${message}")
      return()
    endif()
  endforeach()
endforeach()
