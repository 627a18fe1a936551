// Purpose: ranges of every kind, 1 MiB taken in each; prints what its calls returned, which is as without a
// tool. A victim: a program with NVIDIA's own NVTX 3 headers in it.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

static void* volatile kept;
static void take(void) {
  kept = malloc(1 << 20); // never given back: each phase is told from the others by what it took
}

static nvtxEventAttributes_t named(const char* text) {
  nvtxEventAttributes_t attributes = {0};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

static void* end_elsewhere(void* id) {
  nvtxRangeEnd(*(nvtxRangeId_t*)id);
  return NULL;
}

int main(void) {
  printf("push %d\n", nvtxRangePushA("ascii"));
  take();
  printf("push %d\n", nvtxRangePushW(L"br\u00fccke"));
  take();
  printf("pop %d\n", nvtxRangePop());
  nvtxEventAttributes_t attributes = named("attributes");
  printf("push %d\n", nvtxRangePushEx(&attributes));
  take();
  printf("pop %d\n", nvtxRangePop());
  printf("pop %d\n", nvtxRangePop());
  printf("pop of nothing %d\n", nvtxRangePop());

  nvtxDomainHandle_t domain = nvtxDomainCreateA("DeepSpeed");
  nvtxEventAttributes_t registered = named(NULL);
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxRangePushA("outside");
  printf("push %d\n", nvtxDomainRangePushEx(domain, &registered));
  take();
  nvtxRangePop(); // of the default domain: the other range is over with the one around it
  printf("pop %d\n", nvtxDomainRangePop(domain));

  nvtxRangeId_t here = nvtxRangeStartA("started");
  take();
  nvtxRangeEnd(here);
  nvtxRangeId_t other = nvtxRangeStartA("ended elsewhere");
  take();
  pthread_t thread;
  pthread_create(&thread, NULL, end_elsewhere, &other);
  pthread_join(thread, NULL);
  nvtxRangeId_t last = nvtxRangeStartA("after");
  take();
  nvtxRangeEnd(last);

  char name[32];
  for (int i = 0; i < 5000; ++i) { // a name for each of so many: those that do not fit are left out
    snprintf(name, sizeof name, "op %d", i);
    nvtxRangePushA(name);
    nvtxRangePop();
  }
  for (int i = 0; i < 100; ++i) nvtxRangePushA("deep");
  for (int i = 0; i < 100; ++i) nvtxRangePop();
  nvtxRangePushA("ascii"); // a name that is known is known after them too
  take();
  nvtxRangePop();
  return 0;
}
