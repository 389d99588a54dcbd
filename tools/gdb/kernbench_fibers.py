"""gdb command `kernbench fibers`: the fibers of the running simulations, with their stacks.

Load it with `source tools/gdb/kernbench_fibers.py`, in a live process or on a core file. Needs debug information
(build types Debug and RelWithDebInfo). Nothing in the process is changed: the stacks are unwound from the registers
that each fiber saved when it yielded.

    kernbench fibers            all live fibers: agent, name, status, and a backtrace of the suspended ones
    kernbench fibers NAME       only those whose name contains NAME
"""

import gdb
import gdb.unwinder

# The frame that Boost.Context's jump_fcontext leaves on a stack (x86-64, System V), from its lowest address.
SAVED_REGISTERS = {"r12": 0x08, "r13": 0x10, "r14": 0x18, "r15": 0x20, "rbx": 0x28, "rbp": 0x30, "rip": 0x38}
FRAME_SIZE = 0x40


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class SuspendedFiberUnwinder(gdb.unwinder.Unwinder):
    """While `resume_point` is set, the caller of the innermost frame is the suspended fiber."""

    def __init__(self):
        super().__init__("kernbench-fiber")
        self.resume_point = None
        self.innermost_sp = None

    def __call__(self, pending_frame):
        if self.resume_point is None:
            return None
        sp = pending_frame.read_register("rsp")
        if int(sp) != self.innermost_sp:
            return None
        word = gdb.lookup_type("unsigned long")
        # gdb insists that a caller's frame lies above its callee's: let the innermost frame seem to be on the fiber's stack.
        frame_id = FrameId(gdb.Value(self.resume_point).cast(word), pending_frame.read_register("rip"))
        unwind_info = pending_frame.create_unwind_info(frame_id)
        for register, offset in SAVED_REGISTERS.items():
            value = gdb.Value(self.resume_point + offset).cast(word.pointer()).dereference()
            unwind_info.add_saved_register(register, value)
        unwind_info.add_saved_register("rsp", gdb.Value(self.resume_point + FRAME_SIZE).cast(word))
        return unwind_info


UNWINDER = SuspendedFiberUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def backtrace_of(resume_point):
    """The lines of the backtrace of a fiber that saved its registers at `resume_point`."""
    gdb.newest_frame().select()
    UNWINDER.innermost_sp = int(gdb.selected_frame().read_register("rsp"))
    UNWINDER.resume_point = resume_point
    try:
        gdb.invalidate_cached_frames()
        lines = gdb.execute("backtrace", to_string=True).splitlines()
    except gdb.error as error:
        lines = ["", "cannot unwind: %s" % error]
    finally:
        UNWINDER.resume_point = None
        gdb.invalidate_cached_frames()
    # The first frame is the one in which the thread really is.
    starts = [i for i, line in enumerate(lines) if line.startswith("#1 ")]
    return lines[starts[0]:] if starts else lines


def fibers_of_thread():
    """The live fibers of the simulation that the selected thread runs, most recent first."""
    state = gdb.parse_and_eval("kernbench::sim::active_scheduler")
    if int(state) == 0:
        return []
    fibers = []
    fiber = state["first_live"]
    while int(fiber) != 0:
        # A unique_ptr is its pointer.
        pointer_type = gdb.lookup_type("kernbench::sim::Fiber::Implementation").pointer().pointer()
        implementation = fiber["implementation_"].address.cast(pointer_type).dereference().dereference()
        fibers.append(implementation)
        fiber = implementation["next_live"]
    return fibers


def text_of(string):
    return string["_M_dataplus"]["_M_p"].string()


class KernBenchCommand(gdb.Command):
    """Commands for KernBench."""

    def __init__(self):
        super().__init__("kernbench", gdb.COMMAND_USER, prefix=True)


class FibersCommand(gdb.Command):
    """kernbench fibers [NAME]: list the live fibers, with a backtrace of each that is suspended."""

    def __init__(self):
        super().__init__("kernbench fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        selected = gdb.selected_thread()
        if selected is None:
            raise gdb.GdbError("no process")
        total = 0
        try:
            for thread in sorted(gdb.selected_inferior().threads(), key=lambda each: each.num):
                thread.switch()
                total += self.list_thread(thread, argument.strip())
        finally:
            selected.switch()
        print("%d fibers" % total)

    def list_thread(self, thread, wanted):
        try:
            fibers = fibers_of_thread()
        except gdb.error as error:
            print("thread %d: no fibers can be found: %s" % (thread.num, error))
            return 0
        fibers.sort(key=lambda each: (int(each["options"]["agent"]["value"]), int(each["resume_order"])))
        count = 0
        for fiber in fibers:
            name = text_of(fiber["options"]["name"]["text_"])
            if wanted not in name:
                continue
            count += 1
            status = str(fiber["status"]).split("::")[-1]
            print("agent %d '%s' (%s, thread %d)" % (int(fiber["options"]["agent"]["value"]), name, status, thread.num))
            if status not in ("created", "running"):
                for line in backtrace_of(int(fiber["context"]["resume_point"])):
                    print("    " + line)
        return count


KernBenchCommand()
FibersCommand()
