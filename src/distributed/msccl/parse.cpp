#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tinyxml2.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "distributed/msccl/schedule.h"
#include "kernbench/error.h"

namespace kernbench::distributed::msccl {
namespace {

using Names = std::span<const std::string_view>;

// A file has at most so much: beyond, checking it would take minutes.
constexpr int kMostRanks = 1024;
constexpr int kMostBlocks = 2048;
constexpr int kMostChunks = 65536;
constexpr std::int64_t kMostMoves = 50'000;  // chunks of all steps
constexpr int kMostChannels = 1024;

constexpr std::array<std::string_view, 12> kAlgoKeys{"name",  "proto",    "nchannels", "nchunksperloop",
                                                     "ngpus", "coll",     "inplace",   "outofplace",
                                                     "redop", "minBytes", "maxBytes",  "nthreads"};
constexpr std::array<std::string_view, 4> kGpuKeys{"id", "i_chunks", "o_chunks", "s_chunks"};
constexpr std::array<std::string_view, 4> kBlockKeys{"id", "send", "recv", "chan"};
constexpr std::array<std::string_view, 10> kStepKeys{"s",      "type", "srcbuf", "srcoff", "dstbuf",
                                                     "dstoff", "cnt",  "depid",  "deps",   "hasdep"};

struct Collective {
  std::string_view name;
  CollectiveOperation operation;
};
constexpr std::array<Collective, 5> kCollectives{{{"allreduce", CollectiveOperation::all_reduce},
                                                  {"allgather", CollectiveOperation::all_gather},
                                                  {"reducescatter", CollectiveOperation::reduce_scatter},
                                                  {"reduce_scatter", CollectiveOperation::reduce_scatter},
                                                  {"alltoall", CollectiveOperation::all_to_all}}};

std::string did_you_mean(std::string_view word, Names names) {
  const std::string_view near = nearest(word, names);
  return near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near);
}

/// One file: reads its elements and keeps what is wrong with them.
class Parser {
 public:
  explicit Parser(std::string file) { schedule_.file = std::move(file); }

  Schedule parse(const std::string& text) {
    tinyxml2::XMLDocument document;
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
      problem(document.ErrorLineNum(), "the file",
              fmt::format("is no well-formed XML ({}); write <algo …> with <gpu>, <tb> and <step> in it",
                          document.ErrorIDToName(document.ErrorID())));
      fail();
    }
    const tinyxml2::XMLElement* root = document.RootElement();
    if (root == nullptr || std::string_view(root->Name()) != "algo") {
      problem(root == nullptr ? 1 : root->GetLineNum(), "the file",
              "has no <algo> as its outermost element; an MSCCL file is one <algo>");
      fail();
    }
    read_algo(*root);
    fail();
    return std::move(schedule_);
  }

 private:
  using Element = tinyxml2::XMLElement;

  void problem(int line, const std::string& what, const std::string& reason) {
    constexpr std::size_t kMostProblems = 50;
    if (problems_.size() < kMostProblems)
      problems_.push_back(fmt::format("{}:{}: {}: {}", schedule_.file, line, what, reason));
  }
  void fail() const {
    if (!problems_.empty()) throw ConfigurationError(fmt::format("{}", fmt::join(problems_, "\n")));
  }

  void check_keys(const Element& element, const std::string& what, Names known) {
    std::set<std::string_view> seen;
    for (const auto* each = element.FirstAttribute(); each != nullptr; each = each->Next()) {
      const std::string_view key = each->Name();
      if (std::ranges::find(known, key) == known.end())
        problem(each->GetLineNum(), what,
                fmt::format("unknown attribute {}{}; it has {}", in_quotes(key), did_you_mean(key, known),
                            fmt::join(known, ", ")));
      if (!seen.insert(key).second)
        problem(each->GetLineNum(), what, fmt::format("attribute {} is there twice; leave one", in_quotes(key)));
    }
  }

  /// A whole number from `least` to `most`; without `otherwise` it has to be there.
  int number(const Element& element, const std::string& what, const char* key, int least, int most,
             std::optional<int> otherwise = {}) {
    const char* text = element.Attribute(key);
    if (text == nullptr) {
      if (otherwise) return *otherwise;
      problem(element.GetLineNum(), what, fmt::format("attribute \"{}\" is missing; add {}=\"…\"", key, key));
      return least;
    }
    int value = 0;
    const std::string_view digits = text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size() && value >= least && value <= most) return value;
    problem(element.GetLineNum(), what,
            fmt::format("{}={} is no whole number from {} to {}; correct it", key, in_quotes(digits), least, most));
    return least;
  }

  template <class Value>
  Value choice(const Element& element, const std::string& what, const char* key, Names names,
               std::optional<Value> otherwise = {}) {
    const char* text = element.Attribute(key);
    if (text == nullptr && otherwise) return *otherwise;
    const std::string_view word = text == nullptr ? "" : text;
    const auto found = std::ranges::find(names, word);
    if (found != names.end()) return static_cast<Value>(found - names.begin());
    problem(element.GetLineNum(), what,
            text == nullptr
                ? fmt::format("attribute \"{}\" is missing; take one of {}", key, fmt::join(names, ", "))
                : fmt::format("unknown {} {}; take one of {}", key, in_quotes(word), fmt::join(names, ", ")));
    return Value{};
  }

  /// Calls body(child, number) for each; a child of another name is a problem.
  template <class Body>
  void for_each_child(const Element& element, const std::string& what, std::string_view name, const Body& body) {
    int number = 0;
    for (const auto* child = element.FirstChildElement(); child != nullptr; child = child->NextSiblingElement()) {
      if (std::string_view(child->Name()) == name) {
        body(*child, number++);
      } else {
        problem(child->GetLineNum(), what,
                fmt::format("has a <{}>, which belongs elsewhere; it takes <{}>",
                            std::string_view(child->Name()).substr(0, 32), name));
      }
    }
  }

  void read_algo(const Element& element) {
    const std::string what = "algo";
    check_keys(element, what, kAlgoKeys);
    const char* name = element.Attribute("name");
    schedule_.name = name == nullptr ? "" : name;
    if (schedule_.name.empty()) problem(element.GetLineNum(), what, "has no name; add name=\"…\"");
    read_collective(element);
    const int ranks = number(element, what, "ngpus", 1, kMostRanks);
    schedule_.chunks = number(element, what, "nchunksperloop", 1, kMostChunks);
    schedule_.in_place = number(element, what, "inplace", 0, 1, 0) == 1;
    channels_ = number(element, what, "nchannels", 1, kMostChannels, kMostChannels);
    std::map<int, Gpu> gpus;
    for_each_child(element, what, "gpu", [&](const Element& child, int) { read_gpu(child, ranks, gpus); });
    for (int id = 0; id < ranks && problems_.empty(); ++id) {
      const auto found = gpus.find(id);
      if (found == gpus.end()) {
        problem(element.GetLineNum(), what,
                fmt::format("has no gpu {}; ngpus=\"{}\" means 0 to {}", id, ranks, ranks - 1));
        return;
      }
      schedule_.gpus.push_back(std::move(found->second));
    }
    if (problems_.empty()) check_chunks(element);
  }

  void read_collective(const Element& element) {
    std::vector<std::string_view> names;
    for (const Collective& each : kCollectives) names.push_back(each.name);
    const char* text = element.Attribute("coll");
    const std::string_view word = text == nullptr ? "" : text;
    const auto found = std::ranges::find(names, word);
    if (found != names.end()) {
      schedule_.operation = kCollectives[static_cast<std::size_t>(found - names.begin())].operation;
    } else {
      problem(element.GetLineNum(), "algo",
              fmt::format("coll={} is none of {}; only these are run", in_quotes(word), fmt::join(names, ", ")));
    }
  }

  void read_gpu(const Element& element, int ranks, std::map<int, Gpu>& gpus) {
    const int id = number(element, "gpu", "id", 0, ranks - 1);
    const std::string what = fmt::format("gpu {}", id);
    check_keys(element, what, kGpuKeys);
    if (gpus.contains(id)) return problem(element.GetLineNum(), what, "is there twice; give each gpu an id of its own");
    Gpu gpu;
    gpu.line = element.GetLineNum();
    gpu.inputs = number(element, what, "i_chunks", 0, kMostChunks);
    gpu.outputs = number(element, what, "o_chunks", 0, kMostChunks);
    gpu.scratch = number(element, what, "s_chunks", 0, kMostChunks, 0);
    for_each_child(element, what, "tb", [&](const Element& child, int) { read_block(child, id, ranks, gpu); });
    resolve_dependencies(gpu, id);
    gpus.emplace(id, std::move(gpu));
  }

  void read_block(const Element& element, int gpu_id, int ranks, Gpu& gpu) {
    const int id = number(element, fmt::format("tb of gpu {}", gpu_id), "id", 0, kMostBlocks - 1);
    const std::string what = fmt::format("tb {} of gpu {}", id, gpu_id);
    check_keys(element, what, kBlockKeys);
    if (++blocks_ == kMostBlocks + 1)
      problem(element.GetLineNum(), what, fmt::format("is one tb too many; a file has at most {}", kMostBlocks));
    if (blocks_ > kMostBlocks) return;
    ThreadBlock block;
    block.line = element.GetLineNum();
    block.id = id;
    block.send = number(element, what, "send", -1, ranks - 1, -1);
    block.receive = number(element, what, "recv", -1, ranks - 1, -1);
    block.channel = number(element, what, "chan", 0, channels_ - 1, 0);
    for (const int peer : {block.send, block.receive}) {
      if (peer == gpu_id)
        problem(block.line, what, fmt::format("talks to its own gpu {}; name another gpu, or -1 for none", peer));
    }
    if (std::ranges::find(gpu.blocks, id, &ThreadBlock::id) != gpu.blocks.end())
      problem(block.line, what, "is there twice; give each tb of a gpu an id of its own");
    for_each_child(element, what, "step", [&](const Element& child, int number) {
      read_step(child, fmt::format("step {} of {}", number, what), number, gpu, block);
    });
    gpu.blocks.push_back(std::move(block));
  }

  void read_step(const Element& element, const std::string& what, int place, const Gpu& gpu, ThreadBlock& block) {
    check_keys(element, what, kStepKeys);
    Step step;
    step.line = element.GetLineNum();
    if (number(element, what, "s", 0, std::numeric_limits<int>::max()) != place)
      problem(step.line, what, fmt::format("is number {} of its tb, and s says another one; count from 0 on", place));
    step.type = choice<StepType>(element, what, "type", kStepTypeNames);
    step.source = choice<Buffer>(element, what, "srcbuf", kBufferNames, Buffer::input);
    step.target = choice<Buffer>(element, what, "dstbuf", kBufferNames, Buffer::output);
    const bool moves = step.type != StepType::nothing;
    step.count = number(element, what, "cnt", moves ? 1 : 0, kMostChunks, 1);
    step.source_at = number(element, what, "srcoff", reads_source(step.type) ? 0 : -1, kMostChunks - 1, 0);
    step.target_at = number(element, what, "dstoff", writes(step.type) ? 0 : -1, kMostChunks - 1, 0);
    step.after_block = number(element, what, "depid", -1, kMostBlocks - 1, -1);
    step.after_step = number(element, what, "deps", -1, std::numeric_limits<int>::max(), -1);
    step.has_dependents = number(element, what, "hasdep", 0, 1, 0) == 1;
    if (reads_source(step.type)) check_range(step, what, gpu, step.source, step.source_at, "src");
    if (writes(step.type)) check_range(step, what, gpu, step.target, step.target_at, "dst");
    if (sends(step.type) && block.send < 0)
      problem(step.line, what, "sends, but its tb has send=\"-1\"; name the gpu there");
    if (receives(step.type) && block.receive < 0)
      problem(step.line, what, "receives, but its tb has recv=\"-1\"; name the gpu there");
    if (moves) moves_ += step.count;
    if (moves_ > kMostMoves && moves_ - step.count <= kMostMoves)
      problem(step.line, what, fmt::format("is one too many: the steps of a file move at most {} chunks", kMostMoves));
    block.steps.push_back(step);
  }

  void check_range(const Step& step, const std::string& what, const Gpu& gpu, Buffer buffer, int at, const char* side) {
    // In place either side may be left at 0 chunks: they are one.
    const bool one = schedule_.in_place && schedule_.operation == CollectiveOperation::all_reduce;
    const int both = std::max(gpu.inputs, gpu.outputs);
    const int chunks = buffer == Buffer::scratch ? gpu.scratch
                       : one                     ? both
                       : buffer == Buffer::input ? gpu.inputs
                                                 : gpu.outputs;
    if (at + step.count <= chunks) return;
    const auto name = kBufferNames[static_cast<std::size_t>(buffer)];
    problem(
        step.line, what,
        fmt::format("{}off={} with cnt={} ends behind the {} chunks of buffer {}; correct {}off, cnt or {}_chunks of "
                    "the gpu",
                    side, at, step.count, chunks, name, side, name));
  }

  /// From the ids of threadblocks to their places.
  void resolve_dependencies(Gpu& gpu, int gpu_id) {
    for (ThreadBlock& block : gpu.blocks) {
      for (std::size_t number = 0; number < block.steps.size(); ++number) {
        Step& step = block.steps[number];
        if (step.after_block < 0) continue;
        const std::string what = fmt::format("step {} of tb {} of gpu {}", number, block.id, gpu_id);
        const auto other = std::ranges::find(gpu.blocks, step.after_block, &ThreadBlock::id);
        const bool known = other != gpu.blocks.end() && step.after_step >= 0 &&
                           step.after_step < static_cast<int>(other->steps.size());
        if (!known) {
          problem(step.line, what,
                  fmt::format("depends on step {} of tb {}, which gpu {} does not have; correct depid and deps",
                              step.after_step, step.after_block, gpu_id));
          step.after_block = -1;
          continue;
        }
        if (!other->steps[static_cast<std::size_t>(step.after_step)].has_dependents)
          problem(step.line, what,
                  fmt::format(
                      "depends on step {} of tb {} (line {}), which has hasdep=\"0\" and so tells nobody that it "
                      "is done; set hasdep=\"1\" there",
                      step.after_step, step.after_block, other->steps[static_cast<std::size_t>(step.after_step)].line));
        step.after_block = static_cast<int>(other - gpu.blocks.begin());
      }
    }
  }

  /// The chunks of the buffers against what the collective has.
  void check_chunks(const Element& element) {
    const int n = schedule_.ranks(), loop = schedule_.chunks;
    const auto operation = schedule_.operation;
    // nchunksperloop counts all chunks of the larger side.
    if (operation != CollectiveOperation::all_reduce) {
      if (loop % n != 0) {
        problem(element.GetLineNum(), "algo",
                fmt::format("nchunksperloop={} is no multiple of the {} gpus, each of which has a block; correct it",
                            loop, n));
        return;
      }
      schedule_.chunks = loop / n;
    }
    const int block = schedule_.chunks;
    const int inputs = operation == CollectiveOperation::all_gather ? block : loop;
    const int outputs = operation == CollectiveOperation::reduce_scatter ? block : loop;
    if (operation == CollectiveOperation::all_to_all && schedule_.in_place)
      problem(element.GetLineNum(), "algo",
              "inplace=\"1\" is not for alltoall, whose blocks change their places; set 0");
    for (int id = 0; id < n; ++id) {
      Gpu& gpu = schedule_.gpus[static_cast<std::size_t>(id)];
      if (schedule_.in_place && gpu.inputs == 0) gpu.inputs = inputs;
      if (schedule_.in_place && gpu.outputs == 0) gpu.outputs = outputs;
      const auto check = [&](const char* key, int found, int wanted) {
        if (found == wanted) return;
        problem(gpu.line, fmt::format("gpu {}", id),
                fmt::format("{}={}, but {} with nchunksperloop={} on {} gpus has {}; correct it", key, found,
                            distributed::name(operation), loop, n, wanted));
      };
      check("i_chunks", gpu.inputs, inputs);
      check("o_chunks", gpu.outputs, outputs);
    }
  }

  Schedule schedule_;
  std::vector<std::string> problems_;
  int channels_ = kMostChannels, blocks_ = 0;
  std::int64_t moves_ = 0;
};

}  // namespace

Schedule parse(const std::string& text, const std::string& file) {
  return Parser(file).parse(text);
}

std::string place_text(const Schedule& schedule, int gpu, int block, int step) {
  const int id = schedule.gpus[static_cast<std::size_t>(gpu)].blocks[static_cast<std::size_t>(block)].id;
  const std::string of = fmt::format("tb {} of gpu {}", id, gpu);
  return step < 0 ? of : fmt::format("step {} of {}", step, of);
}

void refuse(const Schedule& schedule, int line, const std::string& what, const std::string& reason) {
  throw ConfigurationError(fmt::format("{}:{}: {}: {}", schedule.file, line, what, reason));
}

}  // namespace kernbench::distributed::msccl
