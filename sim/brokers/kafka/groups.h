// The group coordinator of one node: groups of both protocols and their
// offsets, kept in the log of the group's partition of __consumer_offsets.
// Heartbeats are arithmetic: a session can only end when its member's process
// stopped, so only then an end is scheduled. Rules: kafka GroupMetadataManager
// (classicGroup…), ClassicGroup, OffsetMetadataManager.
#pragma once
#include <cstdint>

#include "sim/brokers/kafka/group.h"
#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {

class GroupCoordinator {
 public:
  explicit GroupCoordinator(Node& node) : node_(node), groups_(node.arena()) {}
  /// The topic has more partitions: the consumer protocol's groups that read it are assigned anew (kafka
  /// GroupMetadataManager.onMetadataUpdate). Classic members find it in their own metadata.
  void grown(TopicId topic);

  // Requests; each takes it over.
  void join(JoinGroupRequest* request);
  void sync(SyncGroupRequest* request);
  void heartbeat(HeartbeatRequest* request);
  void leave(LeaveGroupRequest* request);
  void commit(OffsetCommitRequest* request);
  void commit(TxnOffsetCommitRequest* request);
  void fetch(OffsetFetchRequest* request);

  /// The transaction of a held request has been confirmed, or not.
  void verified(TxnOffsetCommitRequest* request, Error error, std::uint32_t token);
  /// A transaction's marker stands in the group's partition.
  void ended(std::uint32_t group, std::int64_t producer, bool commit);
  void finished(Pending* pending, Error error);
  void timer(const SimEvent& event);
  void life_changed(ProcessId process, LifeChange change);
  /// This node leads the group's partition now: its state is read from the log.
  void load(const Partition& partition);
  void resign(std::uint32_t group);
  const Vec<CommittedOffset>& committed(std::uint32_t group);

 private:
  enum Timer : std::uint32_t {
    beat,
    session_end,
    join_end,
    delay_end,
    revoke_end,
    offsets_end
  };  ///< SimEvent::y; a = group, x = member
  struct PendingGroup : Pending {
    std::uint32_t group = 0;
    std::uint32_t generation = 0;
    Request* request = nullptr;
  };

  // groups.cc
  Group* find(std::uint32_t number);
  void admit(Group& group, Member& member, JoinGroupRequest* request, bool fresh);
  Member* identify(Group& group, JoinGroupRequest& request, bool& fresh);
  bool update(Member& member, const JoinGroupRequest& request);
  void prepare(Group& group);
  void maybe_complete(Group& group);
  void complete(Group& group, bool timed_out);
  void answer_join(Group& group, Member& member);
  void answer_sync(Group& group, Member& member, Error error);
  void become_stable(Group& group, Error error);
  void remove(Group& group, Member& member, bool tell);
  void delay_over(Group& group);

  // group_consumer.cc
  void report(HeartbeatRequest* request);
  Member* admit(Group& group, HeartbeatRequest& request);
  void reconcile(Group& group, Member& member);
  bool has_news(const Group& group, const Member& member) const;
  bool held_by_other(const Group& group, const Member& member, PlaceId place) const;
  void regroup(Group& group, const Member* except = nullptr);
  void tell_others(Group& group, const Member* except);
  void answer_report(Group& group, HeartbeatRequest* request);
  void revoke_over(Group& group, std::uint32_t member, std::uint32_t token);

  // group_sessions.cc
  bool beats(const Member& member) const;
  Instant next_beat(const Member& member) const;
  void contact(Group& group, Member& member);
  void schedule_session_end(const Group& group, const Member& member);
  void notify(const Group& group, const Member& member, bool now);
  void beat_due(Group& group, std::uint32_t member);
  void session_over(Group& group, std::uint32_t member, std::uint32_t token);
  void listen(Group& group, Member& member);

  // group_offsets.cc
  Error check_commit(Group& group, std::uint32_t member, std::uint32_t generation, bool transactional);
  bool needs_verification(const ProducerLedger& ledger, const TxnOffsetCommitRequest& request) const;
  void emptied(const Group& group);
  void offsets_over(Group& group, std::uint32_t token);
  Batch* offsets_batch(const Vec<CommittedOffset>& offsets) const;
  template <class R>
  void append_offsets(R* request, Batch* batch, PendingKind kind);
  void store(Group& group, HeartbeatRequest* request = nullptr);
  void replay(Group& group, const Log& log);
  void read_image(Group& group, const Record& record);

  Node& node_;
  Vec<Group*> groups_;  ///< by number
};

}  // namespace mqlab::sim::kafka
