// Measures an NVIDIA GPU where the machine files of KernBench assume: launches, gaps between dependent kernels, copies
// over PCIe, latency and bandwidth of the memory, and a chain of small kernels that read weights ahead.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 launches.cu -o launches && ./launches
//
// Prints a line of JSON for each figure: {"what": …, "value": …, "unit": …}, medians unless it says otherwise.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                                   \
  do {                                                                                                \
    const cudaError_t error_ = (call);                                                                \
    if (error_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (false)

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
void report(const std::string& what, double value, const char* unit) {
  std::printf("{\"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", what.c_str(), value, unit);
  std::fflush(stdout);
}

/// The time of what `enqueue` puts into the stream, by events, in us.
double device_time(cudaStream_t stream, const std::function<void()>& enqueue) {
  static cudaEvent_t from = nullptr, to = nullptr;
  if (from == nullptr) {
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
  }
  CHECK(cudaEventRecord(from, stream));
  enqueue();
  CHECK(cudaEventRecord(to, stream));
  CHECK(cudaEventSynchronize(to));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, from, to));
  return milliseconds * 1e3;
}
double median_device_time(cudaStream_t stream, int repeats, const std::function<void()>& enqueue) {
  enqueue();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(device_time(stream, enqueue));
  return median(times);
}

__device__ std::uint64_t now() {
  std::uint64_t result;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(result));
  return result;
}

__global__ void empty() {}
__global__ void empty_with_arguments(void*, void*, void*, void*, void*, void*, void*, void*, int, int, int, int) {}
/// Does nothing, but lets the next kernel begin, and waits for the one before it.
__global__ void empty_overlapping() {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
}
/// Notes when its first block began and ended.
__global__ void stamped(std::uint64_t* stamps) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    stamps[0] = now();
    __threadfence();
    stamps[1] = now();
  }
}
/// Keeps the stream busy until the host says go, so that all that follows is in the queue.
__global__ void wait_for_host(const volatile int* go) {
  while (*go == 0) __nanosleep(200);
}
__global__ void tell_host(volatile int* flag, int value) {
  *flag = value;
  __threadfence_system();
}

void launch(cudaStream_t stream, dim3 grid, dim3 block, bool overlapping) {
  if (!overlapping) {
    empty<<<grid, block, 0, stream>>>();
    return;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, empty_overlapping));
}

cudaGraphExec_t captured(cudaStream_t stream, const std::function<void()>& enqueue) {
  cudaGraph_t graph;
  cudaGraphExec_t result;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  enqueue();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&result, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return result;
}

void launches(cudaStream_t stream) {
  // What a launch costs the host while the device keeps up.
  for (const int arguments : {0, 12}) {
    std::vector<double> times;
    for (int batch = 0; batch < 200; ++batch) {
      CHECK(cudaStreamSynchronize(stream));
      const auto from = Clock::now();
      for (int i = 0; i < 200; ++i) {
        if (arguments == 0)
          empty<<<1, 32, 0, stream>>>();
        else
          empty_with_arguments<<<132, 256, 0, stream>>>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                                        nullptr, 1, 2, 3, 4);
      }
      times.push_back(microseconds(from, Clock::now()) / 200);
    }
    report("host time of a launch, " + std::to_string(arguments) + " arguments", median(times), "us");
  }
  // Launch and wait.
  std::vector<double> times;
  for (int i = 0; i < 3000; ++i) {
    const auto from = Clock::now();
    empty<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    times.push_back(microseconds(from, Clock::now()));
  }
  report("launch of an empty kernel and synchronize", median(times), "us");
  std::sort(times.begin(), times.end());
  report("launch of an empty kernel and synchronize, 5th percentile", times[times.size() / 20], "us");
  times.clear();
  for (int i = 0; i < 1000; ++i) {
    const auto from = Clock::now();
    CHECK(cudaStreamSynchronize(stream));
    times.push_back(microseconds(from, Clock::now()));
  }
  report("synchronize with an idle stream", median(times), "us");
  times.clear();
  volatile int* flag;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(const_cast<int**>(&flag)), 4096, cudaHostAllocMapped));
  for (int i = 1; i <= 2000; ++i) {
    const auto from = Clock::now();
    tell_host<<<1, 1, 0, stream>>>(flag, i);
    while (*flag != i) {
    }
    times.push_back(microseconds(from, Clock::now()));
    CHECK(cudaStreamSynchronize(stream));
  }
  report("launch until the host sees a word that the kernel writes", median(times), "us");

  // From one dependent kernel to the next, with all of them in the queue.
  const dim3 grids[] = {dim3(1), dim3(132), dim3(1056)};
  for (const dim3 grid : grids) {
    const dim3 block(grid.x == 1 ? 32 : 256);
    for (const bool overlapping : {false, true}) {
      const std::string kind = std::string(overlapping ? "programmatic dependent launch" : "plain") + ", " +
                               std::to_string(grid.x) + " blocks of " + std::to_string(block.x);
      constexpr int kKernels = 400;
      times.clear();
      for (int repeat = 0; repeat < 30; ++repeat) {
        *flag = 0;
        wait_for_host<<<1, 1, 0, stream>>>(const_cast<int*>(flag));
        cudaEvent_t from, to;
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
        CHECK(cudaEventRecord(from, stream));
        for (int i = 0; i < kKernels; ++i) launch(stream, grid, block, overlapping);
        CHECK(cudaEventRecord(to, stream));
        *flag = 1;
        CHECK(cudaEventSynchronize(to));
        float milliseconds = 0;
        CHECK(cudaEventElapsedTime(&milliseconds, from, to));
        times.push_back(milliseconds * 1e3 / kKernels);
        CHECK(cudaEventDestroy(from));
        CHECK(cudaEventDestroy(to));
      }
      report("empty kernels one behind the other in a stream, each: " + kind, median(times), "us");
      // The slope between a short and a long graph leaves out what the graph itself costs.
      cudaGraphExec_t graphs[2];
      double medians[2], host[2];
      for (int size = 0; size < 2; ++size) {
        const int kernels = size == 0 ? 100 : 1100;
        graphs[size] = captured(stream, [&] {
          for (int i = 0; i < kernels; ++i) launch(stream, grid, block, overlapping);
        });
        medians[size] = median_device_time(stream, 30, [&] { CHECK(cudaGraphLaunch(graphs[size], stream)); });
        CHECK(cudaStreamSynchronize(stream));
        std::vector<double> calls;
        for (int i = 0; i < 30; ++i) {
          const auto from = Clock::now();
          CHECK(cudaGraphLaunch(graphs[size], stream));
          calls.push_back(microseconds(from, Clock::now()));
          CHECK(cudaStreamSynchronize(stream));
        }
        host[size] = median(calls);
        CHECK(cudaGraphExecDestroy(graphs[size]));
      }
      report("empty kernels one behind the other in a graph, each: " + kind, (medians[1] - medians[0]) / 1000, "us");
      report("host time of a graph's launch, 100 kernels: " + kind, host[0], "us");
      report("host time of a graph's launch, for each more kernel: " + kind, (host[1] - host[0]) / 1000, "us");
    }
  }
  cudaGraphExec_t one = captured(stream, [&] { launch(stream, dim3(1), dim3(32), false); });
  times.clear();
  for (int i = 0; i < 1000; ++i) {
    const auto from = Clock::now();
    CHECK(cudaGraphLaunch(one, stream));
    CHECK(cudaStreamSynchronize(stream));
    times.push_back(microseconds(from, Clock::now()));
  }
  report("launch of a graph of one empty kernel and synchronize", median(times), "us");

  // From the end of a kernel to the beginning of the next, by the device's clock.
  constexpr int kStamped = 300;
  std::uint64_t* stamps;
  CHECK(cudaMalloc(&stamps, kStamped * 16));
  for (const int blocks : {1, 132}) {
    for (const bool graph : {false, true}) {
      const auto enqueue = [&] {
        for (int i = 0; i < kStamped; ++i) stamped<<<blocks, 256, 0, stream>>>(stamps + 2 * i);
      };
      std::vector<double> gaps;
      cudaGraphExec_t chain = graph ? captured(stream, enqueue) : nullptr;
      for (int repeat = 0; repeat < 20; ++repeat) {
        if (graph) {
          CHECK(cudaGraphLaunch(chain, stream));
        } else {
          *flag = 0;
          wait_for_host<<<1, 1, 0, stream>>>(const_cast<int*>(flag));
          enqueue();
          *flag = 1;
        }
        CHECK(cudaStreamSynchronize(stream));
        std::vector<std::uint64_t> host(2 * kStamped);
        CHECK(cudaMemcpy(host.data(), stamps, kStamped * 16, cudaMemcpyDeviceToHost));
        for (int i = 50; i + 1 < kStamped; ++i) gaps.push_back(static_cast<double>(host[2 * i + 2] - host[2 * i + 1]));
      }
      double sum = 0;
      for (const double gap : gaps) sum += gap;
      report(std::string("from the end of a kernel's first block to the next one's beginning, mean, ") +
                 (graph ? "graph, " : "stream, ") + std::to_string(blocks) + " blocks",
             sum / static_cast<double>(gaps.size()) / 1e3, "us");
    }
  }
  CHECK(cudaFree(stamps));
}

void copies(cudaStream_t stream) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  char *host, *device;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&host), kMost, cudaHostAllocDefault));
  CHECK(cudaMalloc(&device, kMost));
  for (std::size_t i = 0; i < kMost; i += 512) host[i] = static_cast<char>(i >> 9);
  for (const bool up : {true, false}) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{1} << 20,
                                    std::size_t{16} << 20, std::size_t{256} << 20, kMost}) {
      const auto copy = [&] {
        CHECK(cudaMemcpyAsync(up ? device : host, up ? host : device, bytes,
                              up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream));
      };
      const int repeats = bytes > (std::size_t{32} << 20) ? 5 : 200;
      copy();
      CHECK(cudaStreamSynchronize(stream));
      std::vector<double> times;
      for (int i = 0; i < repeats; ++i) {
        const auto from = Clock::now();
        copy();
        CHECK(cudaStreamSynchronize(stream));
        times.push_back(microseconds(from, Clock::now()));
      }
      const std::string name = std::string(up ? "host to device, " : "device to host, ") + std::to_string(bytes) + " B";
      report("copy and synchronize, " + name, median(times), "us");
      report("copy by events, " + name, median_device_time(stream, repeats, copy), "us");
    }
  }
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
}

// ---- memory ----------------------------------------------------------------------------------------------------

/// A cycle through all places of a power of two: place i is followed by a i + c.
__global__ void make_cycle(std::uint32_t* next, std::uint64_t places, std::uint64_t stride) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < places;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    next[i * stride] = static_cast<std::uint32_t>((i * 2654435761ull * 4 + i + 12345 * 2 + 1) & (places - 1));
}
__global__ void walk(const std::uint32_t* next, std::uint64_t stride, int steps, std::uint32_t* end) {
  std::uint32_t at = *end;
  for (int i = 0; i < steps; ++i) at = __ldcg(next + at * stride);
  *end = at;
}
__global__ void walk_host(const volatile std::uint32_t* next, int steps, std::uint32_t* end) {
  std::uint32_t at = 0;
  for (int i = 0; i < steps; ++i) at = next[at];
  *end = at;
}

void latencies(cudaStream_t stream) {
  constexpr std::uint64_t kStride = 32;  // 128 B, a line of the second cache
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  std::uint64_t most = std::uint64_t{1} << 30;
  while (most * 2 <= (std::uint64_t{32} << 30) && most * 2 + (std::uint64_t{2} << 30) <= free) most *= 2;
  std::uint32_t *next, *end;
  CHECK(cudaMalloc(&next, most));
  CHECK(cudaMalloc(&end, 4));
  CHECK(cudaMemset(end, 0, 4));
  for (std::uint64_t bytes = std::uint64_t{1} << 20; bytes <= most;
       bytes *= bytes < (std::uint64_t{16} << 20) ? 4 : 2) {
    make_cycle<<<1024, 256, 0, stream>>>(next, bytes / (kStride * 4), kStride);
    CHECK(cudaMemsetAsync(end, 0, 4, stream));
    constexpr int kSteps = 20000;
    const double time = median_device_time(stream, 5, [&] { walk<<<1, 1, 0, stream>>>(next, kStride, kSteps, end); });
    report("latency of a load within " + std::to_string(bytes >> 20) + " MiB", time / kSteps * 1e3, "ns");
  }
  CHECK(cudaFree(next));
  std::uint32_t* host;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&host), 4096 * 16, cudaHostAllocMapped));
  for (std::uint32_t i = 0; i < 1024; ++i) host[i * 16] = ((i * 5 + 3) % 1024) * 16;
  constexpr int kSteps = 2000;
  const double time = median_device_time(stream, 20, [&] { walk_host<<<1, 1, 0, stream>>>(host, kSteps, end); });
  report("latency of the device's load from host memory", time / kSteps * 1e3, "ns");
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(end));
}

__global__ void read_all(const uint4* from, std::uint64_t count, std::uint32_t* sink) {
  std::uint32_t sum = 0;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  for (; i + 7 * step < count; i += 8 * step) {
    uint4 values[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) values[k] = __ldcs(from + i + k * step);
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += values[k].x ^ values[k].y ^ values[k].z ^ values[k].w;
  }
  for (; i < count; i += step) sum += from[i].x;
  if (sum == 0x12345678u) *sink = sum;
}
__global__ void write_all(uint4* to, std::uint64_t count, std::uint32_t value) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += step)
    __stcs(to + i, make_uint4(value, static_cast<std::uint32_t>(i), value, value));
}
__global__ void copy_all(const uint4* from, uint4* to, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    uint4 values[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k] = __ldcs(from + i + k * step);
#pragma unroll
    for (int k = 0; k < 4; ++k) __stcs(to + i + k * step, values[k]);
  }
  for (; i < count; i += step) to[i] = from[i];
}

void bandwidths(cudaStream_t stream, double nominal) {
  constexpr std::size_t kBytes = std::size_t{4} << 30;
  uint4 *from, *to;
  std::uint32_t* sink;
  CHECK(cudaMalloc(&from, kBytes));
  CHECK(cudaMalloc(&to, kBytes));
  CHECK(cudaMalloc(&sink, 4));
  write_all<<<2112, 512, 0, stream>>>(from, kBytes / 16, 0x9E3779B9u);
  const auto show = [&](const char* what, double bytes, double time) {
    report(std::string("bandwidth, ") + what, bytes / time / 1e6, "TB/s");
    report(std::string("share of nominal, ") + what, 100 * bytes / time / 1e6 / nominal, "%");
  };
  double best[3] = {1e30, 1e30, 1e30};
  for (const int blocks : {264, 528, 1056, 2112, 8448}) {
    best[0] = std::min(
        best[0], median_device_time(stream, 9, [&] { read_all<<<blocks, 512, 0, stream>>>(from, kBytes / 16, sink); }));
    best[1] = std::min(
        best[1], median_device_time(stream, 9, [&] { write_all<<<blocks, 512, 0, stream>>>(to, kBytes / 16, 77u); }));
    best[2] = std::min(
        best[2], median_device_time(stream, 9, [&] { copy_all<<<blocks, 512, 0, stream>>>(from, to, kBytes / 16); }));
  }
  show("read", kBytes, best[0]);
  show("write", kBytes, best[1]);
  show("copy, bytes read and written", 2.0 * kBytes, best[2]);
  show("cudaMemset", kBytes, median_device_time(stream, 9, [&] { CHECK(cudaMemsetAsync(to, 1, kBytes, stream)); }));
  show("cudaMemcpy within the device, bytes read and written", 2.0 * kBytes, median_device_time(stream, 9, [&] {
         CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, stream));
       }));
  // What a read of few bytes attains: a launch's beginning and end are in it.
  for (const std::size_t bytes :
       {std::size_t{1} << 20, std::size_t{8} << 20, std::size_t{64} << 20, std::size_t{512} << 20}) {
    const std::size_t count = bytes / 16, places = kBytes / bytes;
    std::size_t place = 0;
    cudaGraphExec_t graph = captured(stream, [&] {
      for (int i = 0; i < 64; ++i) {
        read_all<<<std::min<int>(1056, static_cast<int>(count / 512 / 4) + 1), 512, 0, stream>>>(from + place * count,
                                                                                                 count, sink);
        place = (place + std::max<std::size_t>(1, (std::size_t{64} << 20) / bytes + 1)) % places;
      }
    });
    const double time = median_device_time(stream, 5, [&] { CHECK(cudaGraphLaunch(graph, stream)); }) / 64;
    report("a kernel in a graph that reads " + std::to_string(bytes >> 20) + " MiB", time, "us");
    show(("read of " + std::to_string(bytes >> 20) + " MiB by one kernel of a graph").c_str(),
         static_cast<double>(bytes), time);
  }
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaFree(sink));
}

// ---- a chain of small kernels ----------------------------------------------------------------------------------

/// When the product behind one in the chain may begin. All wait for the one before them before they load anything: the
/// compiler moves loads into registers behind the wait in any case, but no prefetch.
enum class Overlap {
  none,        // plain launches
  at_once,     // when all blocks of this one have begun
  in_turn,     // when all blocks have multiplied
  prefetching  // at once, and prefetches its weights into the second cache before it waits
};
constexpr const char* kOverlaps[] = {"plain", "next begins at once", "next begins when all blocks have multiplied",
                                     "next begins at once and prefetches its weights"};

/// y = W x for W [rows, 2048] of bf16, a warp for each row: 4 KiB of weights by 8 loads of 16 B in each lane. x passes
/// shared memory, in two halves of each piece of eight so that lanes meet no conflict of banks. No kernel of the chain
/// writes weights, so they may be fetched before the wait.
template <Overlap kOverlap>
__global__ void __launch_bounds__(256) multiply(const uint4* weights, const float* x, float* y) {
  constexpr int kColumns = 2048;
  __shared__ float4 halves[2][kColumns / 8];
  const int warp = static_cast<int>(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint4* row = weights + static_cast<std::size_t>(warp) * (kColumns / 8) + lane;
  if (kOverlap == Overlap::at_once || kOverlap == Overlap::prefetching) cudaTriggerProgrammaticLaunchCompletion();
  if (kOverlap == Overlap::prefetching) {
#pragma unroll
    for (int k = 0; k < 8; ++k) asm volatile("prefetch.global.L2 [%0];" ::"l"(row + k * 32));
  }
  if (kOverlap != Overlap::none) cudaGridDependencySynchronize();
  uint4 mine[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(mine[k].x), "=r"(mine[k].y), "=r"(mine[k].z), "=r"(mine[k].w)
                 : "l"(row + k * 32));
  }
  const float4* operand = reinterpret_cast<const float4*>(x) + threadIdx.x * 2;
  halves[0][threadIdx.x] = __ldcg(operand);
  halves[1][threadIdx.x] = __ldcg(operand + 1);
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&mine[k]);
    const float4 low = halves[0][k * 32 + lane], high = halves[1][k * 32 + lane];
    const float2 a = __bfloat1622float2(pairs[0]), b = __bfloat1622float2(pairs[1]);
    const float2 c = __bfloat1622float2(pairs[2]), d = __bfloat1622float2(pairs[3]);
    sum += a.x * low.x + a.y * low.y + b.x * low.z + b.y * low.w + c.x * high.x + c.y * high.y + d.x * high.z +
           d.y * high.w;
  }
  if (kOverlap == Overlap::in_turn) cudaTriggerProgrammaticLaunchCompletion();
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
  if (lane == 0) y[warp] = sum;
}

using Multiply = void (*)(const uint4*, const float*, float*);
constexpr Multiply kMultiply[] = {multiply<Overlap::none>, multiply<Overlap::at_once>, multiply<Overlap::in_turn>,
                                  multiply<Overlap::prefetching>};

void chain(cudaStream_t stream, int rows) {
  constexpr int kKernels = 100, kColumns = 2048;
  const std::size_t words = static_cast<std::size_t>(rows) * kColumns;
  std::vector<__nv_bfloat16> host(words);
  std::uint32_t state = 1;
  for (auto& weight : host) {
    state = state * 1664525u + 1013904223u;
    weight = __float2bfloat16((static_cast<float>(state >> 8) * 0x1p-24f - 0.5f) * 2 * std::sqrt(3.0f / kColumns));
  }
  __nv_bfloat16* weights;
  float* vectors;
  CHECK(cudaMalloc(&weights, words * 2 * kKernels));
  CHECK(cudaMalloc(&vectors, static_cast<std::size_t>(kKernels + 1) * kColumns * 4));
  for (int i = 0; i < kKernels; ++i)
    CHECK(cudaMemcpy(weights + words * i, host.data(), words * 2, cudaMemcpyHostToDevice));
  std::vector<float> first(kColumns, 1.0f), expected;
  const auto enqueue = [&](int kind) {
    for (int i = 0; i < kKernels; ++i) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3(rows / 8);
      config.blockDim = dim3(256);
      config.stream = stream;
      cudaLaunchAttribute attribute;
      attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attribute.val.programmaticStreamSerializationAllowed = 1;
      config.attrs = &attribute;
      config.numAttrs = kind == 0 ? 0 : 1;
      const auto* w = reinterpret_cast<const uint4*>(weights + words * i);
      const float* x = vectors + static_cast<std::size_t>(i) * kColumns;
      float* y = vectors + static_cast<std::size_t>(i + 1) * kColumns;
      CHECK(cudaLaunchKernelEx(&config, kMultiply[kind], w, x, y));
    }
  };
  for (int kind = 0; kind < 4; ++kind) {
    for (const bool graph : {false, true}) {
      // Outputs of an earlier variant must not stand in for those of this one; rows that nobody writes are 0.
      CHECK(cudaMemset(vectors, 0, static_cast<std::size_t>(kKernels + 1) * kColumns * 4));
      CHECK(cudaMemcpy(vectors, first.data(), kColumns * 4, cudaMemcpyHostToDevice));
      cudaGraphExec_t replay = graph ? captured(stream, [&] { enqueue(kind); }) : nullptr;
      const double time = median_device_time(stream, 30, [&] {
        if (graph)
          CHECK(cudaGraphLaunch(replay, stream));
        else
          enqueue(kind);
      });
      std::vector<float> got(kColumns);
      CHECK(cudaMemcpy(got.data(), vectors + static_cast<std::size_t>(kKernels) * kColumns, kColumns * 4,
                       cudaMemcpyDeviceToHost));
      if (expected.empty()) expected = got;
      const bool right = got == expected && std::isfinite(got[0]) && got[0] != 0;
      const std::string name = "chain of 100 products with " + std::to_string(words * 2 >> 20) +
                               " MiB of weights, each, " + (graph ? "graph: " : "stream: ") + kOverlaps[kind] +
                               (right ? "" : " (WRONG VALUES)");
      report(name, time / kKernels, "us");
      if (replay != nullptr) CHECK(cudaGraphExecDestroy(replay));
    }
  }
  CHECK(cudaFree(weights));
  CHECK(cudaFree(vectors));
}

}  // namespace

int main(int count, char** arguments) {
  CHECK(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  int clock = 0, driver = 0, runtime = 0;
  CHECK(cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, 0));
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  const double nominal = 2.0 * clock * 1e3 * device.memoryBusWidth / 8 / 1e12;
  std::printf("{\"gpu\": \"%s\", \"multiprocessors\": %d, \"l2\": %d, \"driver\": %d, \"runtime\": %d}\n", device.name,
              device.multiProcessorCount, device.l2CacheSize, driver, runtime);
  report("nominal bandwidth: two transfers in each cycle of the memory's clock, over the bus", nominal, "TB/s");
  cudaStream_t stream;  // launches compete with nothing: the process has this stream alone
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::string part = count > 1 ? arguments[1] : "all";
  if (part == "all" || part == "launches") launches(stream);
  if (part == "all" || part == "copies") copies(stream);
  if (part == "all" || part == "latencies") latencies(stream);
  if (part == "all" || part == "bandwidths") bandwidths(stream, nominal);
  if (part == "all" || part == "chain") {
    for (const int rows : {2048, 512}) chain(stream, rows);
  }
  return 0;
}
