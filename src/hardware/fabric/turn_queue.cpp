#include "hardware/fabric/turn_queue.h"

#include <utility>

namespace kernbench::hardware::fabric {

/// The first bucket has no turn any more, and there are others.
void TurnQueue::next_bucket() {
  const std::size_t from = first_number_ % kBuckets;
  // In the order of their numbers: those behind the first one, then, at the beginning, those of the next round.
  for (std::size_t i = 0; i <= occupied_.size(); ++i) {
    const std::size_t word = (from / kWord + i) % occupied_.size();
    std::uint64_t bits = occupied_[word];
    if (i == 0) bits &= ~std::uint64_t{0} << from % kWord;
    if (bits == 0) continue;
    const std::size_t bucket = word * kWord + static_cast<std::size_t>(std::countr_zero(bits));
    occupied_[word] &= ~(std::uint64_t{1} << bucket % kWord);
    std::swap(first_, buckets_[bucket]);
    first_number_ += (bucket + kBuckets - from) % kBuckets;
    take_from_far();
    std::ranges::sort(first_, std::ranges::greater{}, &Entry::key);
    // Narrower buckets part what is of several times.
    const auto time_at = [&](std::size_t quarter) { return first_[first_.size() / 4 * quarter].key.time; };
    if (first_.size() > kCrowd && width_ > 0 && may_spread() && time_at(1) != time_at(3))
      spread(width_ > 1 ? width_ - 2 : 0);
    return;
  }
  const Entry next = far_.pop();
  first_.push_back(next);
  first_number_ = number_of(next);
  take_from_far();
}

/// The first bucket has moved on: what is no longer far away goes into its bucket.
void TurnQueue::take_from_far() {
  while (!far_.empty() && number_of(far_.top()) - first_number_ < kBuckets) {
    const Entry entry = far_.pop();
    if (number_of(entry) == first_number_) {
      first_.insert(first_.begin(), entry);
      continue;
    }
    place_in_bucket(entry);
  }
}

/// All turns anew, in buckets of another width.
void TurnQueue::spread(std::uint32_t width) {
  std::vector<Entry> all = std::move(first_);
  first_.clear();
  for (std::size_t word = 0; word < occupied_.size(); ++word) {
    for (std::uint64_t bits = occupied_[word]; bits != 0; bits &= bits - 1) {
      std::vector<Entry>& bucket = buckets_[word * kWord + static_cast<std::size_t>(std::countr_zero(bits))];
      all.insert(all.end(), bucket.begin(), bucket.end());
      bucket.clear();
    }
  }
  while (!early_.empty()) all.push_back(early_.pop());
  while (!far_.empty()) all.push_back(far_.pop());
  occupied_ = {};
  far_pushes_ = 0;
  pushes_ = 0;
  spread_turns_ += all.size();
  width_ = width;
  const Entry& least = *std::ranges::min_element(all, {}, &Entry::key);
  first_number_ = number_of(least);
  for (const Entry& entry : all) put_ahead(entry);
  std::ranges::sort(first_, std::ranges::greater{}, &Entry::key);
}

/// One that is not earlier than the first bucket, whose order it may disturb.
void TurnQueue::put_ahead(const Entry& entry) {
  const std::uint64_t ahead = number_of(entry) - first_number_;
  if (ahead == 0) {
    first_.push_back(entry);
  } else if (ahead >= kBuckets) {
    far_.push(entry.key, entry.payload);
  } else {
    place_in_bucket(entry);
  }
}

void TurnQueue::leave_row() {
  in_buckets_ = true;
  size_ = count_;
  pushes_ = count_;
  // Some four turns in each bucket, unless wider ones were needed before.
  const std::uint64_t gap = (row_[0].key.time - row_[count_ - 1].key.time) / (kMost / 4);
  width_ = std::max(width_, std::min(kWidest, static_cast<std::uint32_t>(std::bit_width(gap))));
  far_pushes_ = 0;
  first_number_ = number_of(row_[count_ - 1]);
  for (std::size_t i = 0; i < count_; ++i) put_ahead(row_[i]);  // the latest first
  count_ = 0;
}

void TurnQueue::enter_row() {
  for (std::size_t left = kFew; left > 0; --left) {
    row_[left - 1] = top();
    take_first();
  }
  count_ = kFew;
  size_ = 0;
  in_buckets_ = false;
}

}  // namespace kernbench::hardware::fabric
