#include "numerics/value.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "numerics/conversion.h"
#include "numerics/memory/storage.h"

namespace kernbench::numerics {

DType Value::dtype() const {
  return storage_->dtype;
}
const Shape& Value::shape() const {
  return storage_->shape;
}
bool Value::has_data() const {
  return storage_->contents != nullptr;
}
const TaskHandle& Value::producer() const {
  return storage_->producer;
}

bool TileView::all_valid() const {
  return std::ranges::all_of(sources, [](SourceId source) { return source == kValid; });
}

Scalar TileView::element(std::int64_t lane) const {
  return load_element(dtype, bytes.data() + lane * item_size(dtype));
}

Value without_data(DType dtype, const Shape& shape) {
  return Value(std::make_shared<TileStorage>(TileStorage{dtype, shape, nullptr, nullptr}));
}

bool lacks_data(std::initializer_list<const Value*> values) {
  return std::ranges::any_of(values, [](const Value* value) { return value->defined() && !value->has_data(); });
}

bool left_out(const Executor& executor, DType dtype, std::initializer_list<const Value*> inputs) {
  return !executor.enabled() || (executor.skips_floating_point() && is_floating_point(dtype)) || lacks_data(inputs);
}

Value calculate(Executor& executor, DType dtype, const Shape& shape, std::initializer_list<const Value*> inputs,
                ComputeFunction body) {
  if (left_out(executor, dtype, inputs)) return without_data(dtype, shape);
  return compute(executor, dtype, shape, inputs, std::move(body));
}

Value compute(Executor& executor, DType dtype, const Shape& shape, std::initializer_list<const Value*> inputs,
              ComputeFunction body, const OperationKey& key, std::vector<TaskHandle> dependencies, When when) {
  if (!executor.enabled() || lacks_data(inputs)) return without_data(dtype, shape);
  auto storage = std::make_shared<TileStorage>(TileStorage{dtype, shape, nullptr, nullptr});
  storage->contents = std::make_shared<TileContents>();
  for (const Value* input : inputs) {
    if (input->defined()) dependencies.push_back(input->producer());
  }
  const std::int64_t bytes = shape.numel() * item_size(dtype);
  auto work = [bytes, body = std::move(body), result = std::weak_ptr(storage->contents)] {
    const std::shared_ptr<TileContents> out = result.lock();
    if (!out) return;
    out->bytes = AlignedBytes(bytes);
    body(*out);
  };
  storage->producer = executor.submit(key, dependencies, std::move(work), bytes, when);
  return Value(std::move(storage));
}

Value from_bytes(Executor& executor, DType dtype, const Shape& shape, std::span<const std::byte> bytes,
                 std::span<const std::uint8_t> validity) {
  assert(static_cast<std::int64_t>(bytes.size()) == shape.numel() * item_size(dtype));
  assert(validity.empty() || static_cast<std::int64_t>(validity.size()) == shape.numel());
  if (!executor.enabled()) return without_data(dtype, shape);
  AlignedBytes copy(static_cast<std::int64_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  Value value = from_bytes(executor, dtype, shape, std::move(copy));
  const bool masked = std::ranges::any_of(validity, [](std::uint8_t valid) { return valid == 0; });
  if (masked) {
    const SourceId source = OwnSource(executor.sources()).id(Cause::given);
    auto& sources = value.storage()->contents->sources;
    sources.reserve(validity.size());
    for (const std::uint8_t valid : validity) sources.push_back(valid == 0 ? source : kValid);
  }
  return value;
}

Value from_bytes(Executor& executor, DType dtype, const Shape& shape, AlignedBytes bytes) {
  assert(static_cast<std::int64_t>(bytes.size()) == shape.numel() * item_size(dtype));
  if (!executor.enabled()) return without_data(dtype, shape);
  auto storage = std::make_shared<TileStorage>(TileStorage{dtype, shape, nullptr, nullptr});
  storage->contents = std::make_shared<TileContents>();
  storage->contents->bytes = std::move(bytes);
  return Value(std::move(storage));
}

namespace {

TileView look_at(const Executor& executor, DType dtype, const Shape& shape, const TileContents& contents) {
  return {dtype, shape, {contents.bytes.data(), contents.bytes.size()}, contents.sources, &executor.sources()};
}

}  // namespace

TileView view(Executor& executor, const Value& value) {
  assert(value.has_data());
  executor.force(value.producer());
  return look_at(executor, value.dtype(), value.shape(), *value.storage()->contents);
}

AlignedBytes take_bytes(const Value& value) {
  assert(value.storage().use_count() == 1 && value.storage()->contents.use_count() == 1);
  return std::move(value.storage()->contents->bytes);
}

Item item(Executor& executor, const Value& value) {
  assert(value.numel() == 1);
  const TileView tile = view(executor, value);
  if (!tile.valid(0)) return {tile.element(0), false, tile.source(0)};
  return {tile.element(0), true, {}};
}

TaskHandle inspect(Executor& executor, const OperationKey& key, const Value& value,
                   std::function<void(const TileView&)> look) {
  if (!value.has_data()) return nullptr;
  const TaskHandle dependencies[] = {value.producer()};
  return executor.submit(key, dependencies, [&executor, operand = Operand(value), look = std::move(look)] {
    look(look_at(executor, operand.dtype, operand.shape, *operand.contents));
  });
}

}  // namespace kernbench::numerics
