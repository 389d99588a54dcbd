// Compiled into each program that is linked against an installed KernBench: where that has its topologies and
// collectives, wherever it has been moved to. Weak, because a library and a program that uses it may both have it.
extern "C" {
[[gnu::weak]] extern const char* const kernbench_share_folder;
const char* const kernbench_share_folder = KERNBENCH_SHARE_FOLDER;
}
