"""all_reduce, broadcast and barrier; collectives.cpp has the same programs, by the same names."""

import datetime

import torch
import torch.distributed as dist

from harness import *  # noqa: F403


@program(1, 2, 3, 4, 5, 8)
def all_reduce_sum(rank, world):
    x = values(rank, 7)
    dist.all_reduce(x)
    show(x)


@program(1, 2, 3, 5)
def all_reduce_product(rank, world):
    x = values(rank, 11) + 1
    dist.all_reduce(x, PRODUCT)
    show(x)


@program(2, 3, 4, 8)
def all_reduce_min(rank, world):
    x = values(rank, 13) - 2
    dist.all_reduce(x, MIN)
    show(x)


@program(2, 3, 4, 8)
def all_reduce_max(rank, world):
    x = values(rank, 13) - 2
    dist.all_reduce(x, MAX)
    show(x)


@program(1, 3)
def all_reduce_sum_of_every_type(rank, world):
    for dtype in TYPES:
        x = values(rank, 9, dtype)
        dist.all_reduce(x)
        show(x)


@program(2, 5)
def all_reduce_extremes_of_every_type(rank, world):
    for dtype in TYPES:
        low, high = values(rank, 6, dtype), values(rank, 6, dtype)
        dist.all_reduce(low, MIN)
        dist.all_reduce(high, MAX)
        show(low, high)


@program(2, 4)
def all_reduce_product_of_every_type(rank, world):
    for dtype in TYPES:
        x = values(rank, 5, dtype)
        dist.all_reduce(x, PRODUCT)
        show(x)


@program(2, 3, 4)
def all_reduce_bits(rank, world):
    for dtype in INTEGERS:
        for op in [BAND, BOR, BXOR]:
            x = values(rank, 10, dtype) + 3
            dist.all_reduce(x, op)
            show(x)


@program(2, 3)
def all_reduce_wraps_integers_around(rank, world):
    for dtype, value in [(torch.uint8, 200), (torch.int8, 100), (torch.int32, 2000000000)]:
        x = torch.full([3], value, dtype=dtype)
        dist.all_reduce(x)
        show(x)


@program(2, 3)
def all_reduce_of_fractions(rank, world):
    x = values(rank, 8) * 0.25 - 0.125
    dist.all_reduce(x)
    show(x)


@program(1, 2, 3, 8)
def all_reduce_of_nothing(rank, world):
    x = values(rank, 0)
    dist.all_reduce(x)
    show(x)


@program(1, 2, 4, 8)
def all_reduce_of_one_element(rank, world):
    x = values(rank, 1)
    dist.all_reduce(x)
    show(x)


@program(2, 3, 5)
def all_reduce_of_two_elements(rank, world):
    x = values(rank, 2)
    dist.all_reduce(x)
    show(x)


@program(2, 3, 5, 8)
def all_reduce_of_prime_sizes(rank, world):
    for n in [13, 127, 1009]:
        x = values(rank, n)
        dist.all_reduce(x)
        show(x)


@program(2, 4)
def all_reduce_of_a_scalar(rank, world):
    x = torch.tensor(rank + 2.0)
    dist.all_reduce(x)
    show(x)


@program(2, 3)
def all_reduce_of_many_dimensions(rank, world):
    x = values(rank, 42).reshape(2, 7, 3)
    dist.all_reduce(x)
    show(x)


@program(2, 3)
def all_reduce_of_a_range(rank, world):
    x = values(rank, 20)
    dist.all_reduce(x.narrow(0, 3, 11))
    show(x)


@program(2, 4)
def all_reduce_of_a_row(rank, world):
    x = values(rank, 24).reshape(4, 6)
    dist.all_reduce(x[2])
    show(x)


@program(2, 3)
def all_reduce_of_a_reshaped_tensor(rank, world):
    x = values(rank, 12)
    dist.all_reduce(x.view(3, 4))
    show(x)


@program(2, 3)
def all_reduce_again_and_again(rank, world):
    x = values(rank, 5)
    for _ in range(6):
        dist.all_reduce(x)
    show(x)


@program(2, 3, 4)
def all_reduce_between_computations(rank, world):
    x = values(rank, 6)
    y = x * 2 + 1
    dist.all_reduce(y)
    z = y - x
    dist.all_reduce(z, MAX)
    show(x, y, z)


@program(2, 3)
def all_reduce_of_a_copy_leaves_the_original(rank, world):
    x = values(rank, 6)
    y = x.clone()
    dist.all_reduce(y)
    show(x, y)


@program(2, 3)
def all_reduce_returns_nothing(rank, world):
    x = values(rank, 3)
    say(dist.all_reduce(x) is None, dist.broadcast(x, 0) is None, dist.barrier() is None)


@apart(2, 4)
def reductions_that_do_not_exist(rank, world):
    for dtype in [torch.float32, torch.float16]:
        for op in [BAND, BOR, BXOR]:
            attempt(lambda: dist.all_reduce(values(rank, 3, dtype), op))


@program(1, 2, 3, 4, 5, 8)
def broadcast_from_every_root(rank, world):
    for root in range(world):
        x = values(rank, 9)
        dist.broadcast(x, root)
        show(x)


@program(2, 3)
def broadcast_of_every_type(rank, world):
    for dtype in TYPES:
        x = values(rank, 7, dtype)
        dist.broadcast(x, world - 1)
        show(x)


@program(2, 3)
def broadcast_of_odd_sizes(rank, world):
    for n in [0, 1, 2, 31, 257]:
        x = values(rank, n)
        dist.broadcast(x, 1)
        show(x)


@program(3)
def broadcast_into_a_range(rank, world):
    x = values(rank, 15).reshape(5, 3)
    dist.broadcast(x[1:3], 2)
    show(x)


@program(2, 3)
def broadcast_from_nobody(rank, world):
    attempt(lambda: dist.broadcast(values(rank, 3), world))


@program(2, 3, 4)
def broadcast_then_all_reduce(rank, world):
    x = values(rank, 10)
    dist.broadcast(x, world - 1)
    x += rank
    dist.all_reduce(x)
    show(x)


@program(2, 4)
def works_in_order(rank, world):
    xs = [values(rank, n) for n in [4, 9, 2]]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for work in works:
        say(work.wait())
    show(*xs)


@program(2, 3)
def works_in_reverse(rank, world):
    xs = [values(rank, n) for n in [4, 9, 2, 17]]
    works = [dist.all_reduce(x, MAX, async_op=True) for x in xs]
    for work in reversed(works):
        work.wait()
    show(*xs)


@program(3, 5)
def works_in_an_order_of_each_rank(rank, world):
    xs = [values(rank, n + 3) for n in range(world)]
    works = [dist.broadcast(x, i, async_op=True) for i, x in enumerate(xs)]
    for i in range(world):
        works[(i + rank) % world].wait()
    show(*xs)


@program(2, 3)
def works_waited_for_twice(rank, world):
    x = values(rank, 8)
    work = dist.all_reduce(x, async_op=True)
    say(work.wait(), work.wait())
    show(x)


@program(2)
def works_that_have_ended(rank, world):
    x = values(rank, 8)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    show(x)
    say(work.is_completed(), work.is_success())


@program(2, 4)
def works_of_all_kinds(rank, world):
    x, y = values(rank, 12), values(rank, 5)
    works = [dist.all_reduce(x, async_op=True), dist.broadcast(y, 1, async_op=True), dist.barrier(async_op=True)]
    for work in reversed(works):
        work.wait()
    show(x, y)


@program(2, 3)
def synchronous_behind_asynchronous(rank, world):
    x, y = values(rank, 6), values(rank, 6)
    work = dist.all_reduce(x, async_op=True)
    dist.all_reduce(y, MIN)
    work.wait()
    show(x, y)


@program(1, 2, 3, 4, 5, 8)
def barriers(rank, world):
    x = values(rank, 3)
    for _ in range(3):
        dist.barrier()
        dist.all_reduce(x)
    show(x)


@program(1, 2, 3, 5)
def monitored_barriers(rank, world):
    for _ in range(2):
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=60))
    say("passed")


@program(2, 3, 4)
def a_long_mixed_sequence(rank, world):
    x = values(rank, 16)
    for i in range(12):
        if i % 4 == 0:
            dist.all_reduce(x, MAX)
        elif i % 4 == 1:
            dist.broadcast(x, i % world)
        elif i % 4 == 2:
            dist.barrier()
        else:
            x += rank + i
    show(x)
