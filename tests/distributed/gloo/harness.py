"""What the programs of this folder share: their list, what a rank may show, and the processes that they run in."""

import datetime
import os
import signal
import sys
import time
import traceback

import torch
import torch.distributed as dist

SUM, PRODUCT, MIN, MAX = dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX
BAND, BOR, BXOR = dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR

INTEGERS = [torch.int32, torch.int64, torch.int8, torch.uint8]
TYPES = [torch.float32, torch.float16] + INTEGERS
NAMES = {torch.float32: "Float", torch.float16: "Half", torch.int32: "Int", torch.int64: "Long", torch.int8: "Char",
         torch.uint8: "Byte"}

TOGETHER, APART, ALONE, HANGS = "together", "apart", "alone", "hangs"
programs = []  # (name, numbers of ranks, function, kind)

lines = []  # what the calling rank has shown
reached = None  # tells the parent that this rank comes to the call that hangs


def _add(kind, worlds):
    def register(function):
        programs.append((function.__name__, worlds, function, kind))
        return function

    return register


def program(*worlds):
    """A program in a world that others have used, too."""
    return _add(TOGETHER, worlds)


def apart(*worlds):
    """A program in a world of its own: what fails in it may show once more in a later barrier of the same world."""
    return _add(APART, worlds)


def alone(*worlds):
    """A program in processes of its own, which makes its default group itself."""
    return _add(ALONE, worlds)


def hangs(*worlds):
    """A program in a world of its own that never ends. Each rank says by about_to_hang() that it has come so far."""
    return _add(HANGS, worlds)


def values(rank, n, dtype=torch.float32):
    """Small whole numbers, another row of them on each rank."""
    return torch.tensor([(rank * 7 + i) % 5 for i in range(n)], dtype=dtype)


def _number(value):
    return "%d" % value if float(value).is_integer() else float(value).hex()


def show(*tensors):
    for x in tensors:
        numbers = "".join(" " + _number(value) for value in x.flatten().tolist())
        lines.append("%s %s:%s" % (NAMES[x.dtype], "x".join(map(str, x.shape)), numbers))


def say(*words):
    lines.append(" ".join(str(word) for word in words))


def attempt(call):
    """Only whether it fails: the words may differ."""
    try:
        call()
        say("ok")
    except Exception:
        say("throws")


def join_world(rank, world, store, seconds=300):
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=seconds))


def about_to_hang():
    os.write(reached, b".")


def _run_rank(batch, rank, world, folder, pipe):
    """In a child: writes what the rank shows, program by program, and ends."""
    global reached
    reached = pipe
    path = os.path.join(folder, str(rank))
    os.makedirs(path)
    os.environ.update(GLOO_SOCKET_IFNAME="lo", RANK=str(rank), WORLD_SIZE=str(world))
    os.environ["STORE"] = os.path.join(folder, "store")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # gloo and PyTorch warn and log there
    if batch[0][3] != ALONE:
        join_world(rank, world, os.environ["STORE"])
    for name, _, function, _ in batch:
        lines.clear()
        try:
            function(rank, world)
        except Exception:
            say("unexpected", traceback.format_exc().replace("\n", " | "))
        with open(os.path.join(path, name), "w") as out:
            out.writelines(line + "\n" for line in lines)
    os._exit(0)


class Batch:
    """Some programs, one after the other, in processes for `world` ranks."""

    def __init__(self, batch, world, folder):
        self.batch, self.world, self.folder = batch, world, folder
        os.makedirs(folder)
        self.pipe, pipe = os.pipe()
        os.set_blocking(self.pipe, False)
        self.children, self.arrived, self.hung, self.killed = [], 0, False, 0
        for rank in range(world):
            child = os.fork()
            if child == 0:
                try:
                    _run_rank(batch, rank, world, folder, pipe)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(1)
            self.children.append(child)
        os.close(pipe)
        self.since = None

    def over(self, patience):
        """Whether the ranks have ended, or will not end. They are given `patience` seconds in what may hang."""
        self.children = [child for child in self.children if not self._ended(child)]
        if not self.children:
            return True
        if self.batch[0][3] == HANGS:
            try:
                self.arrived += len(os.read(self.pipe, 64))
            except BlockingIOError:
                pass
            if self.arrived == self.world and self.since is None:
                self.since = time.time()
            self.hung = self.since is not None and time.time() - self.since > patience
        return self.hung

    def _ended(self, child):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended != 0 and os.WIFSIGNALED(status):
            self.killed += 1
        return ended != 0

    def kill(self):
        for child in self.children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def write(self, out):
        for name, _, _, kind in self.batch:
            out.write("### %s %d\n" % (name, self.world))
            if kind == HANGS:
                out.write("hangs\n" if self.hung else "ends\n")
                continue
            for rank in range(self.world):
                path = os.path.join(self.folder, str(rank), name)
                # An error that gloo finds in its own thread ends the process.
                missing = ["throws\n"] if kind == ALONE and self.killed else ["no answer\n"]
                text = open(path).readlines() if os.path.exists(path) else missing
                out.writelines("%d: %s" % (rank, line) for line in text)


def run_all(folder, out, seconds=60, patience=2):
    """Runs all programs, at once as far as they have processes of their own, and writes what the ranks show."""
    worlds = sorted({world for _, worlds, _, _ in programs for world in worlds})
    batches = []
    for world in worlds:
        mine = [each for each in programs if world in each[1]]
        together = [each for each in mine if each[3] == TOGETHER]
        batches += [(together, world)] if together else []
        batches += [([each], world) for each in mine if each[3] != TOGETHER]
    sys.stdout.flush()
    running = [Batch(batch, world, os.path.join(folder, str(i))) for i, (batch, world) in enumerate(batches)]
    end = time.time() + seconds
    open_batches = list(running)
    while open_batches and time.time() < end:
        open_batches = [each for each in open_batches if not each.over(patience)]
        time.sleep(0.02)
    for each in running:
        each.kill()
        each.write(out)
