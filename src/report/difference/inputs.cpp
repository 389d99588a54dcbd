#include "report/difference/inputs.h"

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "report/description/result.h"

namespace kernbench::report {
namespace {

/// The visitor that gathers the keys which are inputs.
class InputTexts {
 public:
  template <class T>
  void key(const Key& key, const T& member) {
    if constexpr (requires { add(key.input, key.name, member); }) {
      if (!key.input.kind.empty()) add(key.input, key.name, member);
    }
  }
  template <class F>
  void object(const Key&, F) {}

  std::map<std::string, Texts> take() { return std::move(texts_); }

 private:
  Texts& of(const Input& input) { return texts_[std::string(input.kind)]; }
  void add(const Input& input, std::string_view name, const std::string& value) {
    of(input).emplace(input.key.empty() ? name : input.key, value);
  }
  template <std::same_as<std::uint64_t> T>
  void add(const Input& input, std::string_view name, T value) {
    add(input, name, std::to_string(value));
  }
  void add(const Input& input, std::string_view, const Texts& values) {
    of(input).insert(values.begin(), values.end());
  }
  void add(const Input& input, std::string_view, const std::vector<std::pair<std::string, std::string>>& values) {
    of(input).insert(values.begin(), values.end());
  }

  std::map<std::string, Texts> texts_;
};

}  // namespace

std::map<std::string, Texts> inputs_of(const RunResult& result) {
  InputTexts visitor;
  describe(visitor, result);
  return visitor.take();
}

}  // namespace kernbench::report
