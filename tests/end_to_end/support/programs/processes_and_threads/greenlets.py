"""Purpose: greenlets of gevent allocate, wait, pass results and are killed; also in a thread pool."""
import gevent
import gevent.event
import gevent.pool
import gevent.queue
import gevent.threadpool


def make(number):
    blocks = [bytearray(5000 + number) for _ in range(20)]
    gevent.sleep(0.001 * (number % 3))
    return sum(map(len, blocks))


def endless():
    while True:
        bytearray(100_000)
        gevent.sleep(0)


queue = gevent.queue.Queue(maxsize=4)
consumer = gevent.spawn(lambda: sum(len(block) for block in iter(queue.get, None)))
for size in range(1000, 9000, 200):
    queue.put(bytearray(size))
queue.put(None)
print("queue", consumer.get())
print("pool", sum(gevent.pool.Pool(50).imap_unordered(make, range(500))))
print("threads", sum(gevent.threadpool.ThreadPool(4).map(lambda number: len(bytearray(number)), range(5000, 5200))))
victims = [gevent.spawn(endless) for _ in range(10)]
gevent.sleep(0.02)
gevent.killall(victims)
print("killed", sum(victim.dead for victim in victims))
