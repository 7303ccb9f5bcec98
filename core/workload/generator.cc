#include "core/workload/generator.h"

#include "core/base/draw.h"

namespace mqlab {
namespace {

MessageId first_id_of(const Scenario& scenario, std::uint32_t workload) {
  std::uint64_t first = 1;
  for (std::uint32_t w = 0; w < workload; ++w) first += scenario.workloads[w].messages;
  return static_cast<MessageId>(first);
}

DurationSpec gap_of(const WorkloadSpec& spec) {
  if (spec.arrival.kind != ArrivalSpec::Kind::poisson) return {};
  return {DurationSpec::Shape::exponential, Duration{static_cast<std::int64_t>(1e9 / spec.rate + 0.5)}, {}};
}

}  // namespace

Generator::Generator(const Scenario& scenario, std::uint32_t workload)
    : spec_(scenario.workloads[workload]),
      first_id_(first_id_of(scenario, workload)),
      gap_(gap_of(spec_)),
      keys_(spec_.keys) {}

Instant Generator::intended(std::uint64_t seed, std::uint64_t index, const Arrival& previous) const {
  if (spec_.arrival.kind == ArrivalSpec::Kind::poisson) {
    const Duration gap = gap_.sample(draw(seed, Purpose::arrival, first_id_ + index));
    return index == 0 ? Instant{gap.ns} : previous.intended + gap;
  }
  const std::uint64_t step = spec_.arrival.kind == ArrivalSpec::Kind::bursts
                                 ? index / spec_.arrival.burst * spec_.arrival.burst
                                 : index;
  return {static_cast<std::int64_t>(static_cast<double>(step) * (1e9 / spec_.rate) + 0.5)};
}

Arrival Generator::at(std::uint64_t seed, std::uint64_t index, const Arrival& previous) const {
  Arrival a;
  a.id = first_id_ + static_cast<MessageId>(index);
  a.intended = intended(seed, index, previous);
  a.key = keys_.sample(index, draw(seed, Purpose::key, a.id));
  const std::uint32_t span = spec_.size.high - spec_.size.low + 1;
  a.size = spec_.size.low +
           (span == 1 ? 0 : static_cast<std::uint32_t>(below(draw(seed, Purpose::size, a.id), span)));
  if (spec_.tombstones > 0 && draw(seed, Purpose::tombstone, a.id) < share_of(spec_.tombstones)) a.size = 0;
  a.digest = draw(seed, Purpose::digest, a.id);
  return a;
}

}  // namespace mqlab
