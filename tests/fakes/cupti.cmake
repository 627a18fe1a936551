# A CUPTI and an NVML of our own, each in a folder that a test puts into LD_LIBRARY_PATH, and a program with NVIDIA's
# NVTX headers. Only where there are headers of CUPTI, as is libmemtrace_cupti.so.
if(NOT TARGET memtrace_cupti)
  return()
endif()

foreach(pair IN ITEMS "13:" "12:FAKE_CUPTI_OLD")
  string(REGEX REPLACE ":.*" "" version ${pair})
  string(REGEX REPLACE ".*:" "" definition ${pair})
  fake(fake_cupti_${version} cupti cupti.cpp)
  set_target_properties(fake_cupti_${version} PROPERTIES
    SOVERSION ${version} CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cupti-${version})
  target_include_directories(fake_cupti_${version} SYSTEM PRIVATE ${MEMTRACE_CUPTI_INCLUDE} ${MEMTRACE_CUDA_INCLUDE})
  target_compile_definitions(fake_cupti_${version} PRIVATE ${definition})
  target_link_libraries(fake_cupti_${version} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

fake(fake_nvml nvidia-ml nvml.c)
set_target_properties(fake_nvml PROPERTIES SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nvml)
target_link_libraries(fake_nvml PRIVATE ${CMAKE_DL_LIBS})

if(MEMTRACE_NVTX_INCLUDE)
  add_executable(use_nvtx use_nvtx.c)
  target_include_directories(use_nvtx SYSTEM PRIVATE ${MEMTRACE_NVTX_INCLUDE})
  target_link_libraries(use_nvtx PRIVATE ${CMAKE_DL_LIBS} pthread)
endif()
