"""Programs that never end on gloo; hanging.cpp has the same ones, and says who is to blame.

A rank that is to be missing sleeps: as long as its process lives, nobody is told that it will not come.
"""

import time

import torch
import torch.distributed as dist

from harness import *  # noqa: F403


def stay_away():
    about_to_hang()
    time.sleep(1000)


@hangs(2)
def recv_without_send(rank, world):
    if rank == 1:
        stay_away()
    about_to_hang()
    dist.recv(values(rank, 4), 1)


@hangs(2)
def recv_with_another_tag(rank, world):
    about_to_hang()
    if rank == 0:
        dist.send(values(rank, 4), 1, tag=1)
        time.sleep(1000)
    dist.recv(values(rank, 4), 0, tag=2)


@hangs(2)
def recv_from_anybody_without_send(rank, world):
    if rank == 1:
        stay_away()
    about_to_hang()
    dist.recv(values(rank, 4))


@hangs(3)
def ring_that_receives_first(rank, world):
    about_to_hang()
    dist.recv(values(rank, 4), (rank - 1) % world)
    dist.send(values(rank, 4), (rank + 1) % world)


@hangs(3)
def barrier_without_a_rank(rank, world):
    if rank == 2:
        stay_away()
    about_to_hang()
    dist.barrier()


@hangs(3)
def all_reduce_without_a_rank(rank, world):
    if rank == 0:
        stay_away()
    about_to_hang()
    dist.all_reduce(values(rank, 5))


@hangs(3)
def broadcast_without_its_root(rank, world):
    if rank == 1:
        stay_away()
    about_to_hang()
    dist.broadcast(values(rank, 5), 1)


@hangs(2)
def one_collective_more(rank, world):
    dist.all_reduce(values(rank, 5))
    about_to_hang()
    if rank == 1:
        time.sleep(1000)
    dist.all_reduce(values(rank, 5))


@hangs(2)
def groups_crosswise(rank, world):
    one, other = dist.new_group([0, 1]), dist.new_group([0, 1])
    about_to_hang()
    dist.all_reduce(values(rank, 5), group=one if rank == 0 else other)
    dist.all_reduce(values(rank, 5), group=other if rank == 0 else one)


@hangs(3)
def groups_in_a_circle(rank, world):
    groups = [dist.new_group([i, (i + 1) % 3]) for i in range(3)]
    about_to_hang()
    dist.barrier(groups[rank])
    dist.barrier(groups[(rank - 1) % 3])


@hangs(2)
def send_against_all_reduce(rank, world):
    about_to_hang()
    if rank == 0:
        dist.recv(values(rank, 4), 1)
        dist.all_reduce(values(rank, 4))
    else:
        dist.all_reduce(values(rank, 4))
        dist.send(values(rank, 4), 0)


@hangs(3)
def new_group_of_some(rank, world):
    if rank == 2:
        stay_away()
    about_to_hang()
    dist.new_group([0, 1])


@hangs(2)
def a_barrier_against_a_recv(rank, world):
    about_to_hang()
    if rank == 0:
        dist.barrier()
    else:
        dist.recv(values(rank, 4), 0)


@hangs(3)
def one_message_for_two_receives(rank, world):
    about_to_hang()
    if rank == 0:
        dist.send(values(rank, 4), 1)
        time.sleep(1000)
    if rank == 1:
        dist.recv(values(rank, 4), 0)
        dist.recv(values(rank, 4), 0)
    time.sleep(1000)
