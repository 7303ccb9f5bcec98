// Assignment of partitions to the members of a group.
// Rules: kafka RangeAssignor, AbstractStickyAssignor.constrainedAssign,
// CooperativeStickyAssignor.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/kafka/cluster.h"
#include "sim/brokers/kafka/group.h"

namespace mqlab::sim::kafka {
namespace {

using Places = Vec<PlaceId>;

const Topology& topology_of(KafkaCluster& cluster) { return cluster.world().setup().topology; }

bool subscribed(const Member& m, TopicId topic) {
  return std::find(m.topics.begin(), m.topics.end(), topic) != m.topics.end();
}

bool contains(const Vec<PlaceId>& places, PlaceId place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

/// Topics that somebody reads, in order.
Vec<TopicId> topics_of(const Group& group, Arena& arena) {
  Vec<TopicId> topics(arena);
  for (const Member* m : group.members) topics.insert(topics.end(), m->topics.begin(), m->topics.end());
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  return topics;
}

/// Topic by topic, neighbouring partitions to one member; the first ones get
/// one more.
void assign_range(Group& group, KafkaCluster& cluster, Arena& arena, Places Member::*to) {
  for (const TopicId topic : topics_of(group, arena)) {
    Vec<Member*> readers(arena);
    for (Member* m : group.members) {
      if (subscribed(*m, topic)) readers.push_back(m);
    }
    const TopicInfo& info = topology_of(cluster).topics[topic];
    const std::uint32_t partitions = cluster.partitions_of(topic);
    const auto n = static_cast<std::uint32_t>(readers.size());
    PlaceId next = info.first_place;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t share = partitions / n + (i < partitions % n ? 1 : 0);
      for (std::uint32_t k = 0; k < share; ++k) (readers[i]->*to).push_back(next++);
    }
  }
}

/// Keeps what members hold as far as an even spread allows. Returns what is
/// left over.
Vec<PlaceId> keep_owned(Group& group, Vec<PlaceId> places, std::size_t least, std::size_t& over,
                        Places Member::*from, Places Member::*to) {
  for (Member* m : group.members) {
    std::size_t valid = 0;
    for (const PlaceId place : m->*from) valid += contains(places, place) ? 1u : 0u;
    std::size_t keep = std::min(valid, least);
    if (valid > least && over > 0) {
      keep = least + 1;
      --over;
    }
    for (const PlaceId place : m->*from) {
      if ((m->*to).size() == keep) break;
      if (!contains(places, place)) continue;
      (m->*to).push_back(place);
      std::erase(places, place);
    }
  }
  return places;
}

/// An even spread that moves as little as can be.
void spread(Group& group, KafkaCluster& cluster, Arena& arena, Places Member::*from, Places Member::*to) {
  Vec<PlaceId> places(arena);
  for (const TopicId topic : topics_of(group, arena)) {
    const TopicInfo& info = topology_of(cluster).topics[topic];
    for (std::uint32_t p = 0; p < cluster.partitions_of(topic); ++p) places.push_back(info.first_place + p);
  }
  const std::size_t least = places.size() / group.members.size();
  std::size_t over = places.size() % group.members.size();
  const Vec<PlaceId> left = keep_owned(group, places, least, over, from, to);
  for (const PlaceId place : left) {
    const auto fewer = [&](const Member* a, const Member* b) {
      const bool can_a = subscribed(*a, topology_of(cluster).places[place].topic),
                 can_b = subscribed(*b, topology_of(cluster).places[place].topic);
      return can_a != can_b ? can_a : (a->*to).size() < (b->*to).size();
    };
    Member* next = *std::min_element(group.members.begin(), group.members.end(), fewer);
    if (subscribed(*next, topology_of(cluster).places[place].topic)) (next->*to).push_back(place);
  }
}

void assign_sticky(Group& group, KafkaCluster& cluster, Arena& arena) {
  spread(group, cluster, arena, &Member::owned, &Member::assigned);
  // What somebody else still holds is given away only in the next round, after
  // its holder has released it.
  for (Member* m : group.members) {
    std::erase_if(m->assigned, [&](PlaceId place) {
      return std::any_of(group.members.begin(), group.members.end(),
                         [&](const Member* other) { return other != m && contains(other->owned, place); });
    });
  }
}

}  // namespace

void assign(Group& group, KafkaCluster& cluster) {
  if (group.members.empty()) return;
  Arena& arena = *group.members.get_allocator().arena;
  bool cooperative = true;
  for (Member* m : group.members) {
    m->assigned.clear();
    cooperative = cooperative && m->cooperative;
  }
  if (cooperative) {
    assign_sticky(group, cluster, arena);
  } else {
    assign_range(group, cluster, arena, &Member::assigned);
  }
  for (Member* m : group.members) {
    Member* first = group.members.front();
    if (m != first && planted(Plant::kafka_assigns_twice))
      first->assigned.insert(first->assigned.end(), m->assigned.begin(), m->assigned.end());
  }
  for (Member* m : group.members) std::sort(m->assigned.begin(), m->assigned.end());
}

void assign_targets(Group& group, KafkaCluster& cluster, bool range) {
  if (group.members.empty()) return;
  Arena& arena = *group.members.get_allocator().arena;
  for (Member* m : group.members) {
    m->before.swap(m->target);
    m->target.clear();
  }
  if (range) {
    assign_range(group, cluster, arena, &Member::target);
  } else {
    spread(group, cluster, arena, &Member::before, &Member::target);
  }
  for (Member* m : group.members) std::sort(m->target.begin(), m->target.end());
}

}  // namespace mqlab::sim::kafka
