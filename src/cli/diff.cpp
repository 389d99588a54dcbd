#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "kernbench/error.h"
#include "report/difference/difference.h"
#include "report/difference/difference_text.h"
#include "report/json/read_json.h"

namespace kernbench::cli {
namespace {

std::string contents_of(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const auto failed = [&]() { throw ConfigurationError(std::string("cannot read it: ") + std::strerror(errno), path); };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) failed();
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, count);
  if (std::ferror(file.get()) != 0) failed();
  return text;
}

report::RunResult read(const std::string& path) {
  return report::from_json(contents_of(path), path);
}

}  // namespace

ExitCode diff(const DiffCommand& command, const Environment& environment) {
  const report::RunResult a = read(command.a);
  const report::RunResult b = read(command.b);
  const report::Difference difference = report::difference(a, b);
  const bool colour = use_colour(command.colour, environment.out_is_terminal);
  environment.out(command.format == DiffFormat::json
                      ? report::to_json(difference, command.a, command.b)
                      : report::to_table(difference, command.a, command.b, colour, environment.out_is_terminal));
  return command.exit_code && !difference.same_outcome() ? ExitCode::differs : ExitCode::ok;
}

}  // namespace kernbench::cli
