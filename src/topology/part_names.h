// Names of parts and patterns of them: "sip0.cube2.pe5", "sip*.io.to_host".
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kernbench::topology {

/// Letters, digits, '.', '_' and '*', beginning with a letter; at most 128 of them.
bool is_part_pattern(std::string_view text);

/// Whether a pattern, in which each '*' stands for any number of characters but '.', fits the whole of a name.
bool fits(std::string_view pattern, std::string_view name);

/// Finds those of many names that a pattern fits: all are looked at for a pattern with '*' only.
class PartNames {
 public:
  explicit PartNames(std::vector<std::string_view> names);

  bool any_fits(std::string_view pattern) const;
  /// Calls with the place of each name that the pattern fits, in no certain order.
  void for_each(std::string_view pattern, const std::function<void(std::size_t)>& function) const;
  std::span<const std::string_view> names() const { return names_; }

 private:
  std::vector<std::string_view> names_;
  std::unordered_multimap<std::string_view, std::size_t> places_;
};

/// Whether there may be a name that both patterns fit.
bool may_meet(std::string_view a, std::string_view b);

/// Why none of `names` fits: the first word of the pattern that leads nowhere, and what is there instead.
/// `sip0 has no "cube9"; there are io, cube0, cube1`. Where all words lead somewhere, what lies below.
std::string explain_unknown_part(std::string_view pattern, std::span<const std::string_view> names);

}  // namespace kernbench::topology
