"""Collectives with a block for each rank, and reduce; blocks.cpp has the same programs, by the same names."""

import torch
import torch.distributed as dist

from harness import *  # noqa: F403


def blank(n, dtype=torch.float32):
    return torch.zeros([n], dtype=dtype)


@program(1, 2, 3, 5)
def all_gather_of_every_type(rank, world):
    for dtype in TYPES:
        xs = [blank(6, dtype) for _ in range(world)]
        dist.all_gather(xs, values(rank, 6, dtype))
        show(*xs)


@program(2, 3, 4)
def all_gather_of_odd_sizes(rank, world):
    for n in [1, 2, 31, 257]:
        xs = [blank(n) for _ in range(world)]
        dist.all_gather(xs, values(rank, n))
        show(*xs)


@program(2, 3)
def all_gather_of_matrices(rank, world):
    xs = [blank(12).reshape(3, 4) for _ in range(world)]
    dist.all_gather(xs, values(rank, 12).reshape(3, 4))
    show(*xs)


@program(2, 4)
def all_gather_beside_all_reduce(rank, world):
    x = values(rank, 5)
    xs = [blank(5) for _ in range(world)]
    work = dist.all_gather(xs, x, async_op=True)
    y = values(rank, 4)
    dist.all_reduce(y)
    work.wait()
    show(y, *xs)


@program(3)
def all_gather_into_what_does_not_fit(rank, world):
    attempt(lambda: dist.all_gather([blank(4) for _ in range(world - 1)], values(rank, 4)))
    attempt(lambda: dist.all_gather([blank(5) for _ in range(world)], values(rank, 4)))
    attempt(lambda: dist.all_gather([blank(4, torch.int32) for _ in range(world)], values(rank, 4)))


@program(1, 2, 3, 5)
def gather_at_every_root(rank, world):
    for root in range(world):
        xs = [blank(7) for _ in range(world)] if rank == root else None
        dist.gather(values(rank, 7), xs, root)
        if rank == root:
            show(*xs)


@program(2, 3)
def gather_with_lists_where_none_should_be(rank, world):
    attempt(lambda: dist.gather(values(rank, 3), [blank(3) for _ in range(world)] if rank != 0 else None, 0))


@program(1, 2, 3, 5)
def scatter_from_every_root(rank, world):
    for root in range(world):
        x = blank(7)
        dist.scatter(x, [values(rank + 2 * i, 7) for i in range(world)] if rank == root else None, root)
        show(x)


@program(2, 3)
def scatter_without_a_list(rank, world):
    attempt(lambda: dist.scatter(blank(3), [blank(3) for _ in range(world)] if rank != 0 else None, 0))


@program(1, 2, 3, 4, 5)
def reduce_to_every_root(rank, world):
    for root in range(world):
        for op in [SUM, MAX]:
            x = values(rank, 9)
            dist.reduce(x, root, op)
            if rank == root:
                show(x)


@program(2, 3)
def reduce_to_nobody(rank, world):
    attempt(lambda: dist.reduce(values(rank, 3), world))


@program(1, 2, 3, 4, 8)
def all_to_all_of_equal_parts(rank, world):
    for n in [1, 3]:
        x, y = values(rank, n * world), blank(n * world)
        dist.all_to_all_single(y, x)
        show(y)


@program(2, 3, 5)
def all_to_all_of_rows_by_sizes(rank, world):
    sends = [(rank + 2 * other) % 3 for other in range(world)]
    receives = [(other + 2 * rank) % 3 for other in range(world)]
    x = values(rank, 4 * sum(sends)).reshape(sum(sends), 4)
    y = blank(4 * sum(receives)).reshape(sum(receives), 4)
    dist.all_to_all_single(y, x, receives, sends)
    show(y)


@program(2, 3)
def all_to_all_of_sizes_that_do_not_fit(rank, world):
    x, y = values(rank, world + 1), blank(world + 1)
    attempt(lambda: dist.all_to_all_single(y, x, [1] * world, [1] * world))
    attempt(lambda: dist.all_to_all_single(y, x, [world + 1], [world + 1]))


@program(4, 5)
def blocks_in_a_group(rank, world):
    group = dist.new_group([1, 2, 3])
    if rank in [1, 2, 3]:
        xs = [blank(4) for _ in range(3)]
        dist.all_gather(xs, values(rank, 4), group=group)
        y = values(rank, 4)
        dist.reduce(y, 2, SUM, group)
        show(*(xs + [y] if rank == 2 else xs))


@program(2, 3)
def a_mixed_sequence_of_blocks(rank, world):
    x = values(rank, 2 * world)
    for i in range(4):
        y = blank(2 * world)
        dist.all_to_all_single(y, x)
        dist.all_reduce(y, MAX if i % 2 else SUM)
        xs = [blank(2) for _ in range(world)]
        dist.all_gather(xs, y[2 * rank:2 * rank + 2].clone())
        x = torch.cat(xs) + rank
    show(x)
