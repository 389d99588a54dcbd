// The model parallel groups of the calling worker, kept in its context.
#include "kernbench/tp/parallel_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "parallel/rank_generator.h"
#include "runtime/context.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

namespace dist = torch::distributed;

namespace {

struct ParallelState {
  ProcessGroup tensor, pipeline, data, model, expert, expert_data;
  std::weak_ptr<void> in;  // the default group that these are parts of, as the context has it
};

runtime::HostContext& context_of(const char* call) {
  return runtime::current_context(call);
}

const ParallelState& state_of(const char* call) {
  const auto state = std::static_pointer_cast<ParallelState>(context_of(call).model_parallel);
  if (state == nullptr) {
    throw ProgramError("ContextError", fmt::format("{}: model parallel groups are not initialized; call "
                                                   "tp::initialize_model_parallel on every rank first",
                                                   call));
  }
  return *state;
}

/// A group as getters ask for it, with the line of the call.
class Asked {
 public:
  Asked(const char* call, const Where& where, ProcessGroup ParallelState::* group)
      : here_(call, where), group_(state_of(call).*group) {}
  const ProcessGroup& group() const { return group_; }
  int size() const { return dist::get_world_size(group_); }
  int rank() const { return dist::get_rank(group_); }
  int global(int rank) const { return dist::get_global_rank(group_, (rank + size()) % size()); }

 private:
  tensor::HostCall here_;
  const ProcessGroup& group_;
};

void check_sizes(const ModelParallelOptions& options) {
  const auto check = [](const char* name, int size) {
    if (size >= 1) return;
    throw ValueError(fmt::format("initialize_model_parallel: {} must be at least 1, got {}", name, size));
  };
  check("tensor_model_parallel_size", options.tensor_model_parallel_size);
  check("pipeline_model_parallel_size", options.pipeline_model_parallel_size);
  check("context_parallel_size", options.context_parallel_size);
  check("expert_model_parallel_size", options.expert_model_parallel_size);
  if (options.context_parallel_size != 1) {
    throw ValueError(
        fmt::format("initialize_model_parallel: a context_parallel_size of {} is not supported, because attention "
                    "does not share a sequence over ranks; use 1",
                    options.context_parallel_size));
  }
}

int quotient(int world_size, int model_size, const char* what) {
  if (world_size % model_size == 0) return world_size / model_size;
  throw ValueError(fmt::format("initialize_model_parallel: world_size ({}) is not divisible by {} ({})", world_size,
                               model_size, what));
}

/// Makes all groups of a partition of the world, which takes all ranks, and returns the caller's. `where`: the user's
/// line, for ranks that make other groups.
ProcessGroup make(const std::vector<ParallelSize>& axes, const std::vector<std::string>& kinds, const Where& where) {
  const int rank = dist::get_rank();
  ProcessGroup mine;
  for (const std::vector<int>& ranks : groups_along(axes, kinds)) {
    const ProcessGroup group = dist::new_group(ranks, {}, where);
    if (std::ranges::find(ranks, rank) != ranks.end()) mine = group;
  }
  return mine;
}

}  // namespace

void initialize_model_parallel(const ModelParallelOptions& options, Where where) {
  const tensor::HostCall here("initialize_model_parallel", where);
  runtime::HostContext& context = context_of("initialize_model_parallel");
  if (!dist::is_initialized()) {
    throw ProgramError("ContextError",
                       "initialize_model_parallel: the default process group is not initialized; call "
                       "torch::distributed::init_process_group first");
  }
  if (context.model_parallel != nullptr) {
    throw ProgramError("ContextError",
                       "initialize_model_parallel: model parallel groups are already initialized; call "
                       "tp::destroy_model_parallel before making others");
  }
  check_sizes(options);
  const int world = dist::get_world_size(), tensor = options.tensor_model_parallel_size,
            pipeline = options.pipeline_model_parallel_size, expert = options.expert_model_parallel_size;
  const int data = quotient(world, tensor * pipeline, "tensor times pipeline model parallel size");
  const int expert_data = quotient(world, tensor * pipeline * expert, "tensor times pipeline times expert size");
  const auto dense =
      ordered_axes({{"tp", tensor}, {"cp", 1}, {"ep", 1}, {"dp", data}, {"pp", pipeline}}, options.order);
  const auto sparse =
      ordered_axes({{"tp", tensor}, {"cp", 1}, {"ep", expert}, {"dp", expert_data}, {"pp", pipeline}}, options.order);
  auto state = std::make_shared<ParallelState>();
  state->in = context.distributed;
  state->data = make(dense, {"dp"}, where);
  state->model = make(dense, {"tp", "pp"}, where);
  state->tensor = make(dense, {"tp"}, where);
  state->pipeline = make(dense, {"pp"}, where);
  state->expert = make(sparse, {"ep"}, where);
  state->expert_data = make(sparse, {"dp"}, where);
  context.model_parallel = std::move(state);
}

void initialize_model_parallel(int tensor_model_parallel_size, int pipeline_model_parallel_size, Where where) {
  initialize_model_parallel({.tensor_model_parallel_size = tensor_model_parallel_size,
                             .pipeline_model_parallel_size = pipeline_model_parallel_size},
                            where);
}

bool model_parallel_is_initialized() {
  return context_of("model_parallel_is_initialized").model_parallel != nullptr;
}

void destroy_model_parallel(Where where) {
  const tensor::HostCall here("destroy_model_parallel", where);
  runtime::HostContext& context = context_of("destroy_model_parallel");
  const auto state = std::static_pointer_cast<ParallelState>(std::exchange(context.model_parallel, nullptr));
  // With the default group, which may be another one by now, its parts have gone, too.
  if (state == nullptr || !dist::is_initialized() || state->in.lock() != context.distributed) return;
  for (const ProcessGroup& group :
       {state->data, state->model, state->tensor, state->pipeline, state->expert, state->expert_data}) {
    dist::destroy_process_group(group);
  }
}

ProcessGroup get_tensor_model_parallel_group(Where where) {
  return Asked("get_tensor_model_parallel_group", where, &ParallelState::tensor).group();
}
int get_tensor_model_parallel_world_size(Where where) {
  return Asked("get_tensor_model_parallel_world_size", where, &ParallelState::tensor).size();
}
int get_tensor_model_parallel_rank(Where where) {
  return Asked("get_tensor_model_parallel_rank", where, &ParallelState::tensor).rank();
}
int get_tensor_model_parallel_src_rank(Where where) {
  return Asked("get_tensor_model_parallel_src_rank", where, &ParallelState::tensor).global(0);
}

ProcessGroup get_pipeline_model_parallel_group(Where where) {
  return Asked("get_pipeline_model_parallel_group", where, &ParallelState::pipeline).group();
}
int get_pipeline_model_parallel_world_size(Where where) {
  return Asked("get_pipeline_model_parallel_world_size", where, &ParallelState::pipeline).size();
}
int get_pipeline_model_parallel_rank(Where where) {
  return Asked("get_pipeline_model_parallel_rank", where, &ParallelState::pipeline).rank();
}
int get_pipeline_model_parallel_first_rank(Where where) {
  return Asked("get_pipeline_model_parallel_first_rank", where, &ParallelState::pipeline).global(0);
}
int get_pipeline_model_parallel_last_rank(Where where) {
  return Asked("get_pipeline_model_parallel_last_rank", where, &ParallelState::pipeline).global(-1);
}
int get_pipeline_model_parallel_next_rank(Where where) {
  const Asked asked("get_pipeline_model_parallel_next_rank", where, &ParallelState::pipeline);
  return asked.global(asked.rank() + 1);
}
int get_pipeline_model_parallel_prev_rank(Where where) {
  const Asked asked("get_pipeline_model_parallel_prev_rank", where, &ParallelState::pipeline);
  return asked.global(asked.rank() - 1);
}
bool is_pipeline_first_stage(Where where) {
  return Asked("is_pipeline_first_stage", where, &ParallelState::pipeline).rank() == 0;
}
bool is_pipeline_last_stage(Where where) {
  const Asked asked("is_pipeline_last_stage", where, &ParallelState::pipeline);
  return asked.rank() == asked.size() - 1;
}

ProcessGroup get_data_parallel_group(Where where) {
  return Asked("get_data_parallel_group", where, &ParallelState::data).group();
}
int get_data_parallel_world_size(Where where) {
  return Asked("get_data_parallel_world_size", where, &ParallelState::data).size();
}
int get_data_parallel_rank(Where where) {
  return Asked("get_data_parallel_rank", where, &ParallelState::data).rank();
}
int get_data_parallel_src_rank(Where where) {
  return Asked("get_data_parallel_src_rank", where, &ParallelState::data).global(0);
}

ProcessGroup get_model_parallel_group(Where where) {
  return Asked("get_model_parallel_group", where, &ParallelState::model).group();
}

int get_context_parallel_world_size(Where where) {
  const tensor::HostCall here("get_context_parallel_world_size", where);
  state_of("get_context_parallel_world_size");
  return 1;
}
int get_context_parallel_rank(Where where) {
  const tensor::HostCall here("get_context_parallel_rank", where);
  state_of("get_context_parallel_rank");
  return 0;
}

ProcessGroup get_expert_model_parallel_group(Where where) {
  return Asked("get_expert_model_parallel_group", where, &ParallelState::expert).group();
}
int get_expert_model_parallel_world_size(Where where) {
  return Asked("get_expert_model_parallel_world_size", where, &ParallelState::expert).size();
}
int get_expert_model_parallel_rank(Where where) {
  return Asked("get_expert_model_parallel_rank", where, &ParallelState::expert).rank();
}
ProcessGroup get_expert_data_parallel_group(Where where) {
  return Asked("get_expert_data_parallel_group", where, &ParallelState::expert_data).group();
}
int get_expert_data_parallel_world_size(Where where) {
  return Asked("get_expert_data_parallel_world_size", where, &ParallelState::expert_data).size();
}
int get_expert_data_parallel_rank(Where where) {
  return Asked("get_expert_data_parallel_rank", where, &ParallelState::expert_data).rank();
}

}  // namespace kernbench::tp
