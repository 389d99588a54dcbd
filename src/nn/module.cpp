#include "kernbench/nn/module.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ostream>
#include <ranges>
#include <sstream>
#include <typeinfo>
#include <unordered_set>
#include <vector>

#include "tensor/functions/optimizer.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch::nn {

namespace {

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : symbol;
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void check_name(const char* what, const std::string& name) {
  if (name.empty()) throw ValueError(fmt::format("{} name must not be empty", what));
  if (name.find('.') == std::string::npos) return;
  throw ValueError(fmt::format("{} name must not contain a dot (got '{}')", what, name));
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
  return text;
}

/// As Python prints it.
std::string shape_of(const Tensor& tensor) {
  std::ostringstream text;
  text << "torch.Size(" << tensor.sizes() << ')';
  return text.str();
}

/// Whole numbers lose what a weight has behind the point, so that no module wants them.
void check_type(const TensorOptions& options) {
  if (!options.has_dtype() || is_floating_point(options.dtype())) return;
  throw ValueError(
      fmt::format("nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}; convert a "
                  "tensor of it by itself, with Tensor::to",
                  tensor::text_of(options.dtype())));
}

/// Options without the element type where that is no floating-point one.
TensorOptions for_tensor(const TensorOptions& options, const Tensor& tensor) {
  if (tensor.is_floating_point() || !options.has_dtype()) return options;
  return options.dtype(tensor.scalar_type());
}

}  // namespace

Module::Module(std::string name) : name_(std::move(name)) {}

const std::string& Module::name() const {
  // Not in the constructor, where the class of the object is not known yet.
  if (!name_) name_ = demangled(typeid(*this).name());
  return *name_;
}

template <class Own>
void Module::check_free(const std::string& name, const Own& own) const {
  const auto refuse_if = [&](const auto& others, const char* what) {
    if (static_cast<const void*>(&others) == &own || !others.contains(name)) return;
    throw ValueError(
        fmt::format("attribute '{}' already exists: it is a {} of this module, and one name has one meaning; give what "
                    "is registered another name",
                    name, what));
  };
  refuse_if(parameters_, "parameter");
  refuse_if(buffers_, "buffer");
  refuse_if(children_, "submodule");
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool /*requires_grad*/) {
  check_name("Parameter", name);
  check_free(name, parameters_);
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name("Buffer", name);
  check_free(name, buffers_);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::check_no_cycle(const std::string& name, Module* module) const {
  if (module == nullptr) return;
  // Each once: what is below at several places, at several levels, is there as often as the product of them.
  std::unordered_set<const Module*> seen{module};
  std::vector<const Module*> left{module};
  while (!left.empty()) {
    const Module* const each = left.back();
    left.pop_back();
    if (each == this) {
      throw ValueError(fmt::format(
          "submodule '{}' is this module itself or has it below it, and a module cannot be within itself; keep "
          "a reference that is not registered",
          name));
    }
    for (const auto& child : each->children_) {
      if (child.value() && seen.insert(child.value().get()).second) left.push_back(child.value().get());
    }
  }
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("Submodule", name);
  check_free(name, children_);
  check_no_cycle(name, module.get());
  children_.insert(std::move(name), std::move(module));
}

void Module::replace_child(const std::string& name, std::shared_ptr<Module> module) {
  check_no_cycle(name, module.get());
  children_[name] = std::move(module);
}

void Module::unregister_module(const std::string& name) {
  if (!children_.contains(name)) throw ValueError(fmt::format("No Module with name `{}` is registered", name));
  children_.erase(name);
}

void Module::visit(const std::string& prefix, const Visit& function) {
  function(prefix, *this);
  for (const auto& child : children_) {
    if (child.value()) child.value()->visit(joined(prefix, child.key()), function);
  }
}

namespace {

void list(OrderedDict<std::string, Tensor>& all, const std::string& prefix,
          const OrderedDict<std::string, Tensor>& own) {
  for (const auto& item : own) {
    if (item.value().defined()) all.insert(joined(prefix, item.key()), item.value());
  }
}

}  // namespace

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, Tensor> all("Parameter");
  if (!recurse) return list(all, "", parameters_), all;
  const_cast<Module*>(this)->visit(
      "", [&](const std::string& prefix, const Module& module) { list(all, prefix, module.parameters_); });
  return all;
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, Tensor> all("Buffer");
  if (!recurse) return list(all, "", buffers_), all;
  const_cast<Module*>(this)->visit(
      "", [&](const std::string& prefix, const Module& module) { list(all, prefix, module.buffers_); });
  return all;
}

OrderedDict<std::string, Tensor> Module::state_dict() const {
  OrderedDict<std::string, Tensor> all;
  const_cast<Module*>(this)->visit("", [&](const std::string& prefix, const Module& module) {
    list(all, prefix, module.parameters_);
    list(all, prefix, module.buffers_);
  });
  return all;
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  return named_parameters(recurse).values();
}

std::vector<Tensor> Module::buffers(bool recurse) const {
  return named_buffers(recurse).values();
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> all;
  const_cast<Module*>(this)->visit(name_prefix, [&](const std::string& name, Module& module) {
    if (&module == this && !include_self) return;
    std::shared_ptr<Module> shared = module.weak_from_this().lock();
    if (!shared) {
      throw ValueError(
          fmt::format("named_modules() and modules() list the module {} itself, which no std::shared_ptr owns: make it "
                      "with std::make_shared or a module holder, or pass include_self = false",
                      module.name()));
    }
    all.insert(name, std::move(shared));
  });
  return all;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules({}, include_self).values();
}

std::vector<std::shared_ptr<Module>> Module::children() const {
  return children_.values();
}

void Module::apply(const std::function<void(Module&)>& function) {
  visit("", [&](const std::string&, Module& module) { function(module); });
}

void Module::apply(const std::function<void(const std::string&, Module&)>& function, const std::string& name_prefix) {
  visit(name_prefix, function);
}

void Module::train(bool on) {
  for (const auto& child : children_) {
    if (child.value()) child.value()->train(on);
  }
  training_ = on;
}

void Module::zero_grad(bool set_to_none, Where where) {
  const tensor::HostCall here("zero_grad", where);
  std::vector<Tensor> grads;
  for (const Tensor& parameter : parameters()) {
    Tensor& grad = parameter.mutable_grad();
    if (set_to_none)
      grad = Tensor();
    else if (grad.defined())
      grads.push_back(grad);
  }
  tensor::zero_all("zero_grad", grads);
}

void Module::to(const TensorOptions& options, bool non_blocking, Where where) {
  const tensor::HostCall here("to", where);
  check_type(options);
  for (const auto& child : children_) {
    if (child.value()) child.value()->to(options, non_blocking, where);
  }
  for (const auto* own : {&parameters_, &buffers_}) {
    for (const auto& item : *own) {
      const Tensor& tensor = item.value();
      if (!tensor.defined()) continue;
      tensor.set_data(tensor.to(for_tensor(options, tensor), non_blocking));
      if (Tensor& grad = tensor.mutable_grad(); grad.defined()) grad = grad.to(for_tensor(options, grad), non_blocking);
    }
  }
}

void Module::to(Device device, ScalarType type, bool non_blocking, Where where) {
  to(TensorOptions(type).device(device), non_blocking, where);
}
void Module::to(ScalarType type, bool non_blocking, Where where) {
  to(TensorOptions(type), non_blocking, where);
}
void Module::to(Device device, bool non_blocking, Where where) {
  to(TensorOptions(device), non_blocking, where);
}
void Module::to(DeviceType device, bool non_blocking, Where where) {
  to(TensorOptions(device), non_blocking, where);
}
void Module::to(const char* device, bool non_blocking, Where where) {
  to(TensorOptions(Device(device)), non_blocking, where);
}

IncompatibleKeys Module::load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict, Where where) {
  const tensor::HostCall here("load_state_dict", where);
  const auto own = state_dict();
  IncompatibleKeys keys;
  std::string shapes;
  for (const auto& item : own) {
    const Tensor* const given = state.find(item.key());
    if (given == nullptr || !given->defined()) {
      keys.missing_keys.push_back(item.key());
    } else if (given->sizes() != item->sizes()) {
      shapes += fmt::format(
          "\n\tsize mismatch for {}: copying a param with shape {} from checkpoint, the shape in current model is {}.",
          item.key(), shape_of(*given), shape_of(*item));
    }
  }
  for (const auto& item : state) {
    if (!own.contains(item.key())) keys.unexpected_keys.push_back(item.key());
  }
  std::string wrong;
  if (strict && !keys.missing_keys.empty())
    wrong += fmt::format("\n\tMissing key(s) in state_dict: {}. ", quoted(keys.missing_keys));
  if (strict && !keys.unexpected_keys.empty())
    wrong += fmt::format("\n\tUnexpected key(s) in state_dict: {}. ", quoted(keys.unexpected_keys));
  wrong += shapes;
  if (!wrong.empty()) throw ValueError(fmt::format("Error(s) in loading state_dict for {}:{}", name(), wrong));
  for (const auto& item : own) {
    const Tensor* const given = state.find(item.key());
    if (given != nullptr && given->defined()) item->copy_(*given);
  }
  return keys;
}

void Module::pretty_print(std::ostream& out) const {
  out << name();
}

void Module::print_with_children(std::ostream& out, const std::string& indentation) const {
  pretty_print(out);
  if (children_.is_empty()) return;
  out << "(\n";
  const std::string next = indentation + "  ";
  for (const auto& child : children_) {
    out << next << '(' << child.key() << "): ";
    if (child.value()) child.value()->print_with_children(out, next);
    out << '\n';
  }
  out << indentation << ')';
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  module.print_with_children(out, "");
  return out;
}

}  // namespace kernbench::torch::nn
