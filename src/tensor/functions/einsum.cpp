// Einstein's sums: products of two tensors at a time, as batches of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/strided.h"

namespace kernbench::torch {

namespace {

/// A letter, or below 0 a dimension of the ellipsis: -1 for the last one.
using Label = int;
using Labels = std::vector<Label>;

[[noreturn]] void refuse(const std::string& what) {
  tensor::fail("einsum", what);
}
bool has(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}
std::int64_t place_of(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) - labels.begin();
}

/// One operand's part of the equation; `ellipsis`: the dimensions that "..." stands for.
Labels parse(const std::string& text, std::int64_t ellipsis, bool& has_ellipsis) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (text.compare(i, 3, "...") != 0) refuse("found '.' that is not part of any ellipsis");
      if (has_ellipsis) refuse("found '.' for which an ellipsis was already found");
      has_ellipsis = true;
      for (std::int64_t d = -ellipsis; d < 0; ++d) labels.push_back(static_cast<Label>(d));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels.push_back(text[i]);
    } else {
      refuse(fmt::format("invalid subscript given: {}; subscripts must be in [a-zA-Z]", text));
    }
  }
  return labels;
}

struct Term {
  Tensor tensor;
  Labels labels;  // one for each dimension, each once
};

/// An operand whose repeated labels have become one: the diagonal.
Term term_of(const std::string& text, const Tensor& tensor, std::size_t number) {
  const auto letters = static_cast<std::int64_t>(std::ranges::count_if(text, [](char c) { return c != '.'; }));
  const bool open = text.find("...") != std::string::npos;
  if (open ? letters > tensor.dim() : letters != tensor.dim()) {
    refuse(fmt::format(
        "the number of subscripts in the equation ({}) {} the number of dimensions ({}) for operand {}{}", letters,
        open ? "is more than" : "does not match", tensor.dim(), number, open ? "" : " and no ellipsis was given"));
  }
  bool has_ellipsis = false;
  Term term{tensor, parse(text, tensor.dim() - letters, has_ellipsis)};
  for (std::size_t first = 0; first < term.labels.size(); ++first) {
    const auto second =
        std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(first) + 1, term.labels.end(), term.labels[first]);
    if (second == term.labels.end()) continue;
    const auto a = static_cast<std::int64_t>(first), b = static_cast<std::int64_t>(second - term.labels.begin());
    if (term.tensor.size(a) != term.tensor.size(b)) {
      refuse(fmt::format("subscript {} is repeated for operand {} but the sizes don't match, {} != {}",
                         static_cast<char>(term.labels[first]), number, term.tensor.size(b), term.tensor.size(a)));
    }
    const Label label = term.labels[first];
    term.tensor = term.tensor.diagonal(0, a, b);  // which puts it last
    term.labels.erase(second);
    term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(first));
    term.labels.push_back(label);
    --first;
  }
  return term;
}

/// Sums over the labels that nobody asks for any more.
void sum_out(Term& term, const std::vector<const Labels*>& wanted) {
  std::vector<std::int64_t> gone;
  Labels left;
  for (std::size_t d = 0; d < term.labels.size(); ++d) {
    const bool stays = std::ranges::any_of(wanted, [&](const Labels* labels) { return has(*labels, term.labels[d]); });
    stays ? left.push_back(term.labels[d]) : gone.push_back(static_cast<std::int64_t>(d));
  }
  if (gone.empty()) return;
  term.tensor = term.tensor.sum(gone, false, term.tensor.scalar_type());
  term.labels = left;
}

/// The tensor with these labels, those that it lacks as dimensions of 1.
Tensor arranged(const Term& term, const Labels& order) {
  std::vector<std::int64_t> dimensions;
  for (const Label label : order)
    if (has(term.labels, label)) dimensions.push_back(place_of(term.labels, label));
  Tensor tensor = term.tensor.permute(dimensions);
  for (std::size_t d = 0; d < order.size(); ++d)
    if (!has(term.labels, order[d])) tensor = tensor.unsqueeze(static_cast<std::int64_t>(d));
  return tensor;
}

std::int64_t size_of(const Term& term, Label label) {
  return has(term.labels, label) ? term.tensor.size(place_of(term.labels, label)) : 1;
}

/// The dimensions of both terms: of each the larger one, which the other is or has 1.
std::vector<std::int64_t> sizes_of(const Term& a, const Term& b, const Labels& labels) {
  std::vector<std::int64_t> sizes;
  for (const Label label : labels) {
    const std::int64_t x = size_of(a, label), y = size_of(b, label);
    if (x != y && x != 1 && y != 1) {
      refuse(fmt::format("operands do not broadcast with remapped shapes: {} has {} and {} elements",
                         label < 0 ? std::string("a dimension of the ellipsis")
                                   : fmt::format("subscript {}", static_cast<char>(label)),
                         x, y));
    }
    sizes.push_back(x == 1 ? y : x);
  }
  return sizes;
}

/// Of two terms one: a batch of products of matrices. Labels that are in `wanted` stay.
Term multiplied(const Term& a, const Term& b, const std::vector<const Labels*>& wanted) {
  Labels batch, left, right, summed;
  for (const Label label : a.labels) {
    const bool stays = std::ranges::any_of(wanted, [&](const Labels* labels) { return has(*labels, label); });
    if (!has(b.labels, label))
      left.push_back(label);
    else
      (stays ? batch : summed).push_back(label);
  }
  for (const Label label : b.labels)
    if (!has(a.labels, label)) right.push_back(label);
  const auto together = [](const Labels& x, const Labels& y, const Labels& z) {
    Labels all = x;
    all.insert(all.end(), y.begin(), y.end());
    all.insert(all.end(), z.begin(), z.end());
    return all;
  };
  const auto batches = sizes_of(a, b, batch), rows = sizes_of(a, b, left), columns = sizes_of(a, b, right),
             terms = sizes_of(a, b, summed);
  const auto as_matrices = [&](const Term& term, const Labels& order, const std::vector<std::int64_t>& first,
                               const std::vector<std::int64_t>& second) {
    std::vector<std::int64_t> whole = batches;
    whole.insert(whole.end(), first.begin(), first.end());
    whole.insert(whole.end(), second.begin(), second.end());
    return arranged(term, order)
        .expand(whole)
        .reshape({tensor::checked_numel(batches), tensor::checked_numel(first), tensor::checked_numel(second)});
  };
  const Tensor product = torch::bmm(as_matrices(a, together(batch, left, summed), rows, terms),
                                    as_matrices(b, together(batch, summed, right), terms, columns));
  std::vector<std::int64_t> sizes = batches;
  sizes.insert(sizes.end(), rows.begin(), rows.end());
  sizes.insert(sizes.end(), columns.begin(), columns.end());
  return {product.reshape(sizes), together(batch, left, right)};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Without "->": the dimensions of the ellipsis, then the letters that occur once, in their order.
Labels implied(const std::vector<Term>& terms, const std::string& inputs) {
  Labels labels;
  for (const Term& term : terms)
    for (const Label label : term.labels)
      if (label < 0 && !has(labels, label)) labels.push_back(label);
  std::ranges::sort(labels);
  std::string letters = inputs;
  std::ranges::sort(letters);
  for (const char c : letters)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && std::ranges::count(letters, c) == 1) labels.push_back(c);
  return labels;
}

Labels named(const std::string& text, const std::vector<Term>& terms) {
  std::int64_t ellipsis = 0;
  for (const Term& term : terms)
    ellipsis = std::max<std::int64_t>(ellipsis, std::ranges::count_if(term.labels, [](Label l) { return l < 0; }));
  bool has_ellipsis = false;
  const Labels labels = parse(text, ellipsis, has_ellipsis);
  for (const Label label : labels) {
    if (std::ranges::count(labels, label) > 1)
      refuse(fmt::format("output subscript {} appears more than once in the output", static_cast<char>(label)));
    if (std::ranges::none_of(terms, [&](const Term& term) { return has(term.labels, label); })) {
      refuse(fmt::format("output subscript {} does not appear in the equation for any input operand",
                         static_cast<char>(label)));
    }
  }
  return labels;
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList operands, Where where) {
  const tensor::HostCall here("einsum", where);
  if (operands.empty()) refuse("must provide at least one operand");
  std::string text;
  for (const char c : equation)
    if (c != ' ') text += c;
  const auto arrow = text.find("->");
  const std::string inputs = text.substr(0, arrow);
  const std::vector<std::string> parts = split_at_commas(inputs);
  if (parts.size() != operands.size()) {
    refuse(parts.size() < operands.size() ? "more operands were provided than specified in the equation"
                                          : "fewer operands were provided than specified in the equation");
  }
  std::vector<Term> terms;
  for (std::size_t i = 0; i < parts.size(); ++i) terms.push_back(term_of(parts[i], operands[i], i));
  const Labels out = arrow == std::string::npos ? implied(terms, inputs) : named(text.substr(arrow + 2), terms);

  Term result = terms.front();
  for (std::size_t next = 1; next <= terms.size(); ++next) {
    std::vector<const Labels*> later{&out};
    for (std::size_t i = next; i < terms.size(); ++i) later.push_back(&terms[i].labels);
    sum_out(result, later);
    if (next == terms.size()) break;
    std::vector<const Labels*> others{&out, &result.labels};
    for (std::size_t i = next + 1; i < terms.size(); ++i) others.push_back(&terms[i].labels);
    sum_out(terms[next], others);
    later.erase(later.begin() + 1);
    result = multiplied(result, terms[next], later);
  }
  return arranged(result, out);
}

}  // namespace kernbench::torch
