// Purpose: fibers of Boost on stacks from malloc and from mmap: they allocate, switch, throw, and go on in
// another thread. A victim: its output must be the same with and without the tracer.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

namespace context = boost::context;

namespace {

long sum = 0;

template <typename Stack>
context::fiber start(int number) {
  return context::fiber{std::allocator_arg, Stack(64 * 1024), [number](context::fiber&& back) {
                          for (int i = 0; i < 50; ++i) {
                            std::vector<char> block(static_cast<std::size_t>(5000 + 100 * number));
                            try {
                              if (i % 10 == 0) throw std::runtime_error("thrown in a fiber");
                            } catch (const std::runtime_error&) {
                              sum += 1;
                            }
                            back = std::move(back).resume();
                            sum += static_cast<long>(block.size());
                          }
                          return std::move(back);
                        }};
}

void run_all(std::vector<context::fiber>& fibers, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (auto& fiber : fibers)
      if (fiber) fiber = std::move(fiber).resume();
}

} // namespace

int main() {
  std::vector<context::fiber> fibers;
  for (int i = 0; i < 32; ++i) {
    fibers.push_back(start<context::fixedsize_stack>(i));
    fibers.push_back(start<context::protected_fixedsize_stack>(i));
  }
  run_all(fibers, 25);
  std::thread other(run_all, std::ref(fibers), 26);
  other.join();
  std::printf("sum: %ld\n", sum);
}
