// What becomes of subjects on a server: which messages a filter takes, and under which subject a transform
// stores them. A stream's messages differ in their key only, so all is said of forms (subject.h) and keys.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqlab {

/// The messages of one form that match a filter: all, or those with one of some keys.
struct KeyMatch {
  bool all = false;
  std::vector<std::uint32_t> keys;

  bool has(std::uint32_t key) const;
};
KeyMatch match_keys(std::string_view form, std::string_view filter);

/// A stream's subject_transform: literal tokens, {{wildcard(n)}} or $n, one {{partition(count,n,…)}}.
/// [nats-server: subject_transform.go NewSubjectTransform; docs.nats.io: Subject Mapping and Partitioning]
class SubjectTransform {
 public:
  /// Throws std::invalid_argument with what is wrong.
  SubjectTransform(std::string source, std::string destination);

  const std::string& source() const { return source_; }
  const std::string& destination() const { return destination_; }
  std::uint32_t partitions() const { return partitions_; }  ///< 1 without such a function
  /// The form under which messages of `form` are stored, for each partition.
  std::string form(std::string_view form, std::uint32_t partition) const;
  /// Among partitions(). [subject_transform.go getHashPartition: FNV-1a of the tokens, modulo]
  std::uint32_t partition_of(std::string_view form, std::uint32_t key) const;

 private:
  struct Part {
    enum class Kind : std::uint8_t { literal, wildcard, partition, rest };
    Kind kind;
    std::string literal = {};
    std::uint32_t wildcard = 0;  ///< from 1
  };
  Part read(const std::string& token);
  void read_partition(const std::string& arguments);
  std::uint32_t wildcard_number(const std::string& text) const;
  std::vector<std::string> captured(std::string_view form, std::string& rest) const;

  std::string source_, destination_;
  std::uint32_t wildcards_ = 0;  ///< "*" tokens of the source
  std::uint32_t partitions_ = 1;
  std::vector<std::uint32_t> hashed_;  ///< wildcards that a partition comes from
  std::vector<Part> parts_;
};

}  // namespace mqlab
