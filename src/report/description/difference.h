// The description of a comparison of two results.
#pragma once

#include <string>

#include "report/description/key.h"
#include "report/description/result.h"
#include "report/difference/difference.h"

namespace kernbench::report {

/// A difference with the names of the two files.
struct ComparedFiles {
  const Difference& difference;
  std::string a, b;
};

template <class V, Of<InputChange> R>
void describe(V& visit, R& change) {
  visit.key({"kind", "`origin`, `bench`, `parameter`, `switch`, `machine`, `seed` or `program`"}, change.kind);
  visit.key({"key", "what differs"}, change.key);
  visit.key({"a", "its value; empty: absent"}, change.a);
  visit.key({"b", "likewise"}, change.b);
  visit.key({"part", "of the machine that the key describes; may be empty"}, change.part);
  visit.key({"busy_a_ps", "of all resources of that part"}, change.busy_a);
  visit.key({"busy_b_ps", "likewise"}, change.busy_b);
}

template <class V, Of<TimeChange> R>
void describe(V& visit, R& change) {
  visit.key({"name", "activity, launch, copies, what a device did, or kind of wait"}, change.name);
  visit.key({"a_ps", "null: absent"}, change.a);
  visit.key({"b_ps", "null: absent"}, change.b);
}

template <class V, Of<ResourceChange> R>
void describe(V& visit, R& change) {
  visit.key({"kind", "of the resources; numbers are `*`"}, change.kind);
  visit.key({"busy_a_ps", "all together"}, change.busy_a);
  visit.key({"busy_b_ps", "likewise"}, change.busy_b);
  visit.key({"bytes_a", "all together"}, change.bytes_a);
  visit.key({"bytes_b", "likewise"}, change.bytes_b);
}

template <class V, Of<ValueChange> R>
void describe(V& visit, R& change) {
  visit.key({"name", "of the metric"}, change.name);
  visit.key({"unit", "its unit"}, change.unit);
  visit.key({"a", "null: absent or not finite"}, change.a);
  visit.key({"b", "likewise"}, change.b);
}

template <class V, Of<PlanChange> R>
void describe(V& visit, R& change) {
  visit.key({"launch", "name without its number"}, change.launch);
  visit.key({"choice", "what was chosen otherwise"}, change.choice);
  visit.key({"a", "empty: absent"}, change.a);
  visit.key({"b", "likewise"}, change.b);
  visit.key({"count", "launches in which it differs so"}, change.count);
}

template <class V>
void describe_side(V& visit, const std::string& file, const std::string& status, const Time& time,
                   const std::optional<Time>& region) {
  visit.key({"file", "the file"}, file);
  visit.key({"status", "`error: TYPE` for an error"}, status);
  visit.key({"simulated_time_ps", "simulated time at the end of the run"}, time);
  visit.key({"region_time_ps", "of its region of interest, if it has one"}, region);
}

template <class V, Of<ComparedFiles> R>
void describe(V& visit, R& files) {
  const Difference& difference = files.difference;
  const bool same_outcome = difference.same_outcome();
  visit.key({"schema", "the number of this format, as that of a result"}, kJsonSchema);
  visit.object({"a", "the one result"},
               [&] { describe_side(visit, files.a, difference.status_a, difference.time_a, difference.region_a); });
  visit.object({"b", "the other"},
               [&] { describe_side(visit, files.b, difference.status_b, difference.time_b, difference.region_b); });
  visit.key({"same_outcome", "nothing that the simulation yields differs"}, same_outcome);
  visit.key({"same_times", "the fingerprints of the times are equal"}, difference.same_times);
  visit.key({"same_values", "those of the values are"}, difference.same_values);
  visit.key({"inputs", "what went in, what explains most first", {.layout = Layout::lines}}, difference.inputs);
  visit.key({"plans", "how launches of library kernels were planned differently", {.layout = Layout::lines}},
            difference.plans);
  visit.key({"critical_path", "by activity", {.layout = Layout::lines}}, difference.activities);
  visit.key({"launches", "by launch", {.layout = Layout::lines}}, difference.launches);
  visit.key({"copies", "by direction, device and line", {.layout = Layout::lines}}, difference.copies);
  visit.key(
      {"devices",
       "what the regions, or the runs, consist of for the mean device, which add up to them: launches, only copies, "
       "and idle times by what came next",
       {.layout = Layout::lines}},
      difference.devices);
  visit.key({"resources", "by kind of resource", {.layout = Layout::lines}}, difference.resources);
  visit.key({"waits", "by kind of wait", {.layout = Layout::lines}}, difference.waits);
  visit.key({"metrics", "the benches' own figures", {.layout = Layout::lines}}, difference.metrics);
  visit.key({"not_compared",
             "what only one of the results has, or both for other spans of time, and why",
             {.layout = Layout::lines}},
            difference.not_compared);
}

}  // namespace kernbench::report
