"""Times of calls, all of them in turn in every round, and of copies of as many bytes."""
import random
import statistics
import time

import torch

L2_BYTES = 60 << 20
MOST_COPIED = 4 << 30  # bytes at once: more are copied one after the other


def sets_of(bytes_of_set):
    """How many sets of inputs, up to 8, are together larger than the L2."""
    return max(1, min(8, -(-2 * L2_BYTES // bytes_of_set)))


def copy_of(moved, device="cuda", sets=1):
    """A call that reads and writes `moved` bytes in all, of another memory for each number up to `sets`."""
    times = -(-moved // (2 * MOST_COPIED))
    halves = [[torch.empty(max(1, moved // 2 // times), dtype=torch.uint8, device=device) for _ in range(2)]
              for _ in range(sets)]

    def copy(i):
        source, target = halves[i % sets]
        for _ in range(times):
            target.copy_(source)

    return copy


def pause_for(call):
    """Cycles in which the host surely queues a call: at least 2 ms, and twice what the host took."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    call(0)
    seconds = time.perf_counter() - start
    torch.cuda.synchronize()
    return int(2e9 * min(max(2e-3, 2 * seconds), 50e-3))


def times_of(calls, sets, rounds, device="cuda"):
    """Median milliseconds of each contestant, all of them in turn in every round.

    On a GPU times are of events around one call; before the call a kernel keeps the GPU busy until the call is queued.
    """
    for call in calls.values():
        for i in range(sets):
            call(i)
    spans = spans_on_gpu(calls, sets, rounds) if device == "cuda" else spans_on_host(calls, sets, rounds)
    return {name: statistics.median(found) for name, found in spans.items()}


def spans_on_gpu(calls, sets, rounds):
    pauses = {name: pause_for(call) for name, call in calls.items()}
    spans = {name: [] for name in calls}
    for n in range(rounds):
        events = {}
        # In another order each round: what comes before leaves its inputs in the L2, or a copy.
        for name, call in random.Random(n).sample(list(calls.items()), len(calls)):
            torch.cuda._sleep(pauses[name])
            events[name] = begin, end = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            begin.record()
            call(n % sets)
            end.record()
        torch.cuda.synchronize()
        for name, (begin, end) in events.items():
            spans[name].append(begin.elapsed_time(end))
    return spans


def spans_on_host(calls, sets, rounds):
    spans = {name: [] for name in calls}
    for n in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call(n % sets)
            spans[name].append((time.perf_counter() - start) * 1e3)
    return spans
