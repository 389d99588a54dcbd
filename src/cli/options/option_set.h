// The options of a command, as it declares them, and their texts as they were given. CLI11, which is slow to compile,
// stays behind it.
#pragma once

#include <string>
#include <vector>

namespace kernbench::cli {

/// An option's values, one each time that it is given.
using Texts = std::vector<std::string>;

class OptionSet {
 public:
  virtual ~OptionSet() = default;
  /// An option, "-p,--parameter", or an argument without dashes, that takes exactly one text each time. All references
  /// must outlive the parse.
  virtual void text(const std::string& names, Texts& values, const std::string& type, const std::string& help) = 0;
  /// Likewise, but for the help, which does not show it.
  virtual void hidden_text(const std::string& names, Texts& values) = 0;
  virtual void flag(const std::string& names, bool& given, const std::string& help) = 0;
  /// Shown below the options.
  virtual void footer(const std::string& text) = 0;
  /// What it does not know is no error, but for another command.
  virtual void pass_on_others() = 0;
};

/// The one value of an option, or `otherwise` when it was not given. ConfigurationError when it was given more than
/// once or has no value.
std::string single(const std::string& option, const Texts& values, const std::string& otherwise);

}  // namespace kernbench::cli
