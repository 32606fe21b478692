#include "belfry/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "belfry/base/check.h"
#include "belfry/base/internal/descriptor.h"

namespace belfry {
namespace {

struct stat facts_of(const Descriptor& file, const std::string& path) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) fail_system("examine", path, errno);
  return facts;
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file = open_for_reading(path);
  const struct stat facts = facts_of(file, path);
  // One byte more than the file has, so that its end is seen without growing; pipes and /proc files have no size.
  std::string out(S_ISREG(facts.st_mode) ? static_cast<std::size_t>(facts.st_size) + 1 : 4096, '\0');
  std::size_t filled = 0;
  while (true) {
    if (filled == out.size()) out.resize(out.size() * 2);
    const ssize_t got = ::read(file.get(), out.data() + filled, out.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system("read", path, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  out.resize(filled);
  return out;
}

// O_NONBLOCK: opening a pipe must not wait for its writer before we can say that it is not a regular file.
MappedFile::MappedFile(const std::string& path, Access access) : access_(access) {
  const Descriptor file = open_for_reading(path, O_NONBLOCK);
  const struct stat facts = facts_of(file, path);
  BELFRY_CHECK_AS(FileError, S_ISREG(facts.st_mode), "[file] expected a regular file at '{}', got {}. Name a file.",
                  path, S_ISDIR(facts.st_mode) ? "a directory" : "something else");
  size_ = static_cast<std::size_t>(facts.st_size);
  if (size_ == 0) return;
  const bool writable = access == Access::copy_on_write;
  void* data = ::mmap(nullptr, size_, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                      writable ? MAP_PRIVATE | MAP_NORESERVE : MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail_system("map", path, errno);
  data_ = data;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

std::span<std::byte> MappedFile::writable_bytes() {
  BELFRY_CHECK(access_ == Access::copy_on_write, "[file] expected a mapping made with copy_on_write, got read_only.");
  return {static_cast<std::byte*>(data_), size_};
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace belfry
