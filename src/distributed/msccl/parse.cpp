#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tinyxml2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
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
constexpr std::int64_t kMostMoves = 50'000;  // chunks of all steps; of a step that moves nothing one
constexpr int kMostChannels = 1024;
constexpr std::size_t kLongestName = 32;  // of an element, as far as an error shows it

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

/// Whether a text from its `&` to its `;` stands for a character.
bool is_reference(std::string_view text) {
  constexpr std::array<std::string_view, 5> kNamed{"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
  if (std::ranges::find(kNamed, text) != kNamed.end()) return true;
  if (!text.starts_with("&#") || !text.ends_with(';')) return false;
  const bool hexadecimal = text.starts_with("&#x");
  const std::string_view digits = text.substr(hexadecimal ? 3 : 2, text.size() - (hexadecimal ? 4 : 3));
  constexpr std::uint32_t kLastCharacter = 0x10FFFF;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  return error == std::errc() && end == digits.data() + digits.size() && value > 0 && value <= kLastCharacter;
}

/// The first text of an attribute, as the file has it, that begins like a reference and is none; empty: there is none.
std::string_view wrong_reference(std::string_view text) {
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::size_t end = text.find(';', at);
    const std::string_view reference = text.substr(at, end == std::string_view::npos ? end : end + 1 - at);
    if (!is_reference(reference)) return reference;
  }
  return {};
}

/// Goes through the attributes of all elements.
class AttributeVisitor : public tinyxml2::XMLVisitor {
 public:
  using Visit = std::function<void(const tinyxml2::XMLElement&, const tinyxml2::XMLAttribute&)>;
  explicit AttributeVisitor(Visit visit) : visit_(std::move(visit)) {}
  using tinyxml2::XMLVisitor::VisitEnter;
  bool VisitEnter(const tinyxml2::XMLElement& element, const tinyxml2::XMLAttribute* first) override {
    for (const auto* each = first; each != nullptr; each = each->Next()) visit_(element, *each);
    return true;
  }

 private:
  Visit visit_;
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// One file: reads its elements and keeps what is wrong with them.
class Parser {
 public:
  explicit Parser(std::string file) { schedule_.file = std::move(file); }

  Schedule parse(const std::string& text) {
    check_characters(text);
    fail();
    tinyxml2::XMLDocument document;
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
      refuse_syntax(document, text);
    } else {
      check_references(text);
    }
    fail();
    read_document(document);
    fail();
    return std::move(schedule_);
  }

 private:
  using Node = tinyxml2::XMLNode;
  using Element = tinyxml2::XMLElement;
  static constexpr const char* kWhole = "the file";

  void problem(int line, const std::string& what, const std::string& reason) {
    constexpr std::size_t kMostProblems = 50;
    if (problems_.size() < kMostProblems)
      problems_.push_back(fmt::format("{}:{}: {}: {}", schedule_.file, line, what, reason));
  }
  void fail() const {
    if (!problems_.empty()) throw ConfigurationError(fmt::format("{}", fmt::join(problems_, "\n")));
  }

  /// The XML parser would take a NUL for the end of the text.
  void check_characters(const std::string& text) {
    const std::size_t nul = text.find('\0');
    if (nul == std::string::npos) return;
    const auto before = std::ranges::count(std::string_view(text).substr(0, nul), '\n');
    problem(static_cast<int>(before) + 1, kWhole, "has a NUL byte; an MSCCL file is UTF-8 text without any");
  }

  void refuse_syntax(const tinyxml2::XMLDocument& document, std::string_view text) {
    const int line = std::max(1, document.ErrorLineNum());  // it is 0 for an empty file
    if (document.ErrorID() == tinyxml2::XML_ERROR_PARSING_TEXT) {
      // Text that no element follows: what stands behind the last one.
      const std::size_t last = text.rfind('<');
      if (last != std::string_view::npos) text.remove_prefix(std::min(text.size(), text.find('>', last) + 1));
      return refuse_content(line, kWhole, "the text", without_blanks(text), "one <algo>");
    }
    // Of these the parser tells the line where the element begins.
    const bool is_open = document.ErrorID() == tinyxml2::XML_ERROR_MISMATCHED_ELEMENT ||
                         document.ErrorID() == tinyxml2::XML_ERROR_PARSING;
    const char* const why = is_open ? ": the element that begins in this line is not closed" : "";
    problem(line, kWhole,
            fmt::format("is no well-formed XML ({}){}; write <algo …> with <gpu>, <tb> and <step> in it",
                        document.ErrorIDToName(document.ErrorID()), why));
  }

  /// The XML parser leaves a reference that it does not know as it stands, and what it stands for is then no more to be
  /// told from `&amp;` and a text: so they are looked for in a document in which none is replaced.
  void check_references(const std::string& text) {
    if (text.find('&') == std::string::npos) return;
    constexpr bool kReplaceReferences = false;
    tinyxml2::XMLDocument raw(kReplaceReferences);
    if (raw.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) return refuse_syntax(raw, text);
    AttributeVisitor visitor([&](const Element& element, const tinyxml2::XMLAttribute& attribute) {
      const std::string_view wrong = wrong_reference(attribute.Value());
      if (wrong.empty()) return;
      problem(attribute.GetLineNum(), element.Name(),
              fmt::format("{} has {}, which stands for no character; write &lt; &gt; &amp; &quot; &apos; or a number "
                          "such as &#65;",
                          attribute.Name(), in_quotes(wrong)));
    });
    raw.Accept(&visitor);
  }

  void refuse_content(int line, const std::string& what, std::string_view kind, std::string_view text,
                      const std::string& takes) {
    problem(line, what, fmt::format("has {} {}; it takes {} and comments", kind, in_quotes(text), takes));
  }

  /// Beside elements there may be comments, and the declaration of a file.
  void check_between_elements(const Node& node, const std::string& what, const std::string& takes) {
    if (node.ToComment() != nullptr || node.ToDeclaration() != nullptr) return;
    const auto* text = node.ToText();
    const std::string_view value = without_blanks(node.Value());
    if (text == nullptr)
      return refuse_content(node.GetLineNum(), what, "the markup", fmt::format("<!{}", value), takes);
    refuse_content(node.GetLineNum(), what, text->CData() ? "the CDATA section" : "the text", value, takes);
  }

  void read_document(const tinyxml2::XMLDocument& document) {
    const Element* root = nullptr;
    for (const Node* node = document.FirstChild(); node != nullptr; node = node->NextSibling()) {
      const Element* element = node->ToElement();
      if (element == nullptr) {
        check_between_elements(*node, kWhole, "one <algo>");
      } else if (root != nullptr) {
        problem(element->GetLineNum(), kWhole,
                fmt::format("has <{}> behind the outermost element of line {}; an MSCCL file is one <algo>",
                            std::string_view(element->Name()).substr(0, kLongestName), root->GetLineNum()));
      } else {
        root = element;
      }
    }
    if (!problems_.empty()) return;
    if (root == nullptr || std::string_view(root->Name()) != "algo")
      return problem(root == nullptr ? 1 : root->GetLineNum(), kWhole,
                     "has no <algo> as its outermost element; an MSCCL file is one <algo>");
    read_algo(*root);
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

  /// A whole number from `least` to `most`; without `otherwise` it has to be there. `limit` tells what sets the limits.
  int number(const Element& element, const std::string& what, const char* key, int least, int most,
             std::optional<int> otherwise = {}, const std::string& limit = {}) {
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
            fmt::format("{}={} is no whole number from {} to {}; correct it{}", key, in_quotes(digits), least, most,
                        limit));
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

  /// Calls body(child, number) for each; a child of another name is a problem, and so is text. No name: it has none.
  template <class Body>
  void for_each_child(const Element& element, const std::string& what, std::string_view name, const Body& body) {
    const std::string takes = name.empty() ? "no elements" : fmt::format("<{}>", name);
    int number = 0;
    for (const Node* node = element.FirstChild(); node != nullptr; node = node->NextSibling()) {
      const Element* child = node->ToElement();
      if (child == nullptr) {
        check_between_elements(*node, what, name.empty() ? "attributes" : takes);
      } else if (std::string_view(child->Name()) == name) {
        body(*child, number++);
      } else {
        problem(child->GetLineNum(), what,
                fmt::format("has a <{}>, which belongs elsewhere; it takes {}",
                            std::string_view(child->Name()).substr(0, kLongestName), takes));
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
    if (!problems_.empty()) return;  // what follows goes by them, and would be wrong with them
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
    const std::size_t before = problems_.size();
    const int id = number(element, "gpu", "id", 0, ranks - 1);
    const std::string what = fmt::format("gpu {}", id);
    check_keys(element, what, kGpuKeys);
    if (gpus.contains(id)) return problem(element.GetLineNum(), what, "is there twice; give each gpu an id of its own");
    Gpu gpu;
    gpu.line = element.GetLineNum();
    gpu.inputs = number(element, what, "i_chunks", 0, kMostChunks);
    gpu.outputs = number(element, what, "o_chunks", 0, kMostChunks);
    gpu.scratch = number(element, what, "s_chunks", 0, kMostChunks, 0);
    if (problems_.size() > before) return;  // its threadblocks go by them
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
    block.channel = number(element, what, "chan", 0, channels_ - 1, 0,
                           fmt::format(", or nchannels of the <algo>, which is {}", channels_));
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
    for_each_child(element, what, "", [](const Element&, int) {});
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
    const int weight = moves ? step.count : 1;
    moves_ += weight;
    if (moves_ > kMostMoves && moves_ - weight <= kMostMoves)
      problem(step.line, what,
              fmt::format("is one too many: the steps of a file move at most {} chunks, and a nop counts as one",
                          kMostMoves));
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
