// What requests and answers take beyond the records, as far as quotas count it: the fields of Kafka's
// protocol (clients/src/main/resources/common/message/*.json). librdkafka speaks produce version 7 and fetch
// version 11, Java the flexible versions 13 (by topic id, from 4.1; before, 9 to 12 by name) and 17.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/scenario/version.h"

namespace mqlab::sim::kafka::client::frames {

constexpr std::uint32_t length(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }

/// Header (key, version, correlation id, client id), transactional id, acks, timeout, number of topics.
constexpr std::uint32_t produce(bool java, std::string_view client_id, std::string_view transactional_id) {
  const std::uint32_t named = length(client_id) + length(transactional_id);
  return java ? 11 + 1 + 6 + 1 + 1 + named : 10 + 2 + 6 + 4 + named;
}
/// A topic with the number of its partitions.
inline std::uint32_t produced_topic(bool java, Version broker, std::string_view name) {
  if (!java) return 2 + length(name) + 4;
  return broker >= Version{4, 1} ? 16 + 2 : 1 + length(name) + 2;
}
/// Number of the partition and length of its records.
constexpr std::uint32_t produced_partition(bool java, std::uint32_t records) {
  std::uint32_t size = 1;
  for (std::uint32_t n = records + 1; n > 127; n >>= 7) ++size;
  return java ? 4 + size + 1 : 4 + 4;
}

/// Length, throttle time, error, session, number of topics. [kafka: FetchResponse.sizeOf]
constexpr std::uint32_t fetched(bool java) { return java ? 4 + 4 + 6 + 1 + 1 : 4 + 4 + 6 + 4; }
constexpr std::uint32_t fetched_topic(bool java, std::string_view name) {
  return java ? 16 + 2 : 2 + length(name) + 4;
}
/// Number, error, watermarks, aborted transactions, preferred replica, length of the records.
constexpr std::uint32_t fetched_partition(bool java) {
  return java ? 4 + 2 + 24 + 1 + 4 + 3 + 1 : 4 + 2 + 24 + 4 + 4 + 4;
}

}  // namespace mqlab::sim::kafka::client::frames
