// The ranks of a model that is cut over devices: tensor, pipeline, data and expert parallel groups, as Megatron-LM's
// parallel_state makes them.
#pragma once

#include <string>
#include <vector>

#include "kernbench/distributed.h"

namespace kernbench::tp {

using torch::distributed::ProcessGroup;

struct ModelParallelOptions {
  int tensor_model_parallel_size = 1;
  int pipeline_model_parallel_size = 1;
  /// Only 1: attention does not share a sequence over ranks yet.
  int context_parallel_size = 1;
  int expert_model_parallel_size = 1;
  /// Which ranks are neighbours: those of the first kind have consecutive numbers.
  std::string order = "tp-cp-ep-dp-pp";
};

/// Makes the calling rank's groups; every rank of the default process group calls it with the same options and waits
/// for all. Sizes must divide the world: ValueError else, and for a size or an order that cannot be; ProgramError
/// ("ContextError") before torch::distributed::init_process_group, or when it has been called already.
void initialize_model_parallel(const ModelParallelOptions& options = {}, Where where = Where::current());
void initialize_model_parallel(int tensor_model_parallel_size, int pipeline_model_parallel_size = 1,
                               Where where = Where::current());
bool model_parallel_is_initialized();
/// Leaves the groups. Nothing happens where there are none.
void destroy_model_parallel(Where where = Where::current());

// Of the calling rank. ProgramError ("ContextError") before initialize_model_parallel.

ProcessGroup get_tensor_model_parallel_group(Where where = Where::current());
int get_tensor_model_parallel_world_size(Where where = Where::current());
int get_tensor_model_parallel_rank(Where where = Where::current());
/// Global rank of the first one of the group.
int get_tensor_model_parallel_src_rank(Where where = Where::current());

ProcessGroup get_pipeline_model_parallel_group(Where where = Where::current());
int get_pipeline_model_parallel_world_size(Where where = Where::current());
int get_pipeline_model_parallel_rank(Where where = Where::current());
/// Global ranks of the first and last stage, and of the neighbours, around at the ends.
int get_pipeline_model_parallel_first_rank(Where where = Where::current());
int get_pipeline_model_parallel_last_rank(Where where = Where::current());
int get_pipeline_model_parallel_next_rank(Where where = Where::current());
int get_pipeline_model_parallel_prev_rank(Where where = Where::current());
bool is_pipeline_first_stage(Where where = Where::current());
bool is_pipeline_last_stage(Where where = Where::current());

ProcessGroup get_data_parallel_group(Where where = Where::current());
int get_data_parallel_world_size(Where where = Where::current());
int get_data_parallel_rank(Where where = Where::current());
int get_data_parallel_src_rank(Where where = Where::current());

/// The ranks that hold one copy of the model: tensor and pipeline parallel.
ProcessGroup get_model_parallel_group(Where where = Where::current());

int get_context_parallel_world_size(Where where = Where::current());
int get_context_parallel_rank(Where where = Where::current());

ProcessGroup get_expert_model_parallel_group(Where where = Where::current());
int get_expert_model_parallel_world_size(Where where = Where::current());
int get_expert_model_parallel_rank(Where where = Where::current());
/// The ranks that hold the same experts.
ProcessGroup get_expert_data_parallel_group(Where where = Where::current());
int get_expert_data_parallel_world_size(Where where = Where::current());
int get_expert_data_parallel_rank(Where where = Where::current());

}  // namespace kernbench::tp
