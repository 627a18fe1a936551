"""Uses multiprocessing: a pool, a queue, shared memory, an exception that is passed to the parent."""
import multiprocessing
import multiprocessing.shared_memory
import sys


def work(number):
    block = bytearray(200_000)
    if number == 7:
        raise ValueError("seven")
    return number * len(block)


def fill(name, queue):
    memory = multiprocessing.shared_memory.SharedMemory(name)
    memory.buf[:4] = b"here"
    memory.close()
    queue.put("filled")


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(work, range(5)))
        try:
            pool.map(work, [7])
        except ValueError as error:
            print("caught", error)
        pool.close()
        pool.join()
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    queue = context.Queue()
    process = context.Process(target=fill, args=(shared.name, queue))
    process.start()
    print(queue.get(), process.join(), process.exitcode, bytes(shared.buf[:4]))
    shared.close()
    shared.unlink()
