#include "numerics/memory/region.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/aligned_bytes.h"

namespace kernbench::numerics {

namespace {

bool ranges_meet(std::int64_t a_begin, std::int64_t a_end, std::int64_t b_begin, std::int64_t b_end) {
  return a_begin < b_end && b_begin < a_end;
}

/// Whether `where` is whole columns of a matrix with this row stride.
bool is_strided(const Rectangle& where, std::int64_t stride) {
  return (where.rows == 1 || where.stride == stride) && where.row_bytes <= stride;
}

}  // namespace

bool may_overlap(const Rectangle& a, const Rectangle& b) {
  if (!ranges_meet(a.begin, a.end(), b.begin, b.end())) return false;
  const std::int64_t stride = a.rows > 1 ? a.stride : b.stride;
  if (a.rows == 1 && b.rows == 1) return true;
  if (stride <= 0 || !is_strided(a, stride) || !is_strided(b, stride)) return true;
  // Row i of a and row j of b start d + (j - i) * stride apart. Two differences matter: the one just at or above zero,
  // and the one just below; each must be possible with the numbers of rows.
  const std::int64_t d = b.begin - a.begin;
  const std::int64_t below = d >= 0 ? d / stride : -((-d + stride - 1) / stride);  // floor
  const std::int64_t remainder = d - below * stride;                               // b's row after a's row
  // b's row j starts `remainder` after a's row i when i - j == below.
  const auto rows_possible = [&](std::int64_t difference) { return difference < a.rows && -difference < b.rows; };
  if (remainder < a.row_bytes && rows_possible(below)) return true;
  return stride - remainder < b.row_bytes && rows_possible(below + 1);
}

/// Bytes that one or more regions have.
struct SharedBytes {
  explicit SharedBytes(std::int64_t size) : bytes(AlignedBytes::zeros(size)) {}

  AlignedBytes bytes;  // zeros at first, so that even invalid bytes are reproducible
  // Whoever writes must be the only owner. It grows only by a task that has exclusive access to an owner's bytes; a
  // region that leaves has copied them before.
  std::atomic<int> owners = 1;
};

Region::Region(std::uint64_t address, std::int64_t size, bool with_data, NamedPlace start)
    : address_(address), size_(size), start_(std::move(start)) {
  if (with_data) bytes_ = std::make_shared<SharedBytes>(size);
}

Region::~Region() {
  if (bytes_) --bytes_->owners;
}

const std::byte* Region::View::at(std::int64_t offset) const {
  return bytes_->bytes.data() + offset;
}

Region::View Region::view() const {
  View view;
  const std::scoped_lock lock(bytes_mutex_);
  view.bytes_ = bytes_;
  return view;
}

std::byte* Region::to_write(std::int64_t offset) {
  const std::scoped_lock lock(bytes_mutex_);
  if (bytes_->owners > 1) {
    auto own = std::make_shared<SharedBytes>(size_);
    std::memcpy(own->bytes.data(), bytes_->bytes.data(), static_cast<std::size_t>(size_));
    --bytes_->owners;
    bytes_ = std::move(own);
  }
  return bytes_->bytes.data() + offset;
}

void Region::share_bytes_of(Region& other) {
  if (this == &other) return;
  const std::scoped_lock lock(bytes_mutex_, other.bytes_mutex_);
  if (bytes_ == other.bytes_) return;
  --bytes_->owners;
  bytes_ = other.bytes_;
  ++bytes_->owners;
}

bool Region::shares_bytes() const {
  const std::scoped_lock lock(bytes_mutex_);
  return bytes_ && bytes_->owners > 1;
}

KeptBytes::~KeptBytes() {
  if (shared_) --shared_->owners;
}

void Region::keep(const Rectangle& where, KeptBytes& kept) {
  if (is_whole(where)) {
    const std::scoped_lock lock(bytes_mutex_);
    kept.shared_ = bytes_;
    ++bytes_->owners;
  } else {
    kept.copied_.resize(static_cast<std::size_t>(where.rows * where.row_bytes));
    const View now = view();
    for (std::int64_t r = 0; r < where.rows; ++r) {
      std::memcpy(kept.copied_.data() + r * where.row_bytes, now.at(where.begin + r * where.stride),
                  static_cast<std::size_t>(where.row_bytes));
    }
  }
  for_each_invalid(where, [&](std::int64_t row, std::int64_t begin, std::int64_t end, SourceId source) {
    const std::int64_t start = where.begin + row * where.stride;
    kept.invalid_.push_back({start + begin, start + end, source});
  });
}

void Region::put_back(const Rectangle& where, const KeptBytes& kept) {
  if (kept.shared_) {
    const std::scoped_lock lock(bytes_mutex_);
    if (bytes_ != kept.shared_) {
      --bytes_->owners;
      bytes_ = kept.shared_;
      ++bytes_->owners;
    }
  } else {
    for (std::int64_t r = 0; r < where.rows; ++r) {
      std::memcpy(to_write(where.begin + r * where.stride), kept.copied_.data() + r * where.row_bytes,
                  static_cast<std::size_t>(where.row_bytes));
    }
  }
  set_valid(where);
  for (const auto& part : kept.invalid_) set_invalid({part.begin, 1, part.end - part.begin, 0}, part.source);
}

void Region::find_conflicts(const Rectangle& where, bool writes, std::vector<TaskHandle>& conflicts) {
  if (accesses_.empty() || (!writes && writes_ == 0)) return;
  forget_finished();
  for (const Access& access : accesses_) {
    if ((writes || access.writes) && may_overlap(where, access.where)) conflicts.push_back(access.task);
  }
}

void Region::add_access(const Rectangle& where, bool writes, const TaskHandle& task) {
  if (Executor::finished(task)) return;
  // What waits for this write waits for all that the write waits for.
  if (writes) forget([&](const Access& old) { return old.where == where && old.task != task; });
  accesses_.push_back({where, writes, task});
  if (writes) ++writes_;
  if (accesses_.size() >= sweep_at_) {
    forget_finished();
    sweep_at_ = std::max<std::size_t>(16, 2 * accesses_.size());
  }
}

void Region::forget_finished() {
  forget([](const Access& access) { return Executor::finished(access.task); });
}

void Region::set_left_out(const Rectangle& where, bool left_out) {
  if (!left_out && left_out_.empty()) return;
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::int64_t begin = where.begin + r * where.stride;
    if (left_out)
      left_out_.insert(begin, begin + where.row_bytes);
    else
      left_out_.erase(begin, begin + where.row_bytes);
  }
}

bool Region::has_left_out(const Rectangle& where) const {
  if (!left_out_.meets(where.begin, where.end())) return false;
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::int64_t begin = where.begin + r * where.stride;
    if (left_out_.meets(begin, begin + where.row_bytes)) return true;
  }
  return false;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Region::left_out(const Rectangle& where) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  if (!has_left_out(where)) return ranges;
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::int64_t begin = where.begin + r * where.stride, end = begin + where.row_bytes;
    std::int64_t from = begin;
    const auto append_to = [&](std::int64_t to) {
      if (from < to) ranges.emplace_back(from, to);
    };
    left_out_.for_each_gap(begin, end, [&](std::int64_t gap, std::int64_t gap_end) {
      append_to(gap);
      from = gap_end;
    });
    append_to(end);
  }
  return ranges;
}

void Region::set_valid(const Rectangle& where) {
  const std::scoped_lock lock(validity_mutex_);
  // Already as wanted: by far the most frequent case when memory is written again.
  if (valid_.contains(where.begin, where.end())) return;
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::int64_t begin = where.begin + r * where.stride;
    valid_.insert(begin, begin + where.row_bytes);
    if (!sources_.empty()) sources_.erase(begin, begin + where.row_bytes);
  }
}

void Region::set_source(const Rectangle& where, SourceId source) {
  const std::scoped_lock lock(validity_mutex_);
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::int64_t begin = where.begin + r * where.stride;
    valid_.for_each_gap(begin, begin + where.row_bytes,
                        [&](std::int64_t gap, std::int64_t gap_end) { sources_.assign(gap, gap_end, source); });
  }
}

void Region::set_invalid(const Rectangle& where, SourceId source) {
  const std::scoped_lock lock(validity_mutex_);
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::int64_t begin = where.begin + r * where.stride;
    valid_.erase(begin, begin + where.row_bytes);
    sources_.assign(begin, begin + where.row_bytes, source);
  }
}

}  // namespace kernbench::numerics
