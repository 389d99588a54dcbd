"""Making and leaving the default group, and ranks that fail; lifecycle.cpp has the same programs, by the same names."""

import datetime
import os
import time

import torch
import torch.distributed as dist

from harness import *  # noqa: F403


def store(number=0):
    return "%s%d" % (os.environ["STORE"], number)


@alone(1, 3)
def init_and_destroy(rank, world):
    say(dist.is_initialized())
    join_world(rank, world, store())
    say(dist.is_initialized(), dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
    say(dist.is_initialized())


@alone(2, 3)
def init_of_what_spawn_has_given(rank, world):
    # Elsewhere RANK and WORLD_SIZE say who a rank is; here they are set for each process.
    dist.init_process_group("gloo", init_method="file://" + store(), rank=int(os.environ["RANK"]),
                            world_size=int(os.environ["WORLD_SIZE"]))
    x = values(dist.get_rank(), 4)
    dist.all_reduce(x)
    show(x)


@alone(2, 3)
def init_again_after_destroy(rank, world):
    for i in range(3):
        join_world(rank, world, store(i))
        x = values(rank + i, 5)
        dist.all_reduce(x)
        show(x)
        dist.destroy_process_group()


@alone(2)
def init_with_other_ranks_after_destroy(rank, world):
    join_world(rank, world, store(0))
    x = values(dist.get_rank(), 3)
    dist.broadcast(x, 1)
    dist.destroy_process_group()
    join_world(world - 1 - rank, world, store(1))
    say(dist.get_rank())
    dist.broadcast(x, 1)
    y = values(dist.get_rank(), 3)
    dist.broadcast(y, 1)
    show(x, y)


@alone(3)
def a_smaller_world_after_destroy(rank, world):
    join_world(rank, world, store(0))
    dist.barrier()
    dist.destroy_process_group()
    if rank < 2:
        join_world(rank, 2, store(1))
        x = values(rank, 4)
        dist.all_reduce(x)
        show(x)


@alone(2)
def init_twice(rank, world):
    join_world(rank, world, store())
    attempt(lambda: join_world(rank, world, store(1)))
    x = values(rank, 4)
    dist.all_reduce(x)
    show(x)


@alone(2)
def before_init(rank, world):
    attempt(lambda: dist.get_rank())
    attempt(lambda: dist.get_world_size())
    attempt(lambda: dist.all_reduce(values(rank, 3)))
    attempt(lambda: dist.barrier())
    attempt(lambda: dist.send(values(rank, 3), 1 - rank))
    attempt(lambda: dist.new_group([0]))
    attempt(lambda: dist.destroy_process_group())


@alone(2)
def after_destroy(rank, world):
    join_world(rank, world, store())
    dist.destroy_process_group()
    attempt(lambda: dist.get_rank())
    attempt(lambda: dist.all_reduce(values(rank, 3)))


@alone(2)
def init_of_an_unknown_backend(rank, world):
    attempt(lambda: dist.init_process_group("telepathy", init_method="file://" + store(), rank=rank, world_size=world))
    say(dist.is_initialized())


@alone(3)
def monitored_barrier_without_a_rank(rank, world):
    join_world(rank, world, store())
    if rank == 1:
        time.sleep(1.5)
        return
    try:
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=1), wait_all_ranks=True)
        say("passed")
    except Exception as error:
        text = str(error)
        say(text[text.index("[Rank"):].split("\n")[0] if rank == 0 else "throws")


@alone(4)
def monitored_barrier_without_two_ranks(rank, world):
    join_world(rank, world, store())
    if rank in [1, 3]:
        time.sleep(1.5)
        return
    try:
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=1), wait_all_ranks=True)
        say("passed")
    except Exception as error:
        text = str(error)
        say(text[text.index("[Rank"):].split("\n")[0] if rank == 0 else "throws")


@alone(3)
def a_rank_that_ends_early(rank, world):
    join_world(rank, world, store())
    dist.all_reduce(values(rank, 4))
    if rank == 1:
        return
    attempt(lambda: dist.all_reduce(values(rank, 4)))


@alone(2)
def a_rank_that_throws(rank, world):
    join_world(rank, world, store())
    dist.barrier()
    if rank == 0:
        say("throws")
        return  # its process ends
    attempt(lambda: dist.barrier())


@alone(2)
def messages_of_sizes_that_do_not_fit(rank, world):
    join_world(rank, world, store())

    def exchange():
        if rank == 0:
            dist.send(values(rank, 9), 1)
            dist.barrier()
        else:
            dist.recv(values(rank, 4), 0)

    attempt(exchange)
