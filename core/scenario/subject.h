// What a key is on the wire. NATS subjects: tokens between dots, wildcards, and which subject a message of a
// key goes to.
//
// A *form* is a subject in which a token "*" stands for the key's text ("m" without a key): what both worlds
// make a message's subject from.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqlab {

/// The bytes a key number stands for on the wire: "k7". Key number 0 means no key.
std::string key_text(std::uint32_t key);

/// Tokens between dots, none empty, no blanks; '*' is one token, '>' only the last. [nats-server: sublist.go
/// IsValidSubject]
bool valid_subject(std::string_view subject);

/// Does a subject without wildcards match a filter? '*' stands for one token, '>' for one or more at the end.
bool subject_matches(std::string_view subject, std::string_view filter);

/// Do two subjects with wildcards have a subject in common?
bool subjects_overlap(std::string_view a, std::string_view b);

/// The form of messages published to a stream with these subjects: the first one, with '>' as '*'.
std::string form_of(const std::vector<std::string>& subjects);
/// "orders.*" and key 7 → "orders.k7".
std::string subject_of(std::string_view form, std::uint32_t key);
/// The bytes of subject_of().
std::uint32_t subject_bytes(std::string_view form, std::uint32_t key);
/// Has the form a place for the key?
bool has_key(std::string_view form);

}  // namespace mqlab
