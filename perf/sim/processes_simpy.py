"""The model of processes_kernbench.cpp on SimPy. Usage: processes_simpy.py N STEPS."""

import sys
import time

import simpy


def process(env, i, own, following, steps):
    for step in range(steps):
        yield env.timeout(1 + (i * 7 + step * 13) % 50)
        following.put(step)
        yield own.get()


def main():
    count, steps = int(sys.argv[1]), int(sys.argv[2])
    env = simpy.Environment()
    boxes = [simpy.Store(env) for _ in range(count)]
    for i in range(count):
        env.process(process(env, i, boxes[i], boxes[(i + 1) % count], steps))
    begin = time.process_time()
    env.run()
    seconds = time.process_time() - begin
    print("%.2f %.9f" % (seconds * 1e9 / count / steps, env.now * 1e-9))


main()
