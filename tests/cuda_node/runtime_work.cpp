// Purpose: the runtime's kernels, copies, streams, events and graphs. Kernels do nothing; all else is done at
// once. Stands for libcudart.so.13, beside tests/fakes/cudart.cpp, for programs such as PyTorch's wheels.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "tests/cuda_node/runtime.h"

using fake::ready;
using fake::node::noted;

namespace {

constexpr int kLaunchFailed = cudaErrorInvalidConfiguration;

// What compilers put around a call kernel<<<grid, block>>>(...).
struct Configuration {
  dim3 grid, block;
  size_t shared;
  void* stream;
};
thread_local Configuration configuration;

fake::Address number(const void* pointer) {
  return reinterpret_cast<fake::Address>(pointer);
}

// The code comes to a card with the first kernel, as the driver loads it lazily. FAKE_CUDA_CODE_MIB: how much.
void load_code() {
  static const bool once = [] {
    const char* const text = std::getenv("FAKE_CUDA_CODE_MIB");
    static fake::FakeImage image{1 << 20, static_cast<size_t>(text != nullptr ? std::atol(text) : 0) << 20};
    void* module = nullptr;
    return image.on_card != 0 && ready().cuModuleLoadData(&module, &image) == 0;
  }();
  static_cast<void>(once);
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, size_t shared, void* stream) {
  static const auto driver_launch = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 13000, 0, &status);
    return reinterpret_cast<decltype(&fake::cuLaunchKernel)>(found);
  }();
  load_code();
  const int result = driver_launch(const_cast<void*>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                   static_cast<unsigned>(shared), stream, nullptr, nullptr);
  return noted(result == 0 ? 0 : kLaunchFailed);
}

} // namespace

extern "C" {

// What nvcc's host code calls (crt/host_runtime.h).
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) {
  return 1;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<void**>(stream) = configuration.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function)), cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**, size_t shared,
                               cudaStream_t stream) {
  return launch(kernel, grid, block, shared, stream);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void**, size_t shared,
                             cudaStream_t stream) {
  return launch(kernel, grid, block, shared, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void**, size_t shared,
                                        cudaStream_t stream) {
  return launch(kernel, grid, block, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void**) {
  return launch(kernel, how->gridDim, how->blockDim, how->dynamicSmemBytes, how->stream);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void* data) {
  return call(data), cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
  return call(stream, cudaSuccess, data), cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return noted(ready().cuMemcpyAsync(number(to), number(from), bytes, stream));
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  for (size_t row = 0; row < height; ++row)
    cudaMemcpyAsync(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                    width, kind, stream);
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
  return cudaSuccess; // nothing reads it
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return noted(ready().cuMemsetD8Async(number(to), static_cast<unsigned char>(value), bytes, stream));
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return noted(ready().cuStreamCreateWithPriority(reinterpret_cast<void**>(stream), flags, priority));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, 0, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return noted(ready().cuStreamDestroy_v2(stream));
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return noted(ready().cuStreamGetPriority(stream, priority));
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return noted(ready().cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return noted(ready().cuEventCreate(reinterpret_cast<void**>(event), flags));
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return noted(ready().cuEventRecord(event, stream));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return noted(ready().cuEventElapsedTime(milliseconds, begin, end));
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return noted(ready().cuEventDestroy_v2(event));
}
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t) {
  return cudaEventCreate(event);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return noted(ready().cuStreamBeginCapture_v2(stream, static_cast<int>(mode)));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return noted(ready().cuStreamEndCapture(stream, reinterpret_cast<void**>(graph)));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  int capturing = 0;
  const int result = ready().cuStreamIsCapturing(stream, &capturing);
  *status = static_cast<cudaStreamCaptureStatus>(capturing);
  return noted(result);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  if (nodes != nullptr) *nodes = nullptr;
  int capturing = 0;
  const int result = ready().cuStreamGetCaptureInfo_v2(stream, &capturing, id, reinterpret_cast<void**>(graph),
                                                       nullptr, count);
  *status = static_cast<cudaStreamCaptureStatus>(capturing);
  return noted(result);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  const cudaStreamCaptureMode before = current;
  current = *mode;
  *mode = before;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  return *out = reinterpret_cast<cudaGraphExec_t>(graph), cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, size_t* count) {
  return *count = 1, cudaSuccess; // PyTorch warns of an empty graph
}
cudaError_t cudaGraphDestroy(cudaGraph_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return cudaSuccess;
}

} // extern "C"
