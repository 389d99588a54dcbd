#include "generator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "interpreter.h"

namespace kernbench::testing {

namespace {

constexpr std::int64_t kMostLanes = 128;
constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 8};

class Generator {
 public:
  Generator(std::mt19937& random, Tensors& tensors, int program)
      : random_(random), tensors_(tensors), program_(program), interpreter_{std::vector<Array>(kRegisters), tensors} {}

  std::vector<Step> generate() {
    const std::int64_t length = between(6, 40);
    while (static_cast<std::int64_t>(steps_.size()) < length) {
      if (auto next = draw()) carry_out(*next);
    }
    return std::move(steps_);
  }

 private:
  using Drawn = std::optional<Instruction>;

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::int64_t extent() { return kExtents[between(0, 4)]; }
  int any_register() { return static_cast<int>(between(0, kRegisters - 1)); }
  const Array& at(int index) const { return interpreter_.registers[static_cast<std::size_t>(index)]; }

  /// A register that holds a tile with the property, or -1.
  template <class Property>
  int find(Property&& property) {
    const int first = any_register();
    for (int i = 0; i < kRegisters; ++i) {
      const int index = (first + i) % kRegisters;
      if (!at(index).lanes.empty() && property(at(index))) return index;
    }
    return -1;
  }
  int find_any() {
    return find([](const Array&) { return true; });
  }

  void carry_out(const Instruction& instruction) {
    if (instruction.code == Code::branch) {
      branch(instruction);
      return;
    }
    interpreter_.step(instruction);
    append(instruction);
  }

  void append(const Instruction& instruction) {
    Step step{instruction, DType::f32, {}};
    if (instruction.out >= 0) {
      step.dtype = at(instruction.out).dtype;
      step.shape = at(instruction.out).shape;
    }
    steps_.push_back(std::move(step));
  }

  /// The body of a branch only stores, so that both ways leave the same registers.
  void branch(Instruction instruction) {
    std::vector<Instruction> body;
    for (int i = 0; i < 2; ++i) {
      if (auto next = store_block()) body.push_back(*next);
    }
    instruction.count = static_cast<int>(body.size());
    append(instruction);
    const bool taken = interpreter_.taken(instruction);
    for (const auto& next : body) {
      if (taken) interpreter_.step(next);
      append(next);
    }
  }

  Drawn draw() {
    switch (between(0, 27)) {
      case 0:
        return full();
      case 1:
        return arange();
      case 2:
      case 3:
      case 4:
      case 5:
        return load_block();
      case 6:
        return load_strided();
      case 7:
      case 8:
        return indexed(Code::load_gather);
      case 9:
        return indexed(Code::store_scatter);
      case 10:
        return indexed(Code::atomic_add);
      case 11:
      case 12:
        return store_block();
      case 13:
      case 14:
      case 15:
        return binary();
      case 16:
        return compare();
      case 17:
        return unary();
      case 18:
        return fma();
      case 19:
        return clamp();
      case 20:
        return where();
      case 21:
        return cast();
      case 22:
      case 23:
        return reduce();
      case 24:
        return dot();
      case 25:
      case 26:
        return reshaped();
      default:
        return branch_if();
    }
  }

  /// A scalar that every type in use holds exactly.
  void draw_scalar(Instruction& instruction, DType partner) {
    instruction.scalar_is_float = partner != DType::u8 && chance(50);
    if (instruction.scalar_is_float)
      instruction.scalar = static_cast<double>(between(-16, 16)) / 4;
    else
      instruction.scalar = static_cast<double>(between(partner == DType::u8 ? 0 : -5, 5));
  }

  Drawn full() {
    constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i32, DType::i8, DType::u8, DType::boolean, DType::bf16};
    Instruction next{.code = Code::full, .out = any_register()};
    next.dtype = kTypes[between(0, 6)];
    next.shape = {extent(), extent()};
    next.scalar = static_cast<double>(between(next.dtype == DType::boolean || next.dtype == DType::u8 ? 0 : -4,
                                              next.dtype == DType::boolean ? 1 : 9));
    return next;
  }

  Drawn arange() {
    Instruction next{.code = Code::arange, .out = any_register()};
    next.shape = {between(1, 20)};
    next.scalar = static_cast<double>(between(-10, 100));
    return next;
  }

  std::int64_t first_row(bool own) const { return own ? program_ * tensors_.rows_per_program : 0; }
  std::int64_t row_count(int tensor, bool own) const {
    return own ? tensors_.rows_per_program : tensors_.arrays[static_cast<std::size_t>(tensor)].shape[0];
  }

  Drawn load_block() {
    Instruction next{.code = Code::load_block, .out = any_register()};
    next.tensor = static_cast<int>(between(0, 7));
    const bool own = next.tensor >= kReadOnly;
    next.shape = {extent(), extent()};
    // Of the others' rows nothing may be read, so a block of an own tensor ends with the own rows.
    const std::int64_t rows = row_count(next.tensor, own), columns = tensors_.columns;
    if (own && next.shape[0] > rows) return {};
    next.offsets = {first_row(own) + between(0, own ? rows - next.shape[0] : rows - 1), between(0, columns - 1)};
    if (chance(60)) next.scalar = static_cast<double>(between(0, 4));
    if (chance(30)) {
      next.mask = find([&](const Array& x) {
        if (x.dtype != DType::boolean || !x.all_valid()) return false;
        const auto both = broadcast(x.shape, next.shape);
        return both.ok && both.shape == next.shape;
      });
    }
    next.async = chance(20);
    if (chance(25)) {
      next.code = Code::load_block_pointer;
      next.mask = -1;
      next.scalar = 0;
      if (!own && chance(50)) {  // the transposed parent
        next.flag = true;
        next.offsets = {between(0, columns - 1), between(0, rows - 1)};
      }
    }
    return next;
  }

  Drawn load_strided() {
    Instruction next{.code = Code::load_strided, .out = any_register()};
    next.tensor = static_cast<int>(between(0, kReadOnly - 1));
    const std::int64_t size = tensors_.arrays[static_cast<std::size_t>(next.tensor)].size();
    next.shape = {extent(), extent(), extent()};
    std::int64_t reach = 0;
    for (const auto length : next.shape) {
      next.strides.push_back(between(0, 17));
      reach += (length - 1) * next.strides.back();
    }
    if (reach >= size) return {};
    next.offsets = {between(0, size - 1 - reach)};
    return next;
  }

  /// Clamps an integer tile into the range of a tensor's elements, then uses it as offsets.
  Drawn indexed(Code code) {
    const int source = find([](const Array& x) { return x.dtype == DType::i32 && x.all_valid() && x.size() <= 24; });
    if (source < 0) return {};
    Instruction next{.code = code};
    next.tensor = static_cast<int>(code == Code::load_gather ? between(0, 7) : between(kReadOnly, 7));
    const bool own = next.tensor >= kReadOnly;
    const DType dtype = kTensorTypes[next.tensor];
    int value = -1;
    if (code != Code::load_gather) {
      value = find([&](const Array& x) {
        const auto both = broadcast(x.shape, at(source).shape);
        if (!both.ok || both.shape != at(source).shape || !x.all_valid()) return false;
        return code == Code::store_scatter || x.dtype == dtype;
      });
      const bool fits = code == Code::store_scatter || dtype == DType::i32 || dtype == DType::f32;
      if (value < 0 || !fits) return {};
    }
    Instruction into{.code = Code::clamp, .out = any_register()};
    if (into.out == value) return {};
    into.in[0] = source;
    const std::int64_t begin = first_row(own) * tensors_.columns;
    into.offsets = {begin, begin + row_count(next.tensor, own) * tensors_.columns - 1};
    carry_out(into);
    next.in[0] = into.out;
    next.in[1] = value;
    if (code != Code::store_scatter) next.out = any_register();
    return next;
  }

  Drawn store_block() {
    Instruction next{.code = Code::store_block};
    next.tensor = static_cast<int>(between(kReadOnly, 7));
    next.in[0] = find([&](const Array& x) {
      return x.shape.size() == 2 && x.shape[0] <= tensors_.rows_per_program && x.all_valid();
    });
    if (next.in[0] < 0) return {};
    const Shape& shape = at(next.in[0]).shape;
    next.offsets = {first_row(true) + between(0, tensors_.rows_per_program - shape[0]),
                    between(0, tensors_.columns - 1)};
    if (chance(30)) {
      next.mask = find([&](const Array& x) {
        if (x.dtype != DType::boolean || !x.all_valid()) return false;
        const auto both = broadcast(x.shape, shape);
        return both.ok && both.shape == shape;
      });
    }
    return next;
  }

  static bool mixes_signs(DType a, DType b) {
    return (a == DType::i8 && b == DType::u8) || (a == DType::u8 && b == DType::i8);
  }

  /// A partner of in[0] that broadcasts to a tile that is not too large, or a scalar.
  bool draw_partner(Instruction& next, std::size_t index) {
    const Array& first = at(next.in[0]);
    if (chance(35)) {
      draw_scalar(next, first.dtype);
      return true;
    }
    next.in[index] = find([&](const Array& x) {
      const auto both = broadcast(first.shape, x.shape);
      return both.ok && numel(both.shape) <= kMostLanes && !mixes_signs(first.dtype, x.dtype);
    });
    return next.in[index] >= 0;
  }

  Drawn binary() {
    Instruction next{.code = Code::binary, .out = any_register()};
    next.in[0] = find([](const Array& x) { return x.dtype != DType::boolean; });
    if (next.in[0] < 0 || !draw_partner(next, 1)) return {};
    const bool partner_is_float = next.in[1] >= 0 ? is_float(at(next.in[1]).dtype) : next.scalar_is_float;
    const bool partner_is_bool = next.in[1] >= 0 && at(next.in[1]).dtype == DType::boolean;
    if (partner_is_bool) return {};
    const bool integers = !is_float(at(next.in[0]).dtype) && !partner_is_float;
    Binary operation;
    do {
      operation = static_cast<Binary>(between(0, 12));
    } while (operation >= Binary::integer_divide && operation <= Binary::shift_right && !integers);
    next.operation = static_cast<int>(operation);
    return next;
  }

  Drawn compare() {
    Instruction next{.code = Code::compare, .out = any_register()};
    next.operation = static_cast<int>(between(0, 3));
    next.in[0] = find([](const Array& x) { return x.dtype != DType::boolean; });
    if (next.in[0] < 0 || !draw_partner(next, 1)) return {};
    return next;
  }

  Drawn unary() {
    Instruction next{.code = Code::unary, .out = any_register()};
    const auto operation = static_cast<Unary>(between(0, 6));
    next.operation = static_cast<int>(operation);
    next.in[0] = find([&](const Array& x) {
      const bool floating = operation == Unary::floor || operation == Unary::ceil;
      const bool whole = operation == Unary::bit_not;
      const bool any = operation == Unary::logical_not;
      if (x.dtype == DType::boolean) return any;
      return floating ? is_float(x.dtype) : !whole || !is_float(x.dtype);
    });
    if (next.in[0] < 0) return {};
    return next;
  }

  Drawn fma() {
    Instruction next{.code = Code::fma, .out = any_register()};
    Shape shape;
    for (auto& input : next.in) {
      input = find([&](const Array& x) {
        const auto both = broadcast(shape, x.shape);
        return is_float(x.dtype) && both.ok && numel(both.shape) <= kMostLanes;
      });
      if (input < 0) return {};
      shape = broadcast(shape, at(input).shape).shape;
    }
    return next;
  }

  Drawn clamp() {
    Instruction next{.code = Code::clamp, .out = any_register()};
    next.in[0] = find([](const Array& x) { return x.dtype != DType::boolean; });
    if (next.in[0] < 0) return {};
    const std::int64_t low = between(0, 3);
    next.offsets = {low, low + between(0, 6)};
    return next;
  }

  Drawn where() {
    Instruction next{.code = Code::where, .out = any_register()};
    const int condition = find([](const Array& x) { return x.dtype == DType::boolean; });
    if (condition < 0) return {};
    next.in[0] = find([&](const Array& x) {
      const auto both = broadcast(at(condition).shape, x.shape);
      return x.dtype != DType::boolean && both.ok && numel(both.shape) <= kMostLanes;
    });
    if (next.in[0] < 0 || !draw_partner(next, 2)) return {};
    next.in[1] = next.in[0];
    next.in[0] = condition;
    Shape shape = broadcast(at(condition).shape, at(next.in[1]).shape).shape;
    if (next.in[2] >= 0) {
      if (at(next.in[2]).dtype == DType::boolean) return {};
      const auto all = broadcast(shape, at(next.in[2]).shape);
      if (!all.ok) return {};
      shape = all.shape;
    }
    if (numel(shape) > kMostLanes) return {};
    return next;
  }

  Drawn cast() {
    constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8, DType::u8, DType::boolean};
    Instruction next{.code = Code::cast, .out = any_register()};
    next.in[0] = find_any();
    next.dtype = kTypes[between(0, 6)];
    if (next.in[0] < 0) return {};
    return next;
  }

  Drawn reduce() {
    constexpr Code kCodes[] = {Code::sum, Code::maximum, Code::minimum, Code::argmax, Code::cumsum};
    Instruction next{.code = kCodes[between(0, 4)], .out = any_register()};
    next.in[0] = find([&](const Array& x) {
      if (x.shape.empty()) return false;
      if (next.code == Code::sum) return true;
      if (next.code == Code::cumsum) return x.dtype == DType::f32 || x.dtype == DType::i32;
      return x.dtype != DType::boolean && !x.has_nan();
    });
    if (next.in[0] < 0) return {};
    next.flag = chance(40);
    const auto last = static_cast<std::int64_t>(at(next.in[0]).shape.size()) - 1;
    if (next.code == Code::cumsum || chance(70)) next.axis = static_cast<int>(between(0, last));
    return next;
  }

  Drawn dot() {
    Instruction next{.code = Code::dot, .out = any_register()};
    const auto fits = [](const Array& x) {
      return x.shape.size() == 2 && (x.dtype == DType::f16 || x.dtype == DType::f32 || x.dtype == DType::i8);
    };
    next.in[0] = find(fits);
    if (next.in[0] < 0) return {};
    const Array& a = at(next.in[0]);
    next.in[1] = find([&](const Array& x) { return fits(x) && x.dtype == a.dtype && x.shape[0] == a.shape[1]; });
    if (next.in[1] < 0) return {};
    const Shape product{a.shape[0], at(next.in[1]).shape[1]};
    if (chance(50)) {
      next.in[2] = find([&](const Array& x) {
        return x.dtype == (is_float(a.dtype) ? DType::f32 : DType::i32) && x.shape == product;
      });
    }
    return next;
  }

  Drawn reshaped() {
    constexpr Code kCodes[] = {Code::reshape,      Code::expand_dims, Code::permute, Code::broadcast_to,
                               Code::broadcast_to, Code::cat,         Code::join,    Code::split};
    Instruction next{.code = kCodes[between(0, 7)], .out = any_register()};
    const bool halves = next.code == Code::split;
    next.in[0] = find([&](const Array& x) {
      if (x.shape.size() > 3) return false;
      return halves ? !x.shape.empty() && x.shape.back() == 2 : x.size() * 2 <= kMostLanes && !x.shape.empty();
    });
    if (next.in[0] < 0) return {};
    const Array& x = at(next.in[0]);
    const auto rank = static_cast<std::int64_t>(x.shape.size());
    switch (next.code) {
      case Code::reshape: {
        const std::int64_t rows = extent();
        next.shape = x.size() % rows == 0 ? Shape{rows, x.size() / rows} : Shape{x.size()};
        break;
      }
      case Code::expand_dims:
        next.axis = static_cast<int>(between(0, rank));
        break;
      case Code::permute:
        for (std::int64_t i = 0; i < rank; ++i) next.shape.push_back(i);
        std::shuffle(next.shape.begin(), next.shape.end(), random_);
        break;
      case Code::broadcast_to:
        next.shape = x.shape;
        for (auto& length : next.shape) {
          if (length == 1) length = extent();
        }
        if (chance(40)) next.shape.insert(next.shape.begin(), 2);
        if (numel(next.shape) > kMostLanes) return {};
        break;
      case Code::cat:
        next.axis = static_cast<int>(between(0, rank - 1));
        next.in[1] = find([&](const Array& y) {
          if (y.dtype != x.dtype || y.shape.size() != x.shape.size()) return false;
          for (std::size_t i = 0; i < x.shape.size(); ++i) {
            if (static_cast<int>(i) != *next.axis && x.shape[i] != y.shape[i]) return false;
          }
          return x.size() + y.size() <= kMostLanes;
        });
        break;
      case Code::join:
        next.in[1] = find([&](const Array& y) { return y.dtype == x.dtype && y.shape == x.shape; });
        break;
      default:
        next.in[1] = (next.out + 1) % kRegisters;
        break;
    }
    if ((next.code == Code::cat || next.code == Code::join) && next.in[1] < 0) return {};
    return next;
  }

  Drawn branch_if() {
    Instruction next{.code = Code::branch};
    next.in[0] = find([](const Array& x) { return x.dtype == DType::f32 && x.all_valid() && !x.has_nan(); });
    if (next.in[0] < 0) return {};
    next.scalar = static_cast<double>(between(-2, 2));
    return next;
  }

  std::mt19937& random_;
  Tensors& tensors_;
  std::int64_t program_;
  Interpreter interpreter_;
  std::vector<Step> steps_;
};

double random_element(std::mt19937& random, DType dtype) {
  const auto draw = static_cast<std::int32_t>(random());
  switch (random() % 4) {
    case 0:  // any number of digits
      return converted(static_cast<double>(draw) * 0x1p-28, dtype);
    case 1:
      return converted(is_float(dtype) ? static_cast<double>(draw) * 0x1p-12 : static_cast<double>(draw), dtype);
    default:
      return converted(static_cast<double>(draw % 64) / (is_float(dtype) ? 8 : 1), dtype);
  }
}

}  // namespace

Tensors random_tensors(std::mt19937& random, int programs) {
  Tensors tensors;
  tensors.rows_per_program = 3 + static_cast<std::int64_t>(random() % 6);
  tensors.columns = 5 + static_cast<std::int64_t>(random() % 20);
  tensors.read_only = kReadOnly;
  for (const DType dtype : kTensorTypes) {
    Array array = filled(dtype, {tensors.rows_per_program * programs, tensors.columns}, {});
    for (Lane& lane : array.lanes) lane.value = random_element(random, dtype);
    tensors.arrays.push_back(std::move(array));
  }
  return tensors;
}

std::vector<Step> random_program(std::mt19937& random, Tensors& tensors, int program) {
  return Generator(random, tensors, program).generate();
}

}  // namespace kernbench::testing
