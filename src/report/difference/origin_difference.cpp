#include "report/difference/origin_difference.h"

#include <map>
#include <string>

namespace kernbench::report {
namespace {

constexpr std::size_t kShownDigits = 8;
constexpr const char *kCompiler = "compiler", *kFlags = "flags", *kBuild = "build of kernbench";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

using Contents = std::map<std::string, std::string>;  // by path from the program's folder

Contents contents(const Origin& origin) {
  Contents out;
  for (const Origin::File& file : origin.files) out[file.path] = file.content.substr(0, kShownDigits);
  return out;
}

/// "softmax.cpp", "built-in".
std::string program(const Origin& origin) {
  return origin.kind == "file" ? file_name(origin.path) : origin.kind;
}

void add(std::vector<InputChange>& out, const std::string& key, const std::string& a, const std::string& b) {
  if (a != b) out.push_back({"origin", key, a, b, "", {}, {}});
}

/// The program's own file comes first, then those that it includes by name.
void add_files(std::vector<InputChange>& out, const Origin& a, const Origin& b) {
  Contents left = contents(a), right = contents(b);
  const std::string own = program(b);
  add(out, own, left[own], right[own]);
  Contents all = left;
  all.insert(right.begin(), right.end());
  all.erase(own);
  for (const auto& [path, ignored] : all) add(out, path, left[path], right[path]);
}

}  // namespace

std::vector<InputChange> origin_changes(const Origin& a, const Origin& b) {
  std::vector<InputChange> out;
  if (a.kind.empty() || b.kind.empty()) return out;
  add(out, "program", program(a), program(b));
  if (program(a) == program(b) && b.kind == "file") add_files(out, a, b);
  add(out, kCompiler, a.compiler, b.compiler);
  add(out, kFlags, a.flags, b.flags);
  add(out, kBuild, a.build.substr(0, kShownDigits), b.build.substr(0, kShownDigits));
  return out;
}

bool is_program_text(const std::string& key) {
  return key != kCompiler && key != kFlags && key != kBuild;
}

}  // namespace kernbench::report
