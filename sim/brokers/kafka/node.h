// One broker process: leads and follows partitions, coordinates groups and transactions. All requests come
// here.
#pragma once
#include <cstdint>

#include "sim/brokers/kafka/cluster.h"
#include "sim/component.h"

namespace mqlab::sim::kafka {

class GroupCoordinator;
class TransactionCoordinator;
struct ClientRates;
struct MetadataUpdate;
struct MarkerRequest;

/// SimEvent::kind at a node.
enum NodeEvent : std::uint16_t {
  on_request = request_event,  ///< a = Request*
  on_replica_data,             ///< at the follower: a = ticket, x = generation of the channel, y = leader
  on_replica_fetch,            ///< at the leader: a = ticket, x = generation of the channel, y = follower
  on_attach,                   ///< at the leader: a = Attach*
  on_metadata,                 ///< a = MetadataUpdate*
  on_alter_isr,  ///< at the controller's node: a = place, ISR and leader; x = leader epoch, y = version
  on_isr_check,
  on_expire,        ///< the earliest deadline of what waits for replication
  on_fetch_wait,    ///< x = token of the parked fetch
  on_verify,        ///< at a transaction coordinator: a = Verification*
  on_verified,      ///< back at the leader: x = token
  on_verify_again,  ///< x = token
  on_retention,
  on_cleaning,
  on_group_timer,        ///< y = what; see GroupCoordinator
  on_transaction_timer,  ///< y = what; see TransactionCoordinator
  on_markers,            ///< at a leader: a = MarkerRequest*
  on_marked,             ///< back at the coordinator
  on_controller,         ///< there is a new controller
  on_disk_failed,        ///< a write found no room, or a sync was an error
  on_unmute,             ///< x = token of the connection
};

class Node final : public Component {
 public:
  Node(KafkaCluster& cluster, NodeIndex index);

  void on(const SimEvent& event) override;
  void life_changed(ProcessId process, LifeChange change) override;

  KafkaCluster& cluster() { return cluster_; }
  World& world() { return cluster_.world(); }
  Arena& arena() { return cluster_.arena(); }
  NodeIndex index() const { return index_; }
  /// What this node believes.
  const Decision& view(PlaceId place) const { return views_[place]; }
  bool leads(const Partition& partition) const;
  /// A partition was made after the cluster.
  /// The topic has more partitions than before.
  void grown(TopicId topic);
  void introduce(const Partition& partition);
  /// When its process started: the phase of periodic work.
  Instant booted() const { return booted_; }
  /// Accepts requests: started, registered and no longer fenced.
  bool ready() const { return ready_; }

  // ---- for the coordinators on this node ----
  /// Appends to a partition that this node leads, as a client's append with acks=all. Takes over the
  /// reference to `batch`. An error is returned at once; otherwise finished() is called when all in-sync
  /// replicas have it (at once, inside, when there is nobody to wait for).
  Error append(Partition& partition, Batch* batch, Pending* pending, std::uint32_t part = 0);
  template <class T>
  T* new_answer(const Request& request);
  /// Sends it to the client; `bytes` beyond an empty answer.
  void send_answer(const Request& request, Answer* answer, std::uint32_t bytes = 0);
  /// An answer that says no more than the error code. Gives the request back.
  void reply(Request* request, Error error);
  void drop(Request* request);
  GroupCoordinator& groups();
  TransactionCoordinator& transactions();
  /// To be called at the end of what may have appended something: responds to parked fetches of followers.
  void flush();
  /// Has the coordinator asked; Node::verified goes on with v->request.
  void ask_verification(Verification* v);
  Verification* new_verification();
  /// Drops the parked fetches, joins and connections of a client that is gone.
  void forget(ProcessId process);

  // ---- for the controller and the audit ----
  void controller_changed();
  void crash(bool power_loss);
  /// Before anybody's life changes; see channel.h.
  void settle_for_good();

 private:
  void request(Request* request);
  void carry_out(Request* request);
  void find_coordinator(FindCoordinatorRequest* request);
  void metadata(MetadataRequest* request);
  void note_grown(MetadataAnswer& answer);
  void list_offsets(ListOffsetsRequest* request);
  void epoch_end(EpochEndRequest* request);

  // node_produce.cc
  void produce(ProduceRequest* request);
  void produce_now(ProduceRequest* request, const Verification* confirmed = nullptr);
  ProducedPart produce_part(const ProduceRequest& request, const ProducePart& part,
                            const Verification* confirmed);
  bool may_open(const ProducerLedger& ledger, const ProducePart& part, const Verification* confirmed) const;
  void answer_produce(PendingProduce* pending);
  void end_produce(ProduceRequest* request, ProduceAnswer* answer);
  bool verify(ProduceRequest* request);
  void verified(Verification* verification);
  void verified(std::uint32_t token);
  void verify_again(std::uint32_t token);
  Verification* take_verification(std::uint32_t token);
  void give_up_verifications(NodeIndex coordinator);
  void finished(Pending* pending, std::uint32_t part, Error error);
  void write(Partition& partition, Replica& replica, Batch* batch);
  void wait(Replica& replica, std::int64_t offset, Pending* pending, std::uint32_t part);

  // node_connections.cc
  Connection* find_connection(const Request& request);
  Connection& connection(const Request& request);
  bool hold(Request* request);
  void mute(Connection& connection, Duration time);
  void unmute(std::uint32_t token);
  void go_on(Connection& connection);
  void close(Connection& connection);
  void close_connections(ProcessId process);
  ClientRates* rates(ProcessId process);
  Duration charge_produce(const ProduceRequest& request);
  Duration charge_fetch(const FetchRequest& request, std::uint64_t bytes);
  void cap_fetch(FetchRequest& request) const;

  // node_fetch.cc
  void fetch(FetchRequest* request);
  bool fetchable(const FetchRequest& request, bool& some) const;
  Error led(const Replica* replica, std::int64_t epoch) const;
  std::int64_t fetch_bound(const Replica& replica, bool read_committed) const;
  void answer_fetch(FetchRequest* request);
  void read(const FetchRequest& request, const FetchPart& part, FetchAnswer& answer, std::uint64_t& bytes);
  void park(FetchRequest* request, bool some);
  void wait_no_longer(ParkedFetch& parked);
  void unpark(ParkedFetch* parked);
  void wake(Leadership& lead);
  void fetch_waited(std::uint32_t token);

  // node_replication.cc
  bool respond(NodeIndex follower);
  Duration way(ProcessId from, ProcessId to, std::uint32_t bytes);
  void schedule_fetches(NodeSet sent);
  void schedule_fetch(Channel& channel, NodeIndex follower);
  bool covered(const Channel& channel, NodeIndex follower, NodeIndex last) const;
  void settle();
  void take(Channel& channel, NodeIndex leader);
  bool respond_part(Channel& channel, NodeIndex follower, PlaceId place, std::uint64_t& bytes);
  void replicate(Channel& channel, NodeIndex leader);
  void follow(ReplicaPart& part, NodeIndex leader, const LogEntry* entries);
  void fetched(Channel& channel, NodeIndex follower, Instant at);
  void note_fetch(Partition& partition, Leadership& lead, std::uint32_t slot, std::int64_t end, Instant at);
  void mark_dirty(const Partition& partition, Progress& progress, NodeIndex follower);
  void advance(Partition& partition, Replica& replica);
  void attach(Attach* attach);
  void attach_one(const Attach::Item& item, NodeIndex follower);
  void break_channels(NodeIndex other);

  // node_retention.cc
  void appended(const Partition& partition);
  void expire_logs();
  void schedule_retention(Duration after);
  void clean_logs();
  void schedule_cleaning();

  // node_disk.cc
  void disk_is_full();
  void fail_syncs(bool failing);
  void find_out_within(Duration interval);
  bool disk_fails() const { return disk_full_ || syncs_fail_; }
  bool no_room(const Replica& replica, const Batch& batch);
  void give_up();

  // node_isr.cc
  void maybe_join(Partition& partition, Leadership& lead, std::uint32_t slot);
  void ask_isr(Partition& partition, Leadership& lead, NodeSet isr);
  void check_isr();
  void schedule_check();
  void schedule_expiry();
  void expire();
  void expire(Replica& replica);
  void trouble(NodeIndex other, bool gone);
  void note_fetching();
  bool fetching(NodeIndex node) const { return has(fetching_, node); }
  bool troubled(const Leadership& lead) const;

  // node_roles.cc
  void update(const MetadataUpdate& update);
  void apply(Partition& partition, const Decision& decision);
  void become_leader(Partition& partition, Replica& replica);
  void resign(Partition& partition, Replica& replica);
  void attach_to_leaders();

  KafkaCluster& cluster_;
  NodeIndex index_;
  bool ready_ = true;
  bool disk_full_ = false;
  bool syncs_fail_ = false;
  bool giving_up_ = false;  ///< its process ends once the event being processed is through
  bool expiry_scheduled_ = false;
  bool check_scheduled_ = false;
  Instant retention_due_ = Instant::never();
  Instant cleaning_due_ = Instant::never();
  NodeSet pending_flush_ = 0;  ///< followers whose channels got something to send
  NodeSet fetching_;           ///< nodes that run and hear this one and are heard
  NodeSet arriving_ = 0;       ///< leaders whose response is on its way here by arithmetic
  NodeSet returning_ = 0;      ///< followers whose next fetch is
  NodeSet attach_wanted_ = 0;  ///< leaders to which some partition is to be attached
  std::uint32_t next_token_ = 1;
  Instant booted_ = {};  ///< when it started; the phase of its periodic checks
  Vec<Decision> views_;  ///< by place
  Vec<PlaceId> to_attach_;
  Vec<ParkedFetch*> parked_;
  Vec<Connection*> connections_;
  Vec<ClientRates*> rates_;  ///< by process; empty without quotas
  Vec<Verification*> verifications_;
  Vec<Attach::Item>
      held_;  ///< attaches that came before this node knew that it leads; follower in held_from_
  Vec<NodeIndex> held_from_;
  GroupCoordinator* groups_ = nullptr;
  TransactionCoordinator* transactions_ = nullptr;
};

template <class T>
T* Node::new_answer(const Request& request) {
  T* answer;
  if constexpr (std::is_constructible_v<T, Arena&>) {
    answer = arena().template make<T>(arena());
  } else {
    answer = arena().template make<T>();
  }
  answer->kind = request.kind;
  answer->from = owner;
  answer->correlation = request.correlation;
  return answer;
}

/// Decisions on their way from the controller to the nodes; counted.
struct MetadataUpdate {
  struct Change {
    PlaceId place = no_place;
    Decision decision;
  };
  explicit MetadataUpdate(Arena& arena) : changes(arena) {}
  std::uint32_t references = 0;
  NodeIndex unfenced = no_node;  ///< this node takes part again
  Vec<Change> changes;
};

/// A transaction coordinator has the outcome written into partitions that one node leads.
struct MarkerRequest {
  explicit MarkerRequest(Arena& arena) : places(arena), errors(arena) {}
  std::uint32_t transactional_id = 0;
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  std::int32_t coordinator_epoch = 0;
  bool commit = true;
  NodeIndex from = 0;         ///< the coordinator's node
  std::uint32_t attempt = 0;  ///< number of the coordinator's round
  Vec<PlaceId> places;
  Vec<Error> errors;  ///< the answer, by place
};

}  // namespace mqlab::sim::kafka
