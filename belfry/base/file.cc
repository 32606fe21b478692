#include "belfry/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/internal/descriptor.h"
#include "belfry/base/internal/regular_file.h"

namespace belfry {
namespace {

struct stat facts_of(const Descriptor& file, const std::string& path) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) fail_system("examine", path, errno);
  return facts;
}

// The directory that holds the name; "." for a name alone.
std::string directory_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = path.rfind('/', end);
  if (end == std::string::npos || slash == std::string::npos) return end == std::string::npos ? "/" : ".";
  const std::size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

bool is_directory_at(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

// Of a directory that may be searched but not read, nothing can be asked. EINVAL: the file system cannot do it.
void sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() && errno == EACCES) return;
  if (!directory.is_open()) fail_system("open", path, errno);
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail_system("sync the directory", path, errno);
}

}  // namespace

std::uint64_t size_of_regular(const Descriptor& file, const std::string& path) {
  const struct stat facts = facts_of(file, path);
  BELFRY_CHECK_AS(FileError, S_ISREG(facts.st_mode), "[file] expected a regular file at '{}', got {}. Name a file.",
                  path, S_ISDIR(facts.st_mode) ? "a directory" : "something else");
  return static_cast<std::uint64_t>(facts.st_size);
}

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
  size_ = static_cast<std::size_t>(size_of_regular(file, path));
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

void sync_file(const std::string& path) {
  {
    const Descriptor file = open_for_reading(path, O_NONBLOCK);
    if (::fsync(file.get()) != 0) fail_system("sync", path, errno);
  }
  sync_directory(directory_of(path));
}

void make_directories(const std::string& path) {
  std::vector<std::string> missing{path};  // the deepest first
  while (!is_directory_at(missing.back())) missing.push_back(directory_of(missing.back()));
  for (missing.pop_back(); !missing.empty(); missing.pop_back()) {
    const std::string& next = missing.back();
    const bool made = ::mkdir(next.c_str(), 0777) == 0;
    const int reason = made ? 0 : errno;
    // Somebody else may have made it since.
    if (!made && !is_directory_at(next)) fail_system("make the directory", path, reason == EEXIST ? ENOTDIR : reason);
    sync_directory(directory_of(next));
  }
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace belfry
