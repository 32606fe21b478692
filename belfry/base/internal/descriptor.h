// An open file descriptor that closes itself, and the one way a failed system call becomes a FileError. For sources.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#pragma GCC visibility push(default)
namespace belfry {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int close();  // 0, or the errno of a close that failed; closed either way

 private:
  int fd_ = -1;
};

// Throws FileError "[file] expected to <attempt> '<path>', got: <reason of errno_value>. <remedy> <aftermath>".
[[noreturn]] void fail_system(std::string_view attempt, const std::string& path, int errno_value,
                              std::string_view aftermath = "");

// open(2), again after signals; throws as fail_system does.
Descriptor open_for_reading(const std::string& path, int extra_flags = 0);

}  // namespace belfry
#pragma GCC visibility pop
