#include "numerics/memory/source.h"

#include <cassert>
#include <functional>

namespace kernbench::numerics {

std::size_t SourceTable::Hash::operator()(const Source& source) const {
  std::size_t result = static_cast<std::size_t>(source.cause);
  const auto mix = [&](std::size_t part) { result = (result ^ part) * 0x100000001b3u; };
  const std::hash<const void*> hash;
  mix(hash(source.operation));
  mix(hash(source.work));
  mix(hash(source.where.file_name()));
  mix(source.where.line());
  mix(hash(source.unwritten.names.get()));
  mix(source.unwritten.range);
  mix(static_cast<std::size_t>(source.unwritten.offset));
  return result;
}

std::size_t SourceTable::LineHash::operator()(const Line& line) const {
  const std::hash<const void*> hash;
  std::size_t result = hash(std::get<0>(line));
  result = (result ^ hash(std::get<1>(line))) * 0x100000001b3u;
  return (result ^ std::get<2>(line)) * 0x100000001b3u;
}

bool SourceTable::count_read() {
  const Source& source = current_;
  return ++reads_[{source.operation, source.where.file_name(), source.where.line()}] <= kNamedReads;
}

SourceId SourceTable::id_of(const Source& source) {
  const std::scoped_lock lock(mutex_);
  const auto [entry, added] = ids_.try_emplace(source, static_cast<SourceId>(sources_.size() + 1));
  if (added) sources_.push_back(source);
  return entry->second;
}

Source SourceTable::at(SourceId id) const {
  const std::scoped_lock lock(mutex_);
  assert(id != kValid && id <= sources_.size());
  return sources_[id - 1];
}

}  // namespace kernbench::numerics
