#include "numerics/memory/kept.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "numerics/memory/access_plan.h"
#include "numerics/memory/region.h"

namespace kernbench::numerics {

struct KeptContents::Parts {
  explicit Parts(std::span<const Piece> pieces) : plan(pieces, 1), kept(plan.pieces().size()) {
    for (const RegionPiece& piece : plan.pieces()) left_out.push_back(piece.region->left_out(piece.where));
  }

  void keep() {
    for (std::size_t i = 0; i < kept.size(); ++i) plan.pieces()[i].region->keep(plan.pieces()[i].where, kept[i]);
  }
  void put_back() const {
    for (std::size_t i = 0; i < kept.size(); ++i) plan.pieces()[i].region->put_back(plan.pieces()[i].where, kept[i]);
  }
  void put_back_left_out() const {
    plan.set_left_out(false);
    for (std::size_t i = 0; i < left_out.size(); ++i) {
      for (const auto& [begin, end] : left_out[i])
        plan.pieces()[i].region->set_left_out({begin, 1, end - begin, 0}, true);
    }
  }

  AccessPlan plan;
  std::vector<KeptBytes> kept;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> left_out;
  TaskHandle task;
};

KeptContents::KeptContents(Executor& executor, const OperationKey& key, std::span<const Piece> pieces)
    : executor_(executor) {
  if (!executor.enabled()) return;
  parts_ = std::make_shared<Parts>(pieces);
  // Nothing is kept any more when nobody can ask for it by the time at which the task runs.
  auto keep = [parts = std::weak_ptr<Parts>(parts_)] {
    if (const auto wanted = parts.lock()) wanted->keep();
  };
  parts_->task = executor.submit(key, parts_->plan.conflicts(false), std::move(keep));
  parts_->plan.record(false, parts_->task);
}

KeptContents::~KeptContents() = default;

void KeptContents::put_back(const OperationKey& key) const {
  if (!parts_) return;
  parts_->put_back_left_out();
  std::vector<TaskHandle> dependencies = parts_->plan.conflicts(true);
  dependencies.push_back(parts_->task);
  parts_->plan.record(true, executor_.submit(key, dependencies, [parts = parts_] { parts->put_back(); }));
}

}  // namespace kernbench::numerics
