#include "tests/torture/file_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

namespace belfry::torture {
namespace {

struct Opened {
  std::string path;
  std::uint64_t offset = 0;
  bool is_directory = false;
  bool is_written = false;
};

// The calls come from C functions, which have nothing to hold on to but this.
FileWatch* watch = nullptr;
std::map<int, Opened>& opened() {
  static std::map<int, Opened> table;
  return table;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string path_at(int directory, const char* path) {
  namespace fs = std::filesystem;
  fs::path full = path;
  if (path[0] != '/' && directory == AT_FDCWD) full = fs::absolute(full);
  if (path[0] != '/' && directory != AT_FDCWD) {
    const auto base = opened().find(directory);
    if (base == opened().end()) return "";
    full = base->second.path / full;
  }
  std::string out = full.lexically_normal().string();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

// Makes the call if the watch lets it, and tells the watch if it succeeded.
template <class Make>
auto made(const FileCall& call, Make&& make) -> decltype(make(SIZE_MAX)) {
  if (watch == nullptr || !watch->sees(call.path)) return make(SIZE_MAX);
  const FileWatch::Verdict verdict = watch->before(call);
  if (verdict.error != 0) {
    errno = verdict.error;
    return -1;
  }
  const auto result = make(verdict.most);
  if (result < 0) return result;
  FileCall done = call;
  if (call.kind == Kind::write) done.data = call.data.substr(0, static_cast<std::size_t>(result));
  watch->after(done);
  return result;
}

int open_watched(int directory, const char* path, int flags, mode_t mode) {
  const auto make = [&](std::size_t) {
    return next<int(int, const char*, int, ...)>("openat")(directory, path, flags, mode);
  };
  if (watch == nullptr) return make(0);
  const std::string full = path_at(directory, path);
  const bool writes = (flags & (O_WRONLY | O_RDWR)) != 0;
  const int result =
      writes ? made({.kind = Kind::open, .path = full, .creates = (flags & O_CREAT) != 0}, make) : make(0);
  if (result >= 0 && watch->sees(full)) {
    struct stat facts{};
    ::fstat(result, &facts);
    opened()[result] = {.path = full,
                        .offset = (flags & O_APPEND) != 0 ? static_cast<std::uint64_t>(facts.st_size) : 0,
                        .is_directory = S_ISDIR(facts.st_mode),
                        .is_written = writes};
  }
  return result;
}

Opened* find(int file) {
  const auto at = opened().find(file);
  return watch == nullptr || at == opened().end() ? nullptr : &at->second;
}

}  // namespace

std::string name_of(Kind kind) {
  constexpr const char* kNames[] = {"open", "write", "sync", "sync directory", "close", "rename", "unlink", "mkdir"};
  return kNames[static_cast<std::size_t>(kind)];
}

FileWatch::FileWatch(std::string root) : root_(std::move(root)) { watch = this; }
FileWatch::~FileWatch() {
  watch = nullptr;
  opened().clear();
}

}  // namespace belfry::torture

using namespace belfry::torture;  // NOLINT(google-build-using-namespace)

// Visible, so that the libraries find these instead of the C library's.
#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_watched(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_watched(directory, path, flags, mode);
}

ssize_t write(int file, const void* data, std::size_t size) {
  const auto make = [&](std::size_t most) {
    return next<ssize_t(int, const void*, std::size_t)>("write")(file, data, std::min(size, most));
  };
  Opened* at = find(file);
  if (at == nullptr) return make(SIZE_MAX);
  const ssize_t result = made(
      {.kind = Kind::write, .path = at->path, .data = {static_cast<const char*>(data), size}, .offset = at->offset},
      make);
  if (result > 0) at->offset += static_cast<std::uint64_t>(result);
  return result;
}

ssize_t pwrite(int file, const void* data, std::size_t size, off_t offset) {
  const auto make = [&](std::size_t most) {
    return next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(file, data, std::min(size, most), offset);
  };
  const Opened* at = find(file);
  if (at == nullptr) return make(SIZE_MAX);
  return made({.kind = Kind::write,
               .path = at->path,
               .data = {static_cast<const char*>(data), size},
               .offset = static_cast<std::uint64_t>(offset)},
              make);
}

int fsync(int file) {
  const auto make = [&](std::size_t) { return next<int(int)>("fsync")(file); };
  const Opened* at = find(file);
  if (at == nullptr) return make(SIZE_MAX);
  return made({.kind = at->is_directory ? Kind::sync_directory : Kind::sync, .path = at->path}, make);
}

// Like Linux's: it closes even where it reports an error.
int close(int file) {
  const auto make = [&](std::size_t) { return next<int(int)>("close")(file); };
  const Opened* at = find(file);
  if (at == nullptr) return make(SIZE_MAX);
  const FileCall call{.kind = Kind::close, .path = at->path};
  const bool is_written = at->is_written;
  opened().erase(file);
  const int result = is_written ? made(call, make) : make(SIZE_MAX);
  if (result != 0 && is_written) {
    const int reason = errno;
    make(SIZE_MAX);
    errno = reason;
  }
  return result;
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  return made(
      {.kind = Kind::rename, .path = path_at(from_directory, from), .to = path_at(to_directory, to)}, [&](std::size_t) {
        return next<int(int, const char*, int, const char*)>("renameat")(from_directory, from, to_directory, to);
      });
}

int unlink(const char* path) {
  return made({.kind = Kind::unlink, .path = path_at(AT_FDCWD, path)},
              [&](std::size_t) { return next<int(const char*)>("unlink")(path); });
}

int unlinkat(int directory, const char* path, int flags) {
  return made({.kind = Kind::unlink, .path = path_at(directory, path)},
              [&](std::size_t) { return next<int(int, const char*, int)>("unlinkat")(directory, path, flags); });
}

int mkdir(const char* path, mode_t mode) {
  return made({.kind = Kind::mkdir, .path = path_at(AT_FDCWD, path)},
              [&](std::size_t) { return next<int(const char*, mode_t)>("mkdir")(path, mode); });
}

}  // extern "C"
#pragma GCC visibility pop
