#include "sim/brokers/nats/plan_values.h"

#include <algorithm>

#include "core/scenario/subject.h"

namespace mqlab::sim::nats {
namespace {

SubjectForm subject_form(const std::string& form) {
  SubjectForm values;
  values.form = form;
  values.keys = subject_bytes(form, 10) - subject_bytes(form, 1);
  values.fixed = subject_bytes(form, 0) - values.keys;
  return values;
}

DeliverPolicy policy(NatsConsumer::Deliver deliver) {
  return deliver == NatsConsumer::Deliver::all    ? DeliverPolicy::all
         : deliver == NatsConsumer::Deliver::last ? DeliverPolicy::last
                                                  : DeliverPolicy::new_only;
}

/// What the filters together match of a form.
KeyMatch matches(const std::string& form, const std::vector<std::string>& filters) {
  KeyMatch all;
  for (const std::string& filter : filters) {
    const KeyMatch one = match_keys(form, filter);
    all.all = all.all || one.all;
    all.keys.insert(all.keys.end(), one.keys.begin(), one.keys.end());
  }
  std::ranges::sort(all.keys);
  return all;
}

/// An ordered consumer's, on the server. [nats.c: js.c _subscribe, js.h jsOrderedHBInterval]
void make_ordered(ConsumerValues& values) {
  values.ack = AckPolicy::none;
  values.max_ack_pending = 0;
  values.flow_control = true;
  values.heartbeat = Duration::seconds(5);
}

}  // namespace

ServerValues server_values(const NatsServer& server) {
  ServerValues values;
  values.nodes = server.nodes;
  values.sync_always = server.sync_always;
  values.sync_interval = server.sync_interval;
  values.max_payload = server.max_payload;
  values.max_pending = server.max_pending;
  values.write_deadline = server.write_deadline;
  values.peer_remove_after = server.peer_remove_after;
  values.forgets_streams = server.forgets_streams;
  values.removes_peers_alone = server.removes_peers_alone;
  values.keeps_staged_ids = server.keeps_staged_ids;
  if (server.nodes > 1) values.boot = Duration::millis(600);
  return values;
}

StreamValues stream_values(const NatsStream& stream, const std::vector<std::string>& subjects) {
  StreamValues values;
  values.replicas = stream.replicas;
  values.retention = stream.retention == NatsStream::Retention::limits     ? Retention::limits
                     : stream.retention == NatsStream::Retention::interest ? Retention::interest
                                                                           : Retention::workqueue;
  values.in_memory = stream.in_memory;
  values.written_later = stream.persist_async;
  values.max_msgs = stream.max_msgs;
  values.max_bytes = stream.max_bytes;
  values.max_msg_size = stream.max_msg_size;
  values.max_age = stream.max_age;
  values.discard_new = stream.discard_new;
  values.duplicate_window = stream.duplicate_window;
  values.discard_new_per_subject = stream.discard_new_per_subject;
  values.max_msgs_per_subject = stream.max_msgs_per_subject;
  values.forms.push_back(subject_form(form_of(subjects)));
  if (stream.transform) {
    const std::string& from = values.forms.front().form;
    values.transformed = match_keys(from, stream.transform->source());
    const bool never = !values.transformed.all && values.transformed.keys.empty();
    for (std::uint32_t i = 0; !never && i < stream.transform->partitions(); ++i)
      values.forms.push_back(subject_form(stream.transform->form(values.forms.front().form, i)));
    values.transform = stream.transform;
  }
  return values;
}

ConsumerValues consumer_values(const NatsConsumer& c, const std::vector<StreamValues>& streams,
                               std::uint32_t stream) {
  ConsumerValues values;
  values.stream = stream;
  values.push = c.push;
  values.filters = c.filters;
  for (const SubjectForm& form : streams[stream].forms) values.takes.push_back(matches(form.form, c.filters));
  if (c.ordered) {
    make_ordered(values);
    return values;
  }
  values.ack = c.ack_policy == NatsConsumer::AckPolicy::explicit_ack ? AckPolicy::explicit_ack
               : c.ack_policy == NatsConsumer::AckPolicy::all        ? AckPolicy::all
                                                                     : AckPolicy::none;
  values.deliver = policy(c.deliver);
  values.ack_wait = c.ack_wait;
  values.backoff = c.backoff;
  values.max_deliver = c.max_deliver;
  values.max_ack_pending = c.max_ack_pending < 0 ? 0 : static_cast<std::uint32_t>(c.max_ack_pending);
  values.max_waiting = c.max_waiting;
  values.grouped = !c.deliver_group.empty();
  values.flow_control = c.flow_control;
  values.heartbeat = c.idle_heartbeat;
  return values;
}

InputValues input_values(const NatsConsumer& c, std::uint32_t stream) {
  InputValues values;
  values.stream = stream;
  values.ordered = c.ordered;
  values.push = c.push;
  values.pending_msgs = c.pending_msgs_limit;
  values.pending_bytes = c.pending_bytes_limit;
  values.double_ack = c.ack_sync;
  values.deliver = policy(c.deliver);
  return values;
}

void take(const NatsConnection& from, ClientValues& to) {
  to.ping_interval = from.ping_interval;
  to.max_pings_out = from.max_pings_out;
  to.reconnect_wait = from.reconnect_wait;
  to.reconnect_jitter = from.reconnect_jitter;
  to.connect_timeout = from.connect_timeout;
  if (from.send_asap) to.flush_delay = {};
}

}  // namespace mqlab::sim::nats
