// Purpose: what Triton asks of the driver to run a kernel that it compiled. The kernel does nothing.
// Stands for libcuda.so.1, beside tests/fakes/cuda*.cpp.
#include <cuda.h>

#include <fstream>
#include <iterator>
#include <string>

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  return image.empty() ? CUDA_ERROR_FILE_NOT_FOUND : cuModuleLoadData(module, image.data());
}

CUresult cuCtxGetLimit(size_t* value, CUlimit) {
  return *value = size_t{1} << 20, CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  return *function = reinterpret_cast<CUfunction>(module), CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  return *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) {
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* how, CUfunction kernel, void** arguments, void** more) {
  return cuLaunchKernel(kernel, how->gridDimX, how->gridDimY, how->gridDimZ, how->blockDimX, how->blockDimY,
                        how->blockDimZ, how->sharedMemBytes, how->hStream, arguments, more);
}

} // extern "C"
