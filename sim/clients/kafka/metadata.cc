// Who leads what, as a client knows it: asked for at the start, after an error that tells of another leader,
// and now and then where topics may grow.
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/wire.h"

namespace mqlab::sim::kafka::client {

void Wire::start() {
  for (NodeIndex i = 0; i < nodes_.size(); ++i) nodes_[i].silent = !reachable(nodes_[i]);
  refresh();
}

void Wire::refresh() {
  wants_metadata_ = true;
  try_metadata();
}

void Wire::try_metadata() {
  if (asking_metadata_ || !wants_metadata_) return;
  if (client_.now() < metadata_at_) {
    metadata_timer_.set_by(client_.world(), client_, due::metadata, metadata_at_);
    return;
  }
  const NodeIndex node = any();
  if (node == no_node) return;  // a node that becomes usable asks again
  wants_metadata_ = false;
  asking_metadata_ = true;
  send(node, RequestKind::metadata, client_.arena().make<MetadataRequest>(), 40, settings_.request_timeout);
}

void Wire::metadata_fired(const SimEvent& event) {
  if (metadata_timer_.fired(client_.world(), client_, event)) try_metadata();
}

/// Metadata are asked for again after metadata.max.age.ms (java), topic.metadata.refresh.interval.ms
/// (librdkafka). Of use only where a topic may grow: leaders that move are asked for when an error tells of
/// it.
void Wire::note_grown(const Vec<TopicId>& grown) {
  for (const TopicId topic : grown) {
    if (this->grown(topic)) continue;
    grown_.push_back(topic);
    client_.topic_grew(topic);
  }
  const ClientPlan& plan = client_.plan();
  if (plan.grows && plan.refresh > Duration{})
    refresh_.set_by(client_.world(), client_, due::refresh, client_.now() + plan.refresh);
}

void Wire::refresh_fired(const SimEvent& event) {
  if (refresh_.fired(client_.world(), client_, event)) refresh();
}

/// java Metadata.updateLastSeenEpochIfNewer.
void Wire::seen_epoch(PlaceId place, std::int64_t epoch) {
  if (epoch <= epochs_[place]) return;
  epochs_[place] = static_cast<std::uint32_t>(epoch);
  leaders_[place] = no_node;
  refresh();
}

void Wire::metadata_failed() {
  asking_metadata_ = false;
  metadata_at_ = client_.now() + backoff(++metadata_attempts_);
  refresh();
}

/// Asked again with exponential back-off while leaders are missing: java Metadata with retry.backoff.ms;
/// librdkafka rd_kafka_metadata_leader_query_tmr_cb.
void Wire::metadata(MetadataAnswer* answer) {
  asking_metadata_ = false;
  for (std::size_t place = 0; place < answer->leaders.size() && place < leaders_.size(); ++place) {
    if (answer->epochs[place] < epochs_[place])
      continue;  // an old view: java Metadata.updateLatestMetadata (KIP-320)
    epochs_[place] = answer->epochs[place];
    leaders_[place] = answer->leaders[place] == no_process ? no_node : index_of(answer->leaders[place]);
  }
  note_grown(answer->grown);
  destroy(client_.arena(), answer);
  if (!up_) {
    up_ = true;
    Event up;
    up.kind = EventKind::up;
    client_.process().post(up);
  }
  client_.leaders_changed();
  const bool again = wants_metadata_ || client_.unroutable();
  if (!again) metadata_attempts_ = 0;
  // Java keeps retry.backoff.ms between any two; librdkafka sends the first query of a series at once.
  const bool wait = again || client_.plan().java();
  metadata_at_ = wait ? client_.now() + backoff(again ? ++metadata_attempts_ : 1) : client_.now();
  if (again) refresh();
}

}  // namespace mqlab::sim::kafka::client
