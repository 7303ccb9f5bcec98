// A file in memory. What was written stays in the file when the process is killed, since the pages are the
// kernel's.
#pragma once
#include <cstddef>
#include <string>

namespace mqlab {

class MappedFile {
 public:
  /// Creates (or empties) `path` with `bytes` zeroed bytes on disk and room to grow in place up to
  /// `most_bytes`. Throws std::system_error, on a full disk too.
  static MappedFile create(const std::string& path, std::size_t bytes, std::size_t most_bytes);
  /// Maps an existing file as it is, for reading and writing.
  static MappedFile open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::byte* data() const { return base_; }
  std::size_t size() const { return size_; }
  /// The address stays. Disk blocks are reserved at once: a full disk is an exception here, never a signal
  /// later.
  void grow(std::size_t bytes);
  /// Cuts the file; the mapping stays.
  void cut(std::size_t bytes);

 private:
  MappedFile(std::string path, int file, std::size_t size, std::size_t mapped);

  std::string path_;
  int file_;
  std::byte* base_;
  std::size_t size_;
  std::size_t mapped_;
};

}  // namespace mqlab
