"""Process groups; groups.cpp has the same programs, by the same names."""

import datetime

import torch
import torch.distributed as dist

from harness import *  # noqa: F403


@program(4, 5)
def disjoint_groups(rank, world):
    low, high = dist.new_group([0, 1]), dist.new_group([2, 3])
    x = values(rank, 7)
    dist.all_reduce(x, group=low if rank < 2 else high)
    show(x)


@program(3, 5)
def overlapping_groups(rank, world):
    first, second = dist.new_group([0, 1]), dist.new_group([1, 2])
    x = values(rank, 7)
    dist.all_reduce(x, group=first)
    dist.all_reduce(x, group=second)
    show(x)


@program(4, 8)
def ranks_out_of_order(rank, world):
    group = dist.new_group([3, 0, 2])
    say(dist.get_rank(group), dist.get_world_size(group))
    x = values(rank, 5)
    dist.broadcast(x, 3, group=group)
    show(x)


@program(3, 4)
def numbers_in_groups(rank, world):
    groups = [dist.new_group([0, 2]), dist.new_group([1]), dist.new_group(), dist.new_group([2, 1])]
    for group in groups:
        say(dist.get_rank(group), dist.get_world_size(group))
    say(dist.get_rank(), dist.get_world_size())


@program(3, 4)
def global_ranks(rank, world):
    group = dist.new_group([2, 0])
    if rank in [0, 2]:
        say(dist.get_global_rank(group, 0), dist.get_global_rank(group, 1))
        attempt(lambda: dist.get_global_rank(group, 2))


@program(2, 3)
def group_of_one(rank, world):
    group = dist.new_group([1])
    x = values(rank, 4)
    dist.all_reduce(x, group=group)
    dist.broadcast(x, 1, group=group)
    if rank == 1:
        dist.barrier(group)
    show(x)


@program(2, 3, 5)
def group_of_all(rank, world):
    group = dist.new_group()
    x = values(rank, 6)
    dist.all_reduce(x, group=group)
    dist.all_reduce(x)
    show(x)


@program(3)
def group_of_all_backwards(rank, world):
    group = dist.new_group([2, 1, 0])
    say(dist.get_rank(group))
    x = values(rank, 6)
    dist.broadcast(x, 2, group=group)
    show(x)


@program(3, 4)
def foreign_group(rank, world):
    group = dist.new_group([0, 1])
    x = values(rank, 3)
    work = dist.all_reduce(x, group=group, async_op=True)
    say(work is None)
    if work is not None:
        work.wait()
    show(x)


@program(2, 3)
def twice_the_same_group(rank, world):
    one, other = dist.new_group([0, 1]), dist.new_group([0, 1])
    x, y = values(rank, 4), values(rank, 6)
    dist.all_reduce(x, group=one)
    dist.all_reduce(y, MAX, group=other)
    show(x, y)


@program(4, 8)
def rows_and_columns(rank, world):
    columns = world // 2
    rows = [dist.new_group(list(range(r * columns, (r + 1) * columns))) for r in range(2)]
    pairs = [dist.new_group([c, c + columns]) for c in range(columns)]
    x = values(rank, 9)
    dist.all_reduce(x, group=rows[rank // columns])
    dist.all_reduce(x, MAX, group=pairs[rank % columns])
    show(x)


@program(4, 5)
def works_of_two_groups(rank, world):
    even, front = dist.new_group([0, 2]), dist.new_group([0, 1, 2])
    x, y = values(rank, 8), values(rank, 5)
    works = [dist.all_reduce(x, group=even, async_op=True), dist.all_reduce(y, group=front, async_op=True)]
    for work in reversed([work for work in works if work is not None]):
        work.wait()
    show(x, y)


@program(3, 4)
def groups_in_another_order_on_each_rank(rank, world):
    pair, all_ranks = dist.new_group([0, 1]), dist.new_group()
    x, y = values(rank, 8), values(rank, 5)
    works = []
    if rank == 0:
        works.append(dist.all_reduce(x, group=pair, async_op=True))
    works.append(dist.all_reduce(y, group=all_ranks, async_op=True))
    if rank == 1:
        works.append(dist.all_reduce(x, group=pair, async_op=True))
    for work in works:
        work.wait()
    show(x, y)


@program(4)
def broadcast_from_every_member(rank, world):
    group = dist.new_group([1, 2, 3])
    for root in [1, 2, 3]:
        x = values(rank, 6)
        if rank > 0:
            dist.broadcast(x, root, group=group)
        show(x)


@program(3)
def broadcast_from_outside_of_the_group(rank, world):
    group = dist.new_group([0, 1])
    if rank < 2:
        attempt(lambda: dist.broadcast(values(rank, 3), 2, group=group))


@program(3, 4)
def messages_in_a_group(rank, world):
    group = dist.new_group([2, 1])
    x = values(rank, 5)
    if rank == 1:
        dist.send(x, 2, group=group)
    if rank == 2:
        say(dist.recv(x, 1, group=group))
    show(x)


@program(3)
def messages_to_outside_of_the_group(rank, world):
    group = dist.new_group([0, 1])
    if rank < 2:
        attempt(lambda: dist.send(values(rank, 3), 2, group=group))


@program(3, 4)
def barriers_of_groups(rank, world):
    group = dist.new_group([0, 2])
    if rank in [0, 2]:
        dist.barrier(group)
        dist.monitored_barrier(group, timeout=datetime.timedelta(seconds=60))
    dist.barrier()
    say("passed")


@program(3)
def group_of_ranks_that_do_not_exist(rank, world):
    attempt(lambda: dist.new_group([0, world]))
    attempt(lambda: dist.new_group([-1, 0]))


@program(2, 3)
def a_group_is_destroyed_and_the_world_goes_on(rank, world):
    group = dist.new_group([0, 1])
    x = values(rank, 4)
    dist.all_reduce(x, group=group)
    if rank < 2:
        dist.destroy_process_group(group)
    dist.all_reduce(x)
    show(x)


@program(5, 8)
def many_groups(rank, world):
    x = values(rank, 6)
    for i in range(world):
        group = dist.new_group([i, (i + 1) % world, (i + 3) % world])
        dist.all_reduce(x, MAX if i % 2 else MIN, group=group)
    show(x)
