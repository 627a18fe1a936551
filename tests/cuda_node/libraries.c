/* Purpose: the few functions of CUDA's libraries from which PyTorch reads an answer, by their documented
 * interfaces. Compiled into each stand-in of libcublas, libcublasLt, libcudnn and libnvrtc, beside its
 * generated functions.
 */
#include <stddef.h>
#include <string.h>

#if defined(LIBRARY_cublas)

int cublasGetMathMode(void* handle, int* mode) {
  (void)handle;
  return *mode = 0, 0;
}
int cublasGetPointerMode_v2(void* handle, int* mode) {
  (void)handle;
  return *mode = 0, 0;
}

#elif defined(LIBRARY_cublasLt)

struct Heuristic {
  unsigned long long algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
size_t cublasLtGetVersion(void) {
  return 130000;
}
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c, void* d,
                                   void* preference, int wanted, struct Heuristic* results, int* found) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted;
  memset(results, 0, sizeof *results);
  return *found = 1, 0;
}

#elif defined(LIBRARY_cudnn)

struct Performance {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};
static const size_t kWorkspace = 4u << 20;

static int one_algorithm(int* found, struct Performance* results) {
  memset(results, 0, sizeof *results);
  results->memory = kWorkspace;
  return *found = 1, 0;
}
size_t cudnnGetVersion(void) {
  return 92000;
}
size_t cudnnGetCudartVersion(void) {
  return 13000;
}
int cudnnGetProperty(int which, int* value) {
  return *value = which == 0 ? 9 : which == 1 ? 20 : 0, 0;
}
/* No graphs of operations: CUDNN_STATUS_NOT_SUPPORTED. */
int cudnnBackendCreateDescriptor(int kind, void** out) {
  (void)kind, (void)out;
  return 3000;
}
int cudnnBackendFinalize(void* descriptor) {
  (void)descriptor;
  return 3000;
}
#define GET_ALGORITHM(name)                                                            \
  int name(void* handle, void* x, void* w, void* how, void* y, int wanted, int* found, \
           struct Performance* out) {                                                  \
    (void)handle, (void)x, (void)w, (void)how, (void)y, (void)wanted;                  \
    return one_algorithm(found, out);                                                  \
  }
GET_ALGORITHM(cudnnGetConvolutionForwardAlgorithm_v7)
GET_ALGORITHM(cudnnGetConvolutionBackwardDataAlgorithm_v7)
GET_ALGORITHM(cudnnGetConvolutionBackwardFilterAlgorithm_v7)
#define FIND_ALGORITHM(name)                                                                             \
  int name(void* handle, void* xs, void* x, void* ws, void* w, void* how, void* ys, void* y, int wanted, \
           int* found, struct Performance* out, void* workspace, size_t bytes) {                         \
    (void)handle, (void)xs, (void)x, (void)ws, (void)w, (void)how, (void)ys, (void)y, (void)wanted;      \
    (void)workspace, (void)bytes;                                                                        \
    return one_algorithm(found, out);                                                                    \
  }
FIND_ALGORITHM(cudnnFindConvolutionForwardAlgorithmEx)
FIND_ALGORITHM(cudnnFindConvolutionBackwardDataAlgorithmEx)
FIND_ALGORITHM(cudnnFindConvolutionBackwardFilterAlgorithmEx)
#define WORKSPACE(name)                                                                        \
  int name(void* handle, void* x, void* w, void* how, void* y, int algorithm, size_t* bytes) { \
    (void)handle, (void)x, (void)w, (void)how, (void)y, (void)algorithm;                       \
    return *bytes = kWorkspace, 0;                                                             \
  }
WORKSPACE(cudnnGetConvolutionForwardWorkspaceSize)
WORKSPACE(cudnnGetConvolutionBackwardDataWorkspaceSize)
WORKSPACE(cudnnGetConvolutionBackwardFilterWorkspaceSize)
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void* handle, int mode, int operations, void* x,
                                                             void* z, void* y, void* scale, void* activation,
                                                             size_t* bytes) {
  (void)handle, (void)mode, (void)operations, (void)x, (void)z, (void)y, (void)scale, (void)activation;
  return *bytes = kWorkspace, 0;
}
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void* handle, int mode, int operations,
                                                         void* activation, void* x, size_t* bytes) {
  (void)handle, (void)mode, (void)operations, (void)activation, (void)x;
  return *bytes = 4096, 0;
}
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void* handle, int mode, int operations, void* x, void* y,
                                                      void* dy, void* dz, void* dx, void* scale,
                                                      void* activation, size_t* bytes) {
  (void)handle, (void)mode, (void)operations, (void)x, (void)y, (void)dy, (void)dz, (void)dx, (void)scale;
  (void)activation;
  return *bytes = kWorkspace, 0;
}

#elif defined(LIBRARY_nvrtc)

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  return *minor = 0, 0;
}
int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  (void)program;
  return *bytes = 0, 0;
}
int nvrtcGetPTXSize(void* program, size_t* bytes) {
  (void)program;
  return *bytes = 16, 0;
}
int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  (void)program;
  return *bytes = 16, 0;
}
int nvrtcGetLoweredName(void* program, const char* name, const char** lowered) {
  (void)program;
  return *lowered = name, 0;
}

#endif
