// The memory that plans compute in. The one that all plans of a session share on a device reserves a large range of
// addresses once, which is backed by memory only where a plan touches it: so plans can bind pointers and it can still
// grow. That of a single plan is as large as this plan needs: there may be thousands of these, one for each loop's
// body.
#pragma once

#include <cstddef>
#include <cstdint>

namespace belfry {

class Arena {
 public:
  enum class For : std::uint8_t { all_plans, one_plan };
  explicit Arena(For whom = For::all_plans);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Throws if a plan needs more than was reserved: the machine's memory, or what the one plan asked for first.
  std::byte* require(std::size_t bytes);
  std::size_t required() const { return required_; }  // the most that was asked for

 private:
  void reserve(std::size_t bytes);

  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0, required_ = 0;
};

}  // namespace belfry
