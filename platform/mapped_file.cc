#include "platform/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/check.h"

namespace mqlab {
namespace {
[[noreturn]] void fail(int error, const std::string& path) {
  throw std::system_error(error, std::generic_category(), path);
}
}  // namespace

MappedFile::MappedFile(std::string path, int file, std::size_t size, std::size_t mapped)
    : path_(std::move(path)), file_(file), base_(nullptr), size_(size), mapped_(mapped) {
  // Mapping beyond the end is allowed; the pages come to life when the file grows.
  void* base = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (base == MAP_FAILED) {
    const int error = errno;
    close(file_);
    fail(error, path_);
  }
  base_ = static_cast<std::byte*>(base);
}

MappedFile MappedFile::create(const std::string& path, std::size_t bytes, std::size_t most_bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(errno, path);
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
    close(file);
    fail(error, path);
  }
  return {path, file, bytes, most_bytes};
}

MappedFile MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail(errno, path);
  struct stat info {};
  if (fstat(file, &info) != 0 || info.st_size == 0) {
    const int error = info.st_size == 0 ? EINVAL : errno;
    close(file);
    fail(error, path);
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  return {path, file, size, size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      base_(std::exchange(other.base_, nullptr)),
      size_(other.size_),
      mapped_(other.mapped_) {}

MappedFile::~MappedFile() {
  if (base_ != nullptr) munmap(base_, mapped_);
  if (file_ >= 0) close(file_);
}

void MappedFile::grow(std::size_t bytes) {
  MQLAB_CHECK(bytes <= mapped_);
  if (bytes <= size_) return;
  if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(bytes)); error != 0) fail(error, path_);
  size_ = bytes;
}

void MappedFile::cut(std::size_t bytes) {
  MQLAB_CHECK(bytes <= size_);
  if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail(errno, path_);
  size_ = bytes;
}

}  // namespace mqlab
