"""send, recv and their like; transfers.cpp has the same programs, by the same names."""

import os

import torch.distributed as dist

from harness import *  # noqa: F403


@program(2, 3)
def send_and_recv(rank, world):
    x = values(rank, 7)
    if rank == 0:
        dist.send(x, 1)
    if rank == 1:
        say(dist.recv(x, 0))
    show(x)


@program(2)
def messages_of_odd_sizes(rank, world):
    for n in [0, 1, 2, 17, 1009]:
        x = values(rank, n)
        if rank == 0:
            dist.send(x, 1)
        else:
            dist.recv(x, 0)
        show(x)


@program(2)
def messages_of_every_type(rank, world):
    for dtype in TYPES:
        x = values(rank, 6, dtype).reshape(2, 3)
        if rank == 1:
            dist.send(x, 0)
        else:
            dist.recv(x, 1)
        show(x)


@program(2)
def messages_keep_their_order(rank, world):
    for i in range(5):
        x = values(rank + i, 4)
        if rank == 0:
            dist.send(x, 1)
        else:
            dist.recv(x, 0)
        show(x)


@program(2)
def message_into_a_range(rank, world):
    x = values(rank, 18).reshape(6, 3)
    if rank == 0:
        dist.send(x[4:6], 1)
    else:
        dist.recv(x[1:3], 0)
    show(x)


@program(2)
def tags_in_another_order(rank, world):
    x, y = values(rank, 5), values(rank, 5) + 10
    if rank == 0:
        works = [dist.isend(x, 1, tag=7), dist.isend(y, 1, tag=8)]
    else:
        works = [dist.irecv(y, 0, tag=8), dist.irecv(x, 0, tag=7)]
    for work in works:
        work.wait()
    show(x, y)


@program(2)
def tags_that_cross(rank, world):
    xs = [values(rank, n + 1) for n in range(4)]
    order = [0, 1, 2, 3] if rank == 0 else [2, 0, 3, 1]
    works = [dist.isend(xs[i], 1, tag=i) if rank == 0 else dist.irecv(xs[i], 0, tag=i) for i in order]
    for work in reversed(works):
        work.wait()
    show(*xs)


@program(2, 3, 4, 5, 8)
def ring_of_isend_and_irecv(rank, world):
    x, y = values(rank, 11), values(0, 11)
    works = [dist.isend(x, (rank + 1) % world), dist.irecv(y, (rank - 1) % world)]
    for work in works:
        work.wait()
    show(x, y)


@program(2, 4, 8)
def ring_of_even_and_odd_ranks(rank, world):
    x, y = values(rank, 6), values(0, 6)
    if rank % 2 == 0:
        dist.send(x, (rank + 1) % world)
        dist.recv(y, (rank - 1) % world)
    else:
        dist.recv(y, (rank - 1) % world)
        dist.send(x, (rank + 1) % world)
    show(y)


@program(2, 3, 5)
def ring_of_a_batch(rank, world):
    x, y = values(rank, 9), values(0, 9)
    operations = [dist.P2POp(dist.isend, x, (rank + 1) % world), dist.P2POp(dist.irecv, y, (rank - 1) % world)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    show(y)


@program(2, 4)
def exchange_in_pairs(rank, world):
    x, y = values(rank, 13), values(0, 13)
    receive = dist.irecv(y, rank ^ 1)
    dist.isend(x, rank ^ 1).wait()
    receive.wait()
    show(y)


@program(3, 4)
def everybody_to_everybody(rank, world):
    others = [each for each in range(world) if each != rank]
    received = [values(0, 3) for _ in range(world)]
    works = [dist.irecv(received[other], other) for other in others]
    works += [dist.isend(values(rank * world + other, 3), other) for other in others]
    for work in works:
        work.wait()
    for other in others:
        show(received[other])


@program(2, 3, 5, 8)
def pipeline(rank, world):
    x = values(rank, 8)
    y = values(0, 8)
    if rank > 0:
        dist.recv(y, rank - 1)
        x = x + y
    if rank + 1 < world:
        dist.send(x, rank + 1)
    show(x)


@program(2, 3, 5)
def gather_by_messages(rank, world):
    x = values(rank, 4)
    if rank > 0:
        dist.send(x, 0)
        return
    for other in range(1, world):
        y = values(0, 4)
        say(dist.recv(y, other))
        show(y)


@program(2, 4)
def scatter_by_messages(rank, world):
    x = values(9, 4 * world).reshape(world, 4)
    if rank == 0:
        works = [dist.isend(x[other], other) for other in range(1, world)]
        for work in works:
            work.wait()
    else:
        dist.recv(x[rank], 0)
    show(x)


@program(3, 5)
def halo_exchange(rank, world):
    x = values(rank, 6)
    works = []
    left, right = values(0, 1), values(0, 1)
    if rank > 0:
        works += [dist.isend(x[0:1], rank - 1), dist.irecv(left, rank - 1)]
    if rank + 1 < world:
        works += [dist.isend(x[5:6], rank + 1), dist.irecv(right, rank + 1)]
    for work in works:
        work.wait()
    show(left, right)


@program(2, 4)
def messages_between_collectives(rank, world):
    x = values(rank, 7)
    dist.all_reduce(x)
    if rank == 0:
        dist.send(x + 1, world - 1)
    if rank == world - 1:
        dist.recv(x, 0)
    dist.broadcast(x, world - 1)
    show(x)


@program(2, 3)
def messages_beside_collectives(rank, world):
    x, y = values(rank, 7), values(rank, 9)
    works = [dist.all_reduce(y, async_op=True)]
    if rank == 0:
        works.append(dist.isend(x, 1))
    if rank == 1:
        works.append(dist.irecv(x, 0))
    for work in reversed(works):
        work.wait()
    show(x, y)


@program(2, 3, 5)
def recv_from_anybody(rank, world):
    for sender in range(1, world):
        x = values(rank, 5)
        if rank == sender:
            dist.send(x, 0)
        if rank == 0:
            say(dist.recv(x))
            show(x)
        dist.barrier()


@program(2, 4)
def recv_from_anybody_of_all(rank, world):
    x = values(rank, 5)
    if rank > 0:
        dist.send(x, 0, tag=3)
        return
    senders, total = [], values(0, 5) * 0
    for _ in range(1, world):
        senders.append(dist.recv(x, tag=3))
        total = total + x
    say(sorted(senders))
    show(total)


@program(3)
def recv_from_anybody_then_from_one(rank, world):
    x = values(rank, 5)
    if rank == 0:
        say(dist.recv(x))
        show(x)
        say(dist.recv(x, 1))
        show(x)
    if rank == 1:
        dist.send(x, 0)
        dist.send(x + 1, 0)


@program(3)
def recv_from_anybody_in_a_group(rank, world):
    group = dist.new_group([1, 2])
    x = values(rank, 5)
    if rank == 2:
        dist.send(x, 1, group=group)
    if rank == 1:
        say(dist.recv(x, group=group))
    show(x)


@program(2)
def irecv_from_anybody(rank, world):
    x = values(rank, 5)
    if rank == 0:
        work = dist.irecv(x, tag=4)
        work.wait()
    else:
        dist.isend(x, 0, tag=4).wait()
    show(x)


@alone(2)
def message_to_oneself(rank, world):
    join_world(rank, world, os.environ["STORE"])
    attempt(lambda: dist.send(values(rank, 3), rank))


@alone(2)
def message_to_a_rank_that_does_not_exist(rank, world):
    join_world(rank, world, os.environ["STORE"])
    attempt(lambda: dist.send(values(rank, 3), world))


@alone(2)
def message_from_a_rank_that_does_not_exist(rank, world):
    join_world(rank, world, os.environ["STORE"])
    attempt(lambda: dist.recv(values(rank, 3), world))


@program(2)
def batch_of_nothing(rank, world):
    attempt(lambda: dist.batch_isend_irecv([]))
