// The memory that all plans of a session share on one device. A large range of addresses is reserved once and backed by
// memory only where a plan touches it, so plans can bind pointers and the arena can still grow.
#pragma once

#include <cstddef>

namespace belfry {

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Throws if a plan needs more than was reserved (the machine's memory).
  std::byte* require(std::size_t bytes);
  std::size_t required() const { return required_; }  // the most that was asked for

 private:
  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0, required_ = 0;
};

}  // namespace belfry
