#include "kernbench/nn/containers.h"

#include <fmt/format.h>

#include <ostream>

namespace kernbench::torch::nn {

namespace {

std::size_t checked_index(const char* container, std::size_t index, std::size_t size) {
  if (index < size) return index;
  throw IndexError(fmt::format("{}: there is no module at {}; it has {}", container, index, size));
}

}  // namespace

Tensor AnyModule::call(std::span<const Tensor> inputs, const Where& where) const {
  if (is_empty()) throw ValueError("AnyModule: it is empty, and has no forward");
  return forward_(inputs, where);
}

void AnyModule::throw_wrong_count(const Module& module, std::size_t count) {
  throw ValueError(
      fmt::format("{}: its forward does not take {} tensor{}", module.name(), count, count == 1 ? "" : "s"));
}

Tensor SequentialImpl::run(std::span<const Tensor> inputs, const Where& where) {
  if (modules_.empty()) throw ValueError("Cannot call forward() on an empty Sequential");
  Tensor x = modules_.front().call(inputs, where);
  for (std::size_t i = 1; i < modules_.size(); ++i) x = modules_[i].call({&x, 1}, where);
  return x;
}

void SequentialImpl::add(std::string name, AnyModule module) {
  if (module.is_empty()) throw ValueError("Sequential: the module to add is empty");
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

std::shared_ptr<Module> SequentialImpl::ptr(std::size_t index) const {
  return modules_[checked_index("Sequential", index, size())].ptr();
}

void SequentialImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Sequential";
}

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  if (!module) throw ValueError("ModuleList: the module to add is empty");
  register_module(std::to_string(size()), module);
  modules_.push_back(std::move(module));
}

std::shared_ptr<Module> ModuleListImpl::ptr(std::size_t index) const {
  return modules_[checked_index("ModuleList", index, size())];
}

void ModuleListImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::ModuleList";
}

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& name) {
  std::shared_ptr<Module> module = (*this)[name];
  unregister_module(name);
  return module;
}

std::shared_ptr<Module> ModuleDictImpl::operator[](const std::string& name) const {
  const auto modules = named_children();
  return modules[name];
}

void ModuleDictImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::ModuleDict";
}

void FunctionalImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Functional()";
}

}  // namespace kernbench::torch::nn
