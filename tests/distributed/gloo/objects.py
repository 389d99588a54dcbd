"""Host objects, subgroups and collectives of several tensors; objects.cpp has the same programs, by the same names."""

import torch
import torch.distributed as dist

from harness import *  # noqa: F403


def an_object(rank):
    return "" if rank == 1 else "object %d " % rank * (rank + 1)


def needs_no_gpu():
    """PyTorch 1.13 makes subgroups only where it finds a GPU, although gloo needs none."""
    torch.cuda.is_available = lambda: True


@program(2, 3, 5)
def objects_of_all(rank, world):
    everyone = [None] * world
    dist.all_gather_object(everyone, an_object(rank))
    for each in everyone:
        say(each)


@program(2, 4)
def objects_to_a_root(rank, world):
    everyone = [None] * world
    dist.gather_object(an_object(rank), everyone if rank == 1 else None, dst=1)
    if rank == 1:
        for each in everyone:
            say(each)
    attempt(lambda: dist.gather_object("x", None if rank == 0 else everyone, dst=0))


@program(2, 3)
def objects_from_a_root(rank, world):
    words = ["one", "", "three"] if rank == 1 else [None] * 3
    dist.broadcast_object_list(words, src=1)
    for each in words:
        say(each)
    mine = [None]
    dist.scatter_object_list(mine, [an_object(i) for i in range(world)] if rank == 0 else None, src=0)
    say(mine[0])
    attempt(lambda: dist.scatter_object_list([], None, src=0))


@program(4)
def objects_in_a_group(rank, world):
    group = dist.new_group([1, 3])
    if rank in [1, 3]:
        everyone = [None] * 2
        dist.all_gather_object(everyone, an_object(rank), group=group)
        say(everyone[0])
        say(everyone[1])


@program(4, 6)
def subgroups_of_a_size(rank, world):
    needs_no_gpu()
    mine, every = dist.new_subgroups(group_size=2)
    x = values(rank, 5)
    dist.all_reduce(x, group=mine)
    say(dist.get_rank(mine), len(every))
    show(x)
    attempt(lambda: dist.new_subgroups(group_size=0))
    attempt(lambda: dist.new_subgroups(group_size=world + 1))
    attempt(lambda: dist.new_subgroups(group_size=world - 1))


@program(4)
def subgroups_of_these_ranks(rank, world):
    needs_no_gpu()
    mine, every = dist.new_subgroups_by_enumeration([[0, 3], [1, 2]])
    x = values(rank, 5)
    dist.all_reduce(x, group=mine)
    say(dist.get_rank(mine), len(every))
    show(x)
    attempt(lambda: dist.new_subgroups_by_enumeration([]))


@program(2, 3)
def several_tensors_at_once(rank, world):
    x, y = values(rank, 4), values(rank + 1, 9)
    dist.all_reduce_coalesced([x, y])
    show(x, y)
    lists = [[torch.zeros(3), torch.zeros(5)] for _ in range(world)]
    dist.all_gather_coalesced(lists, [values(rank, 3), values(rank + 2, 5)])
    for each in lists:
        show(each[0], each[1])
